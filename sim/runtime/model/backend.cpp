#include "runtime/model/backend.hpp"

#include <algorithm>
#include <array>

#include "runtime/model/profile.hpp"

namespace ddptwin::model {
namespace {

GroupRules rules_of_gloo(const TorchProfile& torch, Machine machine) {
  const Duration least = torch.peer_loss.on(machine);
  return {.along_ring = true,
          .closes_at_timeout = true,  // §3.2
          .peer_loss = {least, least + torch.peer_loss_spread},
          .timeout_late = {torch.timeout_slack, torch.timeout_slack}};
}

// "Each survivor" was measured in groups of two and three; of larger ones, where not all are
// neighbours in NCCL's rings and trees, the same is taken.
GroupRules rules_of_nccl(const TorchProfile& torch, Machine /*machine*/) {
  if (torch.nccl == nullptr) return {};
  return {.along_ring = false,
          .closes_at_timeout = false,
          .peer_loss = torch.nccl->peer_loss,
          .timeout_late = torch.nccl->timeout_late};
}

constexpr Duration gloo_timeout = 30min;  // torch/distributed/constants.py

constexpr std::array backend_rows{
    BackendRow{.backend = Backend::gloo,
               .name = "gloo",
               .timeout = [](const TorchProfile&) { return gloo_timeout; },
               .rules = &rules_of_gloo},
    BackendRow{.backend = Backend::nccl,
               .name = "nccl",
               .meets_in_collective = true,
               .needs_gpu = true,
               .stands_after_loss = true,
               .timeout =
                   [](const TorchProfile& torch) {
                     return torch.nccl == nullptr ? gloo_timeout : torch.nccl->timeout;
                   },
               .rules = &rules_of_nccl},
};

}  // namespace

Duration Span::drawn(Random& random) const {
  if (most <= least) return least;
  const auto spread = static_cast<std::uint64_t>((most - least).count()) + 1;
  return least + Duration(static_cast<std::int64_t>(random.below(spread)));
}

const BackendRow& row_of(Backend backend) {
  return backend_rows[static_cast<std::size_t>(backend)];
}

const BackendRow* backend_named(std::string_view name) {
  const auto* found = std::find_if(backend_rows.begin(), backend_rows.end(),
                                   [name](const BackendRow& row) { return row.name == name; });
  return found == backend_rows.end() ? nullptr : found;
}

}  // namespace ddptwin::model
