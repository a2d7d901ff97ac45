// Carries a plan of faults out in one world, at its ports and nowhere else (design.md section 6).
#pragma once

#include <functional>
#include <memory>

#include "scenario/faults/census.hpp"
#include "scenario/faults/runtime_tap.hpp"
#include "scenario/language/fault.hpp"
#include "scenario/world/world.hpp"

namespace ddptwin::model {
class Network;
struct LinkFault;
}  // namespace ddptwin::model

namespace ddptwin::scenario {

// What a runtime can do to what it runs, beside what the kubelet asks of it.
struct RuntimePorts {
  // A signal to the first process of a container.
  std::function<void(const RunningContainer& container, int signal)> signal{};
  // The first process ends by itself.
  std::function<void(const RunningContainer& container, int code)> exit{};
  // Whether its first process is still there to be hit; null: nobody knows better than its report.
  std::function<bool(const RunningContainer& container)> is_alive{};
  // The same to one of its processes. NotFound: there is none. Null: only first ones are hit.
  std::function<void(const RunningContainer& container, int signal, const ProcessChoice& choice,
                     Done<void> done)>
      signal_chosen{};
  // What is wrong with all that goes to and from an address, and with what goes between two. Null:
  // faults of links do nothing.
  std::function<void(const std::string& address, const model::LinkFault& fault)> set_host{};
  std::function<void(const std::string& from, const std::string& to, const model::LinkFault& fault)>
      set_link{};
  void use(model::Network& network);
};

// How often a fault has acted, and when it did first.
struct Acted {
  std::int64_t times = 0;
  Time first{};
};

// Make it before the world, give it to WorldOptions::faults, attach it before the world starts, and
// start() it when the scenario's time begins. Each fault that acts writes a record of kind fault:
// actor "faults", subject where, text what. It says "healed" once all faults have ended. Faults
// that wait at one port are asked in the order of the plan; the first that acts decides, all count.
class FaultInjector final : public WorldFaults {
 public:
  // The loop outlives the injector, the injector the world.
  FaultInjector(Loop& loop, FaultPlan plan);
  ~FaultInjector() override;

  void attach(World& world, RuntimePorts ports);
  // The moment that `at` counts from; what was counted before does not count. Errors: bad_input (a
  // fault of a process that is not there).
  Status start();
  // All faults end, and none begins any more: what was taken away comes back.
  void heal();
  bool healed() const;

  const Census& census() const;
  // Of each fault of the plan.
  const std::vector<Acted>& acted() const;

  PodRuntime& wrap(PodRuntime& runtime) override;
  api::CallVerdict on_call(const api::Caller& caller, const api::Request& request) override;
  void on_answer(const api::Caller& caller, const api::Request& request,
                 const Result<api::Response>& answer) override;
  api::EventVerdict on_event(const api::Caller& caller, const KindInfo& kind,
                             const api::WatchEvent& event) override;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace ddptwin::scenario
