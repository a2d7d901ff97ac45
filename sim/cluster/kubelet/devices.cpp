#include "cluster/kubelet/devices.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "cluster/pods/resources.hpp"
#include "core/hash.hpp"
#include "core/numbers.hpp"
#include "objects/quantity.hpp"

namespace ddptwin::kubelet {
namespace {

std::int64_t amount_in(const ResourceList& list, std::string_view name) {
  const auto found = list.find(name);
  return found == list.end() ? 0 : found->second.value();
}

// Of each pod's devices so many have fallen off the bus.
std::int64_t lost_gpus(const Node& node) {
  const Text* told = node.metadata.label(lost_gpus_label);
  return told == nullptr ? 0 : whole_number<std::int64_t>(told->view()).value_or(0);
}

}  // namespace

std::optional<PodVerdict> Devices::allocate(
    const Pod& pod, const Node& node, const std::function<bool(std::string_view uid)>& holds) {
  const std::int64_t capacity = amount_in(node.status.capacity, gpu_resource);
  const std::string uid = pod.metadata.uid.str();
  // Without any no plugin has registered, and nobody is refused here.
  if (capacity == 0 || pods_.contains(uid)) return std::nullopt;
  ByContainer& mine = pods_[uid];
  Numbers reusable;
  std::string refusal;
  bool looked = false;
  const auto take = [&](const Container& container, bool passes_on) {
    const std::int64_t wanted = amount_in(container.resources.limits, gpu_resource);
    if (wanted == 0 || !refusal.empty()) return;
    if (!looked)
      std::erase_if(pods_, [&](const auto& one) { return one.first != uid && !holds(one.first); });
    looked = true;
    Choice choice = choose(wanted, capacity, reusable);
    refusal = std::move(choice.refusal);
    for (const std::int64_t number : choice.numbers) {
      std::erase(reusable, number);
      if (passes_on) reusable.push_back(number);
    }
    std::sort(reusable.begin(), reusable.end());
    mine[container.name] = std::move(choice.numbers);
  };
  for (const Container& each : pod.spec->initContainers) take(each, !is_sidecar(each));
  for (const Container& each : pod.spec->containers) take(each, false);
  if (refusal.empty()) {
    if (mine.empty()) pods_.erase(uid);
    return std::nullopt;
  }
  pods_.erase(uid);
  return PodVerdict{"UnexpectedAdmissionError",
                    fmt::format("Allocate failed due to {}, which is unexpected", refusal),
                    {}};
}

Devices::Choice Devices::choose(std::int64_t wanted, std::int64_t capacity,
                                const Numbers& reusable) const {
  Choice choice;
  const auto is_enough = [&] { return std::ssize(choice.numbers) == wanted; };
  for (const std::int64_t number : reusable)
    if (!is_enough()) choice.numbers.push_back(number);
  const std::int64_t needed = wanted - std::ssize(choice.numbers);
  std::int64_t available = 0;
  for (std::int64_t number = 0; number < capacity; ++number) {
    if (is_held(number)) continue;
    ++available;
    if (!is_enough()) choice.numbers.push_back(number);
  }
  if (available < needed)
    return {
        {},
        fmt::format("requested number of devices unavailable for {}. Requested: {}, Available: {}",
                    gpu_resource, needed, available)};
  std::sort(choice.numbers.begin(), choice.numbers.end());
  return choice;
}

bool Devices::is_held(std::int64_t number) const {
  return std::any_of(pods_.begin(), pods_.end(), [&](const auto& pod) {
    return std::any_of(pod.second.begin(), pod.second.end(), [&](const auto& container) {
      return std::binary_search(container.second.begin(), container.second.end(), number);
    });
  });
}

void Devices::release(std::string_view uid) {
  if (const auto at = pods_.find(uid); at != pods_.end()) pods_.erase(at);
}

const std::vector<std::int64_t>& Devices::held(std::string_view uid,
                                               std::string_view container) const {
  static const Numbers none;
  const auto pod = pods_.find(uid);
  if (pod == pods_.end()) return none;
  const auto of_it = pod->second.find(container);
  return of_it == pod->second.end() ? none : of_it->second;
}

std::vector<std::string> Devices::told(const Pod& pod, const Node& node,
                                       const Container& container) const {
  const Numbers& numbers = held(pod.metadata.uid.view(), container.name);
  const auto count = std::max<std::int64_t>(0, std::ssize(numbers) - lost_gpus(node));
  std::vector<std::string> uuids;
  for (std::int64_t i = 0; i < count; ++i)
    uuids.push_back(uuid(numbers[static_cast<std::size_t>(i)]));
  return uuids;
}

std::string Devices::uuid(std::int64_t number) const {
  const std::uint64_t high = fnv1a(fmt::format("{}/{}", node_name_, number));
  const std::uint64_t low = fnv1a(fmt::format("{}/{}/card", number, node_name_));
  return fmt::format("GPU-{:08x}-{:04x}-{:04x}-{:04x}-{:012x}", high >> 32, (high >> 16) & 0xffff,
                     high & 0xffff, low >> 48, low & 0xffffffffffff);
}

}  // namespace ddptwin::kubelet
