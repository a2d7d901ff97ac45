#include "controller/toolkit/ownership.hpp"

#include <boost/json.hpp>

#include "objects/codec.hpp"

namespace ddptwin::controller {
namespace {

namespace json = boost::json;

Step patch_step(const Rule& rule, const Object& object, json::object reference,
                std::string_view finalizers, std::string_view finalizer) {
  json::object metadata{{"uid", object.metadata.uid.view()},
                        {"ownerReferences", json::array{std::move(reference)}}};
  if (!finalizer.empty()) metadata[finalizers] = json::array{finalizer};
  return Step{.rule = &rule,
              .request = api::patch(object, api::PatchType::strategic,
                                    json::object{{"metadata", std::move(metadata)}}),
              .tolerated = Reason::not_found};
}

}  // namespace

OwnerReference controller_reference(const Object& owner) {
  OwnerReference reference;
  reference.apiVersion = owner.kind().api_version();
  reference.kind = owner.kind().kind;
  reference.name = owner.metadata.name;
  reference.uid = owner.metadata.uid;
  reference.controller = true;
  reference.blockOwnerDeletion = true;
  return reference;
}

bool is_controlled_by(const Object& object, const Object& owner) {
  const OwnerReference* controller = object.metadata.controller();
  return controller != nullptr && controller->uid == owner.metadata.uid;
}

Claimed claim(const std::vector<ObjectPtr>& candidates, const ClaimRules& rules) {
  Claimed claimed;
  const bool owner_ends = rules.owner.metadata.deletionTimestamp.has_value();
  for (const ObjectPtr& object : candidates) {
    if (const OwnerReference* controller = object->metadata.controller()) {
      if (controller->uid != rules.owner.metadata.uid) continue;
      if (rules.release == nullptr || rules.matches(*object)) {
        claimed.own.push_back(object);
      } else if (!owner_ends) {
        claimed.steps.push_back(
            patch_step(*rules.release, *object,
                       {{"$patch", "delete"}, {"uid", rules.owner.metadata.uid.view()}},
                       "$deleteFromPrimitiveList/finalizers", rules.finalizer));
      }
      continue;
    }
    if (owner_ends || object->metadata.deletionTimestamp || !rules.matches(*object)) continue;
    claimed.steps.push_back(patch_step(*rules.adopt, *object,
                                       to_json(controller_reference(rules.owner)).as_object(),
                                       "finalizers", rules.finalizer));
    claimed.own.push_back(object);
  }
  return claimed;
}

}  // namespace ddptwin::controller
