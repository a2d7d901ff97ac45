// One node with its kubelet, and what must hold of every pod on it whatever is done to them
// (spec/kubernetes.md §2.2, §2.4, §2.8).
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/virtual_loop.hpp"
#include "runtime/script_runtime.hpp"
#include "scenario/world/world.hpp"

namespace ddptwin::property {

// When a container began and ended, as the trace tells it.
struct ContainerRun {
  Time began{};
  std::optional<Time> ended{};
};

class NodeRun {
 public:
  using Order = VirtualLoop::Order;
  explicit NodeRun(std::uint64_t seed, Order order = Order::fair);

  // A pod `name` of the namespace default without containers; on the node, unless that is said to
  // come later.
  static std::shared_ptr<Pod> pod_named(const std::string& name, bool bound = true);
  void create(std::shared_ptr<const Pod> pod);
  void bind(const std::string& pod);
  void remove(std::optional<std::int64_t> grace, const std::string& pod = "p");
  // A user's call, which has to be accepted.
  void call(const api::Request& request);
  // A strategic merge patch.
  void patch(const std::string& pod, boost::json::value body, std::string subresource = {});
  void evict(const std::string& pod);
  // A strategic merge patch of the node.
  void patch_node(boost::json::value body, std::string subresource = {});
  void rest(Duration duration) { loop_.run_until(loop_.now() + duration); }

  // So many writes of another object, for the numbers of versions.
  void write_elsewhere(int times);

  void stop_kubelet();
  void start_kubelet();
  void restart_kubelet() {
    stop_kubelet();
    start_kubelet();
  }
  Time kubelet_since() const { return kubelet_since_; }
  // What the kubelet asks of Pods with that verb, or whatever it asks, is refused with that HTTP
  // code; 0: no more.
  void refuse_kubelet(int code, std::optional<api::Verb> verb = {}) {
    refusals_.code = code;
    refusals_.verb = verb;
  }
  void exit(const std::string& container, int code, bool oom, const std::string& pod = "p");
  void lose_sandbox(const std::string& pod = "p");
  // Overrules an annotation `rig/KEY` of the pod.
  void script(const std::string& pod, const std::string& key, const std::string& value) {
    runtime_.set("default", pod, key, value);
  }

  Time now() const { return loop_.now(); }
  std::shared_ptr<const Pod> pod(const std::string& name = "p") const;
  std::shared_ptr<const Service> service(const std::string& name) const;
  // What the runtime was asked for.
  std::vector<std::string> calls(const std::string& pod = "p") const {
    return runtime_.calls("default", pod);
  }
  // What the runtime runs of the pod with that uid, whoever knows of it.
  std::vector<std::string> running_in(const std::string& uid) const {
    return runtime_.running_in(uid);
  }
  const std::vector<ContainerRun>& runs_of(const std::string& container,
                                           const std::string& pod = "p") {
    return runs_[pod + "/" + container];
  }
  // How often an event of that reason or message was told of the pod.
  int told(const std::string& pod, std::string_view text) const;
  // What the pod's containers were given in their last start, by name: NAME=value.
  std::set<std::string> environment_of(const std::string& container,
                                       const std::string& pod = "p") const;
  // Fails the running case with the first of what did not hold.
  void require_safe() const;

 private:
  void on_record(const Record& record);
  void on_container(const Record& record);
  void on_status(const Record& record, const Pod& before, const Pod& after);
  void on_conditions(const Record& record, const Pod& before, const Pod& after);
  void require(bool holds, const Record& record, const char* what);

  class Refusals final : public WorldFaults {
   public:
    PodRuntime& wrap(PodRuntime& runtime) override { return runtime; }
    api::CallVerdict on_call(const api::Caller& caller, const api::Request& request) override;
    void on_answer(const api::Caller&, const api::Request&, const Result<api::Response>&) override {
    }
    api::EventVerdict on_event(const api::Caller&, const KindInfo&,
                               const api::WatchEvent&) override {
      return {};
    }
    int code = 0;
    std::optional<api::Verb> verb{};
  };

  VirtualLoop loop_;
  ScriptRuntime runtime_;
  Refusals refusals_{};
  World world_;
  Time kubelet_since_{};
  bool sandboxes_lost_ = false;
  std::map<std::string, std::vector<ContainerRun>> runs_{};  // "pod/container"
  std::vector<std::string> violations_{};
};

// From a cause to what the runtime or a status shows of it: a look of the kubelet or two.
inline constexpr Duration slack = 3s;
inline Duration seconds(std::int64_t n) { return std::chrono::seconds(n); }

// Of an image that is on the node.
Container container_named(const std::string& name);
// Of a pod whose container must have run.
ContainerRun first_run(NodeRun& node, const std::string& container);
// Whether its phase is a last one.
bool is_over(const Pod& pod);
// Of an initialising container or another; null: none of that name.
const ContainerStatus* status_of(const Pod& pod, const std::string& container);

}  // namespace ddptwin::property
