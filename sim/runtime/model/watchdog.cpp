#include "runtime/model/watchdog.hpp"

#include <csignal>
#include <utility>

#include "core/numbers.hpp"

namespace ddptwin::model {
namespace {

constexpr int no_handling = 0, only_cleanup = 2;  // source: ErrorHandlingMode; the others tear down

std::int64_t number_in(std::string_view text, std::int64_t otherwise) {
  return whole_number<std::int64_t>(text).value_or(otherwise);
}

}  // namespace

// Source: Utils.hpp, getCvarBool.
bool Watchdog::is_set(std::string_view variable) const {
  std::string value(process_.env(variable));
  for (char& c : value) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return value == "1" || value == "y" || value == "yes" || value == "t" || value == "true";
}

bool Watchdog::handles_errors() const {
  const std::int64_t mode =
      number_in(process_.env(nccl_.error_handling), nccl_.handles_errors ? 1 : no_handling);
  return mode != no_handling && mode != only_cleanup;
}

Duration Watchdog::dump_time() const {
  const std::int64_t usual =
      std::chrono::duration_cast<std::chrono::milliseconds>(nccl_.dump_wait_usual).count();
  const std::int64_t wait =
      nccl_.dump_wait.empty() ? usual : number_in(process_.env(nccl_.dump_wait), usual);
  return nccl_.dump_waits * std::chrono::milliseconds(std::max<std::int64_t>(wait, 0));
}

std::optional<Error> Watchdog::failed(const FailedWork& work, Callback dumps) {
  work_ = work;
  dumps_ = std::move(dumps);
  // There is no watchdog then. 2.11 stands there without a word, as long as it was looked at.
  if (is_set(nccl_.blocking_wait)) {
    if (nccl_.blocking_raises) return blocking_wait_over(work_, nccl_);
    return std::nullopt;
  }
  if (!handles_errors() && !nccl_.tells_unhandled) return std::nullopt;
  for (std::string& line : watchdog_caught(nccl_, work_)) process_.print_error(std::move(line));
  const Duration until_signal = nccl_.dump_signal.drawn(process_.random());
  if (until_signal == Duration::zero()) {
    take_down();
    return std::nullopt;
  }
  process_.after(until_signal, [this] {
    // Source: HeartbeatMonitor::runLoop. It changes nothing of the end (gpu.md §5).
    const bool dumping = process_.env("TORCH_NCCL_DUMP_ON_TIMEOUT") != "0";
    if (dumping) {
      for (std::string& line : dump_signal(work_)) process_.print_error(std::move(line));
      if (dumps_) dumps_();
    }
    process_.after(dump_time(), [this] { take_down(); });
  });
  return std::nullopt;
}

void Watchdog::take_down() {
  if (!handles_errors()) return;
  process_.after(nccl_.aborts.drawn(process_.random()), [this] {
    for (std::string& line : takes_down(nccl_, work_)) process_.print_error(std::move(line));
    process_.die(SIGABRT);
  });
}

}  // namespace ddptwin::model
