// A kubelet over the store and a scripted runtime, in virtual time, for its tests.
#pragma once

#include <gtest/gtest.h>

#include <cerrno>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cluster/kubelet/cluster_view.hpp"
#include "cluster/kubelet/kubelet.hpp"
#include "cluster/store/store.hpp"
#include "cluster/store/store_client.hpp"
#include "core/virtual_loop.hpp"
#include "objects/codec.hpp"
#include "objects/yaml.hpp"
#include "runtime/script_runtime.hpp"

namespace ddptwin::kubelet {

// Keeps of which sandbox, by its attempt, images were pulled for.
class PullRuntime final : public ScriptRuntime {
 public:
  using ScriptRuntime::ScriptRuntime;
  void pull_image(const std::string& reference, const SandboxMetadata& sandbox,
                  Done<ImageStatus> done) override {
    pulled_for.push_back(sandbox.attempt);
    ScriptRuntime::pull_image(reference, sandbox, std::move(done));
  }
  std::vector<std::uint32_t> pulled_for{};
};

// Between the kubelet and the store: counts what is asked about pods, can refuse it, can let the
// watch of pods come late, and answers, and can do something right before a patch.
class Between final : public api::ApiClient {
 public:
  Between(Loop& loop, api::ApiClient& below) : loop_(loop), below_(below) {}

  void call(api::Request&& request, api::Completion done) override {
    if (request.target.kind == &Pod::info()) {
      if (request.verb == api::Verb::get) ++reads;
      if (int& left = refusals[request.verb]; left > 0) {
        --left;
        events_.push_back(loop_.after(lane_, answers_late, [done = std::move(done)]() mutable {
          done(fail(Reason::internal_error, "refused"));
        }));
        return;
      }
      if (request.verb == api::Verb::patch) {
        ++patches;
        if (auto first = std::exchange(before_patch, nullptr)) first();
      }
    }
    below_.call(
        std::move(request), [this, done = std::move(done)](Result<api::Response> answer) mutable {
          events_.push_back(loop_.after(
              lane_, answers_late, [done = std::move(done), answer = std::move(answer)]() mutable {
                done(std::move(answer));
              }));
        });
  }
  std::unique_ptr<api::Watch> watch(const api::Target& target, const api::ListOptions& options,
                                    api::WatchSink sink) override {
    if (target.kind != &Pod::info())
      return below_.watch(std::move(target), std::move(options), std::move(sink));
    auto shared = std::make_shared<api::WatchSink>(std::move(sink));
    return below_.watch(
        std::move(target), std::move(options), [this, shared](const api::WatchEvent& event) {
          if (late == Duration::zero()) return (*shared)(event);
          events_.push_back(loop_.after(lane_, late, [shared, event] { (*shared)(event); }));
        });
  }
  const KindRegistry& kinds() const override { return below_.kinds(); }

  int reads = 0, patches = 0;
  std::map<api::Verb, int> refusals{};  // of calls about pods, to come
  Duration late{0}, answers_late{0};
  std::function<void()> before_patch{};

 private:
  Loop& loop_;
  api::ApiClient& below_;
  Lane lane_ = loop_.new_lane();
  std::vector<Timer> events_{};
};

class KubeletTest : public testing::Test {
 protected:
  KubeletTest() {
    add(R"(
apiVersion: v1
kind: Node
metadata: {name: n0}
status:
  addresses: [{type: InternalIP, address: 192.168.0.1}]
  capacity: {memory: 8Gi}
  allocatable: {cpu: '4', memory: 8Gi, pods: '5'}
)");
    KubeletOptions options;
    options.node_name = "n0";
    options.settings.edit().binds_claims = true;
    options.connect = [this](const std::string&, std::uint16_t port, Duration, Done<int> done) {
      loop_.post(loop_.new_lane(), [outcome = port == open_port_ ? 0 : ECONNREFUSED,
                                    done = std::move(done)]() mutable { done(outcome); });
    };
    kubelet_ = std::make_unique<Kubelet>(loop_, between_, trace_, runtime_, options);
    kubelet_->start();
    pass(1s);
  }

  void add(const std::string& yaml) {
    const auto documents = parse_yaml(yaml, "test");
    ASSERT_TRUE(documents) << documents.error().text();
    for (const YamlDocument& document : *documents) {
      auto decoded = decode_object(kinds_, document.value);
      ASSERT_TRUE(decoded) << decoded.error().text();
      const auto status = as<Node>(decoded->object);
      if (decoded->object->kind().namespaced && decoded->object->metadata.namespace_.empty())
        decoded->object->metadata.namespace_ = "default";
      const auto made = store_.call(api::create(decoded->object), "test");
      ASSERT_TRUE(made) << made.error().text();
      if (!status) continue;
      auto with_status = std::static_pointer_cast<Node>(made->object->clone());
      with_status->status = status->status;
      ASSERT_TRUE(store_.call(api::update(with_status, "status"), "test"));
    }
  }
  void add_pod(const std::string& name, const std::string& spec,
               const std::string& annotations = "{}") {
    add("apiVersion: v1\nkind: Pod\nmetadata: {name: " + name + ", annotations: " + annotations +
        "}\nspec: {nodeName: n0, " + spec + "}\n");
  }
  void pass(Duration time) { loop_.run_until(loop_.now() + time); }
  std::shared_ptr<const Pod> pod(std::string_view name) const {
    return store_.find<Pod>("default", name);
  }
  void remove(std::string_view name) { ASSERT_TRUE(store_.call(api::remove(*pod(name)), "test")); }
  // Another's strategic merge patch of the status.
  void write_over(std::string_view name, const std::string& status) {
    const auto made =
        store_.call(api::patch(*pod(name), api::PatchType::strategic,
                               boost::json::parse("{\"status\": " + status + "}"), "status"),
                    "test");
    ASSERT_TRUE(made) << made.error().text();
  }
  // Of a run that began at 0 s with the kubelet.
  void pass_until(Duration time) { loop_.run_until(began + time); }
  int events(std::string_view reason) const {
    int count = 0;
    for (const auto& [key, object] : store_.objects(Event::info()))
      if (const auto event = as<Event>(object); event->reason == reason) count += event->count;
    return count;
  }

  static constexpr auto one = "restartPolicy: Never, containers: [{name: c, image: busybox}]";

  static constexpr Time began{std::chrono::seconds(1'000'000'000)};
  VirtualLoop loop_{Random(7), began, VirtualLoop::Order::fifo};
  Trace trace_{loop_};
  KindRegistry kinds_;
  Store store_{loop_, Random(3), trace_, kinds_};
  StoreClient client_{loop_, store_, "kubelet"};
  Between between_{loop_, client_};
  PullRuntime runtime_{loop_, ScriptRuntime::Keep::calls};
  int open_port_ = 0;  // what TCP probes find
  std::unique_ptr<Kubelet> kubelet_;
};

}  // namespace ddptwin::kubelet
