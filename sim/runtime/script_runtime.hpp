// A PodRuntime whose containers do what a script says: the one under the recordings of a real
// kubelet, for replaying them, and for worlds in which only the pods' lives matter.
#pragma once

#include <boost/container/small_vector.hpp>
#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/loop.hpp"
#include "core/text_table.hpp"
#include "runtime/runtime.hpp"

namespace ddptwin {

// The script of a pod is in its annotations `rig/...`, and set() overrules them:
//   rig/exit.NAME    "1 after 2, 0 after 1, run": ends so many seconds after its start with that
//                    code, one entry an attempt, the last for all later ones
//   rig/term.NAME    what SIGTERM does: "0 after 3" or "ignore"; else it ends at once with 143
//   rig/start.NAME, rig/create.NAME, rig/sandbox, rig/pull
//                    the error that call answers, "NotFound: text" with that gRPC code; of the last
//                    two also "delay 8"
//   rig/exec.NAME.CMD
//                    what a command whose first word is CMD answers: "1 text" or "timeout"; else 0
//                    and "ok". The command `sleep N` takes N seconds
// A container without a script runs until it is told to end. Images with "busybox" in their name
// are present, others once pulled. Source: tests/recordings/README.md, "The runtime".
class ScriptRuntime : public PodRuntime {
 public:
  // Whether it remembers what it was asked, for calls() and requests(): a pod then costs memory for
  // as long as the runtime lives.
  enum class Keep : std::uint8_t { nothing, calls };

  explicit ScriptRuntime(Loop& loop, Keep keep = Keep::nothing);
  ~ScriptRuntime() override;

  // The running container of that name, or all of the pod when the name is empty, ends by itself.
  // `message` is what it wrote to its termination log, `log` what it printed.
  void container_exit(const std::string& namespace_, const std::string& pod,
                      const std::string& container, int code, bool oom = false,
                      const std::string& reason = {}, const std::string& message = {},
                      const std::string& log = {});
  // Overrules the annotation `rig/KEY` from now on; an empty value is as if it were absent.
  void set(const std::string& namespace_, const std::string& pod, const std::string& key,
           const std::string& value);
  // What usage() answers of the pod from now on; of others it is nothing. That a node is
  // short of something is told when somebody says so of one of its pods.
  void set_usage(const std::string& namespace_, const std::string& pod, PodUsage usage);
  void node_is_short(const std::string& namespace_, const std::string& pod, NodeResource resource);
  // The sandbox is lost, its containers end with 137.
  void sandbox_dies(const std::string& namespace_, const std::string& pod);

  // The containers that run in the sandboxes of that pod, by name, whoever still knows of it.
  std::vector<std::string> running_in(std::string_view pod_uid) const;
  // What was asked for a pod of that name, all its incarnations, in order: "StopContainer c attempt
  // 0 timeout 7". A call equal to the one before is left out, and so are removals. Only with
  // Keep::calls.
  std::vector<std::string> calls(const std::string& namespace_, const std::string& pod) const;
  // The configurations of its sandboxes and containers: [{"runPodSandbox": ...},
  // {"createContainer": ...}, ...]. Only with Keep::calls.
  Json requests(const std::string& namespace_, const std::string& pod) const;

  void run_sandbox(SandboxOrder order, Done<SandboxStatus> done) override;
  void stop_sandbox(const SandboxId& id, Done<void> done) override;
  void remove_sandbox(const SandboxId& id) override;
  bool is_ready(const SandboxId& id) const override;
  std::optional<ImageStatus> image(const std::string& reference) override;
  void pull_image(const std::string& reference, const SandboxMetadata& sandbox,
                  Done<ImageStatus> done) override;
  void create_container(const SandboxId& sandbox, ContainerOrder order,
                        Done<ContainerId> done) override;
  void start_container(const ContainerId& id, Done<void> done) override;
  void stop_container(const ContainerId& id, std::int64_t grace_period, Done<void> done) override;
  void remove_container(const ContainerId& id) override;
  void exec(const ContainerId& id, std::vector<std::string> command, Duration timeout,
            Done<ExecResult> done) override;
  const ContainerReport* report(const ContainerId& id) const override;
  std::string log_tail(const ContainerId& id, std::size_t lines, std::size_t bytes) const override;
  void update_volume(const std::string& pod_uid,
                     std::shared_ptr<const VolumeSource> source) override;
  void usage(std::vector<SharedText> pod_uids, Done<std::vector<PodUsage>> done) override;
  NodeWatch watch_node(const std::string& node, NodeResource resource, std::int64_t bytes) override;
  void listen(std::function<void(const RuntimeEvent&)> listener) override;

 private:
  struct Script;  // of a pod's name: overrules, calls, requests
  struct Command;
  struct Ending;
  struct Container;
  struct Sandbox {
    // Of its configuration.
    Text name{}, namespace_{};
    SharedText uid{};
    Cow<StringMap> annotations{};  // the script among them
    std::uint32_t attempt = 0;
    Lane lane{};
    bool ready = true;
    // That were made in it and not removed.
    boost::container::small_vector<Container*, 2> containers{};
  };
  // First what is read when it starts and ends.
  struct Container {
    // Of its configuration.
    Text name{};
    std::uint32_t attempt = 0;
    Sandbox* sandbox = nullptr;
    Timer exit{};
    ContainerReport report{};
    // What most never have.
    struct Rest {
      std::string log{};
      Timer kill{};
      std::vector<Done<void>> stopping{};
      std::vector<std::shared_ptr<Command>> commands{};  // that run in it
    };
    std::unique_ptr<Rest> rest{};  // null: nothing of it
    Rest& make_rest() {
      if (!rest) rest = std::make_unique<Rest>();
      return *rest;
    }
  };

  Script& script(std::string_view namespace_, std::string_view pod);
  // Null: there is none, as of most pods. Then their annotations say all.
  const Script* find_script(std::string_view namespace_, std::string_view pod) const;
  std::string_view told(std::string_view namespace_, std::string_view pod,
                        const StringMap& annotations, std::string_view what,
                        std::initializer_list<std::string_view> of = {}) const;
  std::string_view told(const Sandbox& sandbox, std::string_view what,
                        std::initializer_list<std::string_view> of) const;
  template <class Words>
  void note(std::string_view namespace_, std::string_view pod, const Words& text);
  template <class Words>
  void note(const Sandbox& sandbox, const Words& text);
  template <class Config>
  void note_request(const Sandbox& sandbox, std::string_view call, Config&& config);
  void end(Container& container, const Ending& ending);
  void schedule_exit(Container& container);
  void print(Container& container, const std::string& text);
  void send(RuntimeEvent event, Lane lane);
  void tell(const RuntimeEvent& event) const;
  Sandbox* latest_sandbox(std::string_view namespace_, std::string_view pod) const;
  std::vector<Container*> running(const Sandbox& sandbox);
  template <class T>
  void answer(Lane lane, Duration delay, Result<T> result, Done<T> done);

  Loop& loop_;
  const Keep keep_;
  Lane lane_;                                   // of what concerns no container
  TextTable<std::unique_ptr<Script>> scripts_;  // "namespace/pod"
  TextTable<Sandbox> sandboxes_{};              // by id
  // By their pods' namespace and name. Nobody walks it: its order cannot be seen.
  std::unordered_map<Fingerprint, Sandbox*> latest_{};
  // By id. Who walks it sorts what it finds: its order cannot be seen.
  std::unordered_map<ContainerId, Container, TextHash, std::equal_to<>> containers_{};
  std::map<std::string, ImageStatus, std::less<>> images_{};  // that are present
  std::vector<std::function<void(const RuntimeEvent&)>> listeners_{};
  std::uint32_t last_address_ = 0;
  std::uint64_t last_sandbox_ = 0;
  std::shared_ptr<int> alive_ = std::make_shared<int>(0);
};

}  // namespace ddptwin
