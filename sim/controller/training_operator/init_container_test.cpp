#include "controller/training_operator/init_container.hpp"

#include <gtest/gtest.h>

namespace ddptwin::controller::pytorchjob::init_container_test {
namespace {

PyTorchJob master_and_worker() {
  PyTorchJob job;
  job.metadata.name = "j";
  ReplicaSpecs specs;
  specs["Master"] = specs["Worker"] = ReplicaSpec{};
  job.spec.edit().pytorchReplicaSpecs = specs;
  return job;
}

TEST(InitContainer, is_upstreams_default_word_for_word) {
  const auto made = init_containers(master_and_worker(), "Worker", {});
  ASSERT_TRUE(made);
  ASSERT_EQ(made->size(), 1u);
  const Container& container = made->front();
  EXPECT_EQ(container.name, "init-pytorch");
  EXPECT_EQ(container.image, "alpine:3.10");
  EXPECT_EQ(container.imagePullPolicy, "IfNotPresent");
  EXPECT_EQ(*container.command,
            (std::vector<std::string>{
                "sh", "-c",
                "err=1;for i in $(seq 100); do if nslookup j-master-0; then err=0 && break; fi;"
                "echo waiting for master; sleep 2; done; exit $err"}));
  EXPECT_EQ(container.resources.limits.at("memory").str(), "20Mi");
  EXPECT_EQ(container.resources.requests.at("cpu").str(), "50m");
  EXPECT_TRUE(container.env.empty());
}

TEST(InitContainer, comes_from_the_operators_template_where_there_is_one) {
  InitContainerFlags flags;
  flags.image = "busybox:1";
  flags.max_tries = 7;
  flags.template_text =
      "- name: wait\n  image: {{.InitContainerImage}}\n  args: [\"{{ .MasterAddr }}\", "
      "\"{{.MaxTries}}\"]\n- name: second\n  image: x\n";
  const auto made = init_containers(master_and_worker(), "Worker", flags);
  ASSERT_TRUE(made);
  ASSERT_EQ(made->size(), 2u);
  EXPECT_EQ(made->front().image, "busybox:1");
  EXPECT_EQ(*made->front().args, (std::vector<std::string>{"j-master-0", "7"}));
}

TEST(InitContainer, a_template_that_is_no_list_of_containers_is_refused) {
  InitContainerFlags flags;
  flags.template_text = "- [name, wait]\n";
  EXPECT_FALSE(init_containers(master_and_worker(), "Worker", flags));
}

}  // namespace
}  // namespace ddptwin::controller::pytorchjob::init_container_test
