// The answer to a controller's last write may come when what it wrote is gone: what the controller
// notes of it goes with the next look at the key.
#include <gtest/gtest.h>

#include "controller/aistudio/controller.hpp"
#include "controller/host.hpp"
#include "controller/manager/manager_test_fixture.hpp"
#include "controller/t9k/controller.hpp"
#include "controller/toolkit/ownership.hpp"
#include "objects/ddptask.hpp"
#include "objects/pytorchtrainingjob.hpp"

namespace ddptwin::controller::late_answers_test {
namespace {

template <class ControllerOf, class Kind>
void forgets_a_late_answer() {
  manager_test::ManagerWorld world;
  ControllerOf controller;
  // As the system's manifests would: not all that it watches is built in.
  for (const Watched& one : controller.watches(world.kinds))
    if (world.kinds.find(one.kind->api_version(), one.kind->kind) == nullptr)
      world.kinds.add({std::shared_ptr<void>(), one.kind});
  ControllerHost host(world.loop, world.direct, world.informers, world.trace, Random(3),
                      controller);
  host.start();
  world.run(std::chrono::seconds(1));
  const auto gone = std::make_shared<Kind>();
  gone->metadata.namespace_ = "default";
  gone->metadata.name = "j";
  gone->metadata.uid = "u";
  gone->metadata.resourceVersion = "7";
  controller.accepted("default/j", Step{}, api::Response{.object = gone});
  ASSERT_EQ(host.remembered().size(), 1u);
  EXPECT_EQ(host.remembered().front().key, "default/j");
  EXPECT_TRUE(host.remembered().front().is_gone);
  auto pod = std::make_shared<Pod>();
  pod->metadata.namespace_ = "default";
  pod->metadata.name = "j-0";
  pod->metadata.ownerReferences.edit().push_back(controller_reference(*gone));
  pod->spec.edit().containers = {{.name = "c", .image = "i"}};
  world.must(api::create(pod));
  world.run(std::chrono::minutes(1));
  EXPECT_TRUE(host.remembered().empty());
}

TEST(LateAnswers, of_a_ddptask_that_is_gone_are_forgotten) {
  forgets_a_late_answer<DDPTaskController, DDPTask>();
}
TEST(LateAnswers, of_a_pytorchtrainingjob_that_is_gone_are_forgotten) {
  forgets_a_late_answer<PyTorchTrainingJobController, PyTorchTrainingJob>();
}

}  // namespace
}  // namespace ddptwin::controller::late_answers_test
