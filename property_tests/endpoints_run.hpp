// A cluster with the controllers of endpoints, whose watches may be late or cut off and whose
// writes refused, and what laws of them make by hand.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "core/virtual_loop.hpp"
#include "objects/discovery_v1.hpp"
#include "property.hpp"
#include "scenario/world/world.hpp"

namespace ddptwin::property {

class EndpointsRun {
 public:
  static constexpr const char *endpoints_process = "endpoint-controller",
                              *slice_process = "endpoint-slice-controller",
                              *mirror_process = "endpoint-slice-mirroring-controller";
  static const std::vector<std::string>& processes();

  // Breaks the next streams of one process, refuses its next write, or brings every event late.
  class Watches final : public WorldFaults {
   public:
    PodRuntime& wrap(PodRuntime& runtime) override { return runtime; }
    api::CallVerdict on_call(const api::Caller& caller, const api::Request& request) override;
    void on_answer(const api::Caller&, const api::Request&, const Result<api::Response>&) override {
    }
    api::EventVerdict on_event(const api::Caller& caller, const KindInfo& kind,
                               const api::WatchEvent&) override;

    std::set<std::string> cut{};      // "process Kind"
    std::set<std::string> refused{};  // processes
    std::vector<int> delays{};        // ms, of each event in turn

   private:
    std::size_t seen_ = 0;
  };

  explicit EndpointsRun(std::uint64_t seed);
  void rest(Duration duration) { loop_.run_until(loop_.now() + duration); }
  // A user's call, which has to be accepted.
  void call(const api::Request& request);
  void crash(const std::string& process) { DDPTWIN_ASSERT(world_.crash_controller(process)); }
  void start(const std::string& process) { DDPTWIN_ASSERT(world_.start_controller(process)); }
  // Of the namespace default.
  template <class T>
  std::shared_ptr<const T> find(const std::string& name) const {
    return as<T>(world_.find(T::info(), "default", name));
  }
  template <class T>
  std::vector<std::shared_ptr<const T>> all() const {
    std::vector<std::shared_ptr<const T>> found;
    for (const ObjectPtr& object : world_.objects(T::info(), "default"))
      found.push_back(as<T>(object));
    return found;
  }

  Watches watches{};

 private:
  VirtualLoop loop_;
  World world_;
};

// Headless, of the port `job`; of pods app=NAME where it selects.
std::shared_ptr<Service> service_object(const std::string& name, bool selects);

}  // namespace ddptwin::property
