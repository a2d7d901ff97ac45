// One pass as text: claims, volumes and classes in, rules out. Whole bindings are in
// sim/scenario/run/claim_binding_test.cpp.
#include "controller/manager/volume_binder/binder.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <map>

#include "controller/expectations.hpp"
#include "controller/manager/volume_binder/protection.hpp"
#include "controller/manager/volume_binder/provisioner.hpp"
#include "controller/manager/volume_binder/rules.hpp"
#include "objects/volumes.hpp"

namespace ddptwin::controller::volume_binder::binder_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class Objects final : public Cache {
 public:
  ObjectPtr find(const KindInfo& kind, std::string_view space,
                 std::string_view name) const override {
    const auto found = all_.find({&kind, join_key(space, name)});
    return found == all_.end() ? nullptr : found->second;
  }
  std::vector<ObjectPtr> list(const KindInfo& kind, std::string_view) const override {
    std::vector<ObjectPtr> found;
    for (const auto& [key, object] : all_)
      if (key.first == &kind) found.push_back(object);
    return found;
  }
  std::vector<const KindInfo*> kinds() const override { return {}; }
  void put(const ObjectPtr& object) { all_[{&object->kind(), key_of(object->metadata)}] = object; }

 private:
  static std::string join_key(std::string_view space, std::string_view name) {
    return space.empty() ? std::string(name) : fmt::format("{}/{}", space, name);
  }
  std::map<std::pair<const KindInfo*, std::string>, ObjectPtr> all_{};
};

class VolumeBinder : public testing::Test {
 protected:
  VolumeBinder() {
    claim->metadata.namespace_ = "ns";
    claim->metadata.name = "data";
    claim->metadata.uid = "u-data";
    claim->spec.accessModes = {"ReadWriteOnce"};
    claim->spec.storageClassName = "made";
    claim->spec.resources.requests.edit().emplace("storage", *Quantity::parse("2Gi"));
    volume->metadata.name = "v";
    volume->spec.accessModes = {"ReadWriteOnce"};
    volume->spec.storageClassName = "made";
    volume->spec.persistentVolumeReclaimPolicy = "Delete";
    volume->spec.capacity.edit().emplace("storage", *Quantity::parse("5Gi"));
    volume->status.phase = "Available";
    auto its_class = std::make_shared<StorageClass>();
    its_class->metadata.name = "made";
    its_class->provisioner = "p.io/p";
    objects.put(its_class);
  }
  // "RULE VERB NAME: EVENT", of a claim's or of a volume's plan.
  template <class Of>
  std::vector<std::string> steps(const std::string& key) {
    std::vector<std::string> told;
    for (const Step& step : plan<Of>(key).steps) {
      std::string text(step.rule->name);
      if (step.request) text += fmt::format(" {}", to_string(step.request->verb));
      if (step.event) text += fmt::format(": {}", step.event->reason);
      told.push_back(std::move(text));
    }
    return told;
  }
  template <class Of>
  Plan plan(const std::string& key) {
    if (claim_is_there) objects.put(claim);
    objects.put(volume);
    return Of().plan(Key(key), {objects, expectations, Random(1)}, Time());
  }
  void keep(const std::string& uid) {
    ObjectReference& kept = volume->spec.claimRef.emplace();
    kept.namespace_ = "ns";
    kept.name = "data";
    kept.uid = uid;
  }

  Objects objects{};
  Expectations expectations{};
  std::shared_ptr<PersistentVolumeClaim> claim = std::make_shared<PersistentVolumeClaim>();
  std::shared_ptr<PersistentVolume> volume = std::make_shared<PersistentVolume>();
  bool claim_is_there = true;
};

TEST_F(VolumeBinder, a_free_volume_that_suits_is_taken_and_else_one_is_asked_for) {
  EXPECT_THAT(steps<Binder>("ns/data"), ElementsAre("keep_volume_for_claim update"));
  volume->spec.capacity.edit()["storage"] = *Quantity::parse("1Gi");
  EXPECT_THAT(steps<Binder>("ns/data"),
              ElementsAre("ask_provisioner update: ExternalProvisioning"));
}

TEST_F(VolumeBinder, a_volume_that_is_named_must_suit_unless_it_is_kept_for_the_claim) {
  claim->spec.volumeName = "v";
  volume->spec.storageClassName = "";
  EXPECT_THAT(steps<Binder>("ns/data"), ElementsAre("requested_volume_mismatches: VolumeMismatch"));
  keep("");
  EXPECT_THAT(steps<Binder>("ns/data"), ElementsAre("keep_volume_for_claim update"));
  keep("u-data");
  EXPECT_THAT(steps<Binder>("ns/data"), ElementsAre("volume_is_bound update"));
  keep("another");
  EXPECT_THAT(steps<Binder>("ns/data"), ElementsAre("requested_volume_is_taken: FailedBinding"));
}

TEST_F(VolumeBinder, whether_a_claim_is_gone_only_its_server_can_say) {
  claim_is_there = false;
  keep("u-data");
  volume->status.phase = "Bound";
  const Plan made = plan<Binder>("v");
  ASSERT_EQ(made.steps.size(), 1U);
  EXPECT_EQ(made.steps[0].request->verb, api::Verb::get);
  EXPECT_EQ(made.steps[0].instead_of, Reason::not_found);
  ASSERT_EQ(made.steps[0].instead->size(), 1U);
  EXPECT_EQ(made.steps[0].instead->front().rule, &rules::volume_is_released);
}

TEST_F(VolumeBinder, what_is_released_goes_where_its_policy_and_its_maker_say_so) {
  claim_is_there = false;
  keep("u-data");
  volume->status.phase = "Released";
  EXPECT_THAT(steps<Binder>("v"), ElementsAre("nobody_deletes_volume update: VolumeFailedDelete"));
  EXPECT_THAT(steps<Provisioner>("v"), IsEmpty());
  volume->metadata.annotations.edit()[provisioned_by] = "p.io/p";
  EXPECT_THAT(steps<Binder>("v"), IsEmpty());
  EXPECT_THAT(steps<Provisioner>("v"), ElementsAre("delete_volume delete"));
  volume->spec.persistentVolumeReclaimPolicy = "Retain";
  EXPECT_THAT(steps<Provisioner>("v"), IsEmpty());
}

TEST_F(VolumeBinder, a_volume_that_is_bound_is_protected) {
  volume->metadata.deletionTimestamp = Time(Duration(1));
  volume->metadata.finalizers.edit().emplace_back(volume_protection_finalizer);
  volume->status.phase = "Bound";
  EXPECT_THAT(steps<Protection>("v"), IsEmpty());
  volume->status.phase = "Released";
  EXPECT_THAT(steps<Protection>("v"), ElementsAre("volume_is_unused update"));
}

}  // namespace
}  // namespace ddptwin::controller::volume_binder::binder_test
