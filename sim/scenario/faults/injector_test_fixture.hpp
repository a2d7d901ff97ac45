// A cluster with a PyTorchJob whose containers follow a script, under a plan of faults: for tests.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <memory>
#include <string>
#include <vector>

#include "core/virtual_loop.hpp"
#include "core/virtual_start.hpp"
#include "objects/codec.hpp"
#include "objects/pytorchjob.hpp"
#include "runtime/model/network.hpp"
#include "runtime/script_runtime.hpp"
#include "scenario/faults/injector.hpp"
#include "scenario/language/fault_parser.hpp"
#include "scenario/language/scenario_parser.hpp"

namespace ddptwin::scenario {

inline constexpr Time start_time = virtual_start;
inline constexpr const char* job_text = R"({"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob",
  "metadata": {"name": "j", "namespace": "default"},
  "spec": {"pytorchReplicaSpecs": {
    "Master": {"replicas": 1, "restartPolicy": "OnFailure", "template": {"spec": {"containers":
      [{"name": "pytorch", "image": "busybox"}]}}},
    "Worker": {"replicas": 2, "restartPolicy": "ExitCode", "template": {"spec": {"containers":
      [{"name": "pytorch", "image": "busybox"}]}}}}}})";

inline const ReadFile no_files = [](const std::string&) -> Result<std::string> {
  return fail(Reason::bad_input, "no files here");
};

// `faults` is a YAML list.
inline FaultPlan plan_of(const std::string& faults, std::optional<Duration> heal = std::nullopt) {
  const KindRegistry kinds;
  auto documents = parse_yaml(faults, "plan.yaml");
  EXPECT_TRUE(documents);
  FaultPlan plan{{}, heal};
  if (documents->empty()) return plan;
  const auto document = std::make_shared<const YamlDocument>(std::move(documents->front()));
  const ParseContext context{kinds, no_files, "", "default", document};
  const auto nodes = YamlNode(*document, document->value, "").as_list();
  for (const YamlNode& node : *nodes) {
    auto fault = parse_fault(node, context);
    EXPECT_TRUE(fault) << fault.error().text();
    plan.faults.insert(plan.faults.end(), fault->begin(), fault->end());
  }
  return plan;
}

inline WorldOptions options_of(WorldFaults& faults) {
  WorldOptions options;
  options.scheduler = true;
  options.systems = default_systems();
  options.nodes = {{.name = "n0", .address = "192.168.0.1"},
                   {.name = "n1", .address = "192.168.0.2"}};
  options.faults = &faults;
  return options;
}

struct Disturbed {
  explicit Disturbed(FaultPlan plan, std::uint64_t seed = 1)
      : loop(Random(seed), start_time),
        runtime(loop),
        injector(loop, std::move(plan)),
        world(loop, options_of(injector), &runtime) {
    world.trace().add_sink([this](const Record& record) { on_record(record); });
    RuntimePorts ports;
    ports.signal = [this](const RunningContainer& c, int signal) {
      runtime.container_exit(c.namespace_, c.pod, c.name, 128 + signal);
    };
    ports.exit = [this](const RunningContainer& c, int code) {
      runtime.container_exit(c.namespace_, c.pod, c.name, code);
    };
    ports.use(network);
    injector.attach(world, std::move(ports));
    for (const char* worker : {"j-worker-0", "j-worker-1"})
      runtime.set("default", worker, "exit.init-pytorch", "0 after 1");
    EXPECT_TRUE(world.start());
    loop.run_until(start_time + 5s);
    const Status started = injector.start();
    EXPECT_TRUE(started) << started.error().text();
    const auto made = decode_json(job_text);
    EXPECT_TRUE(world.call(api::create(made), "user"));
  }

  ObjectPtr decode_json(const char* text) {
    auto decoded = decode_object(world.kinds(), boost::json::parse(text));
    EXPECT_TRUE(decoded) << decoded.error().text();
    return decoded->object;
  }
  void go(Duration duration) { loop.run_until(loop.now() + duration); }

  void on_record(const Record& record) {
    const auto at = (record.time - start_time - 5s) / Duration(1ms);
    if (record.kind == RecordKind::fault)
      faults.push_back(fmt::format("{} {}: {}", at, record.subject, record.text));
    if (record.kind == RecordKind::schedule)
      scheduled.push_back(fmt::format("{} {}", at, record.subject));
    if (record.kind == RecordKind::container && record.text == "started")
      starts.push_back(fmt::format("{} {}", at, record.subject));
    if (record.kind == RecordKind::object_added && as<Pod>(record.after) != nullptr)
      pods_made.push_back(record.after->metadata.name.str());
    if (record.actor == "training-operator" && as<PyTorchJob>(record.after) != nullptr)
      ++status_writes;
  }
  std::string phase(const std::string& pod) {
    const auto found = as<Pod>(world.find(Pod::info(), "default", pod));
    return found ? found->status.phase.str() : "none";
  }
  template <class Edit>
  void edit_pod(const std::string& name, Edit edit) {
    auto pod = std::static_pointer_cast<Pod>(world.find(Pod::info(), "default", name)->clone());
    edit(*pod);
    EXPECT_TRUE(world.call(api::update(pod), "user"));
  }
  std::string ip(const std::string& pod) {
    return as<Pod>(world.find(Pod::info(), "default", pod))->status.rest->podIP.str();
  }
  std::shared_ptr<const Node> node(const std::string& name) {
    return as<Node>(world.find(Node::info(), "", name));
  }
  std::string ready(const std::string& name) {
    for (const Condition& one : node(name)->status.conditions)
      if (one.type_ == "Ready") return one.status;
    return "none";
  }
  std::string condition(const std::string& type) {
    const auto job = as<PyTorchJob>(world.find(PyTorchJob::info(), "default", "j"));
    if (!job || !job->status) return "none";
    return job->status->is_true(type) ? "True" : "False";
  }

  VirtualLoop loop;
  ScriptRuntime runtime;
  model::Network network{loop, 1ms, 1s};
  FaultInjector injector;
  World world;
  std::vector<std::string> faults{}, scheduled{}, starts{}, pods_made{};
  int status_writes = 0;
};

}  // namespace ddptwin::scenario
