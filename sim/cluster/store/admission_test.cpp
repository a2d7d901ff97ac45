#include "cluster/store/admission.hpp"

#include <gtest/gtest.h>

#include "cluster/store/store.hpp"
#include "core/virtual_loop.hpp"
#include "objects/core_v1.hpp"
#include "objects/node_v1.hpp"

namespace ddptwin::admission_test {
namespace {

// A cluster with one account and one class.
class References : public testing::Test {
 protected:
  References() {
    add_pod_reference_admission(store_);
    auto account = std::make_shared<ServiceAccount>();
    account->metadata.name = "trainer";
    account->metadata.namespace_ = "default";
    EXPECT_TRUE(store_.call(api::create(account), "test"));
    auto made = std::make_shared<RuntimeClass>();
    made->metadata.name = "nvidia";
    made->handler = "nvidia";
    made->overhead.emplace().podFixed.edit()["memory"] = *Quantity::parse("64Mi");
    made->scheduling.emplace().nodeSelector.edit()["gpu"] = "yes";
    made->scheduling->tolerations.edit().push_back(
        {"gpu", "Exists", "", "NoSchedule", std::nullopt});
    const auto answer = store_.call(api::create(made), "test");
    EXPECT_TRUE(answer) << (answer ? "" : answer.error().message);
  }

  Result<api::Response> create(const std::function<void(PodSpec&)>& shape) {
    auto pod = std::make_shared<Pod>();
    pod->metadata.name = "p";
    pod->metadata.namespace_ = "default";
    PodSpec& spec = pod->spec.edit();
    spec.terminationGracePeriodSeconds = 30;
    spec.containers = {{.name = "c", .image = "i"}};
    shape(spec);
    return store_.call(api::create(pod), "test");
  }

  VirtualLoop loop_{Random(1), Time{std::chrono::hours(24)}};
  Trace trace_{loop_};
  KindRegistry kinds_;
  Store store_{loop_, Random(7), trace_, kinds_, Store::Options()};
};

TEST_F(References, an_account_that_a_pod_names_must_be_there) {
  for (const char* name : {"trainer", "default", ""}) {
    const auto made = create([name](PodSpec& spec) {
      set(spec.rest, &PodSpec::Rest::serviceAccountName, std::string(name));
    });
    ASSERT_TRUE(made) << name << ": " << made.error().message;
    ASSERT_TRUE(store_.call(api::remove(*made->object), "test"));
  }
  const auto refused = create([](PodSpec& spec) {
    set(spec.rest, &PodSpec::Rest::serviceAccountName, std::string("nobody"));
  });
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message,
            "pods \"p\" is forbidden: error looking up service account default/nobody: "
            "serviceaccount \"nobody\" not found");
}

TEST_F(References, a_runtime_class_must_be_there_and_what_it_says_becomes_the_pods) {
  const auto with_class = [](const char* name) {
    return [name](PodSpec& spec) {
      set(spec.rest, &PodSpec::Rest::runtimeClassName, Rare<std::string>(name));
    };
  };
  const auto refused = create(with_class("kata"));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message,
            "pods \"p\" is forbidden: pod rejected: RuntimeClass \"kata\" not found");
  const auto conflict = create([&](PodSpec& spec) {
    with_class("nvidia")(spec);
    spec.nodeSelector.edit()["gpu"] = "no";
  });
  ASSERT_FALSE(conflict);
  EXPECT_EQ(conflict.error().message,
            "pods \"p\" is forbidden: conflict: runtimeClass.scheduling.nodeSelector[gpu] = yes; "
            "pod.spec.nodeSelector[gpu] = no");
  const auto made = create(with_class("nvidia"));
  ASSERT_TRUE(made) << made.error().message;
  const PodSpec& spec = *as<Pod>(*made->object)->spec;
  EXPECT_EQ(spec.overhead->at("memory").str(), "64Mi");
  EXPECT_EQ(spec.nodeSelector->at("gpu"), "yes");
  EXPECT_TRUE(std::any_of(spec.tolerations->begin(), spec.tolerations->end(),
                          [](const Toleration& one) { return one.key == "gpu"; }));
}

}  // namespace
}  // namespace ddptwin::admission_test
