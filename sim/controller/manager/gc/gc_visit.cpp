// What the garbage collector does with one item: read it anew, look at its owners, act once.
#include <boost/json.hpp>
#include <functional>

#include "controller/manager/gc/gc.hpp"
#include "controller/manager/gc/gc_rules.hpp"
#include "objects/codec.hpp"

namespace ddptwin {

namespace json = boost::json;

struct GarbageCollector::Visit {
  SharedText uid;
  ObjectPtr latest{};
  std::vector<SharedText> solid{}, dangling{}, waiting{};  // uids of owners
};

namespace {

Json owners_json(const Object& object, const std::function<bool(OwnerReference&)>& keep) {
  json::array out;
  for (OwnerReference owner : *object.metadata.ownerReferences)
    if (keep(owner)) out.push_back(to_json(owner));
  return out;
}

// A merge patch of the references, refused when the object has changed since it was read.
api::Request patch_owners(const Object& object, Json owners) {
  json::object metadata{{"uid", object.metadata.uid.view()},
                        {"resourceVersion", object.metadata.resourceVersion},
                        {"ownerReferences", std::move(owners)}};
  return api::patch(object, api::PatchType::merge, json::object{{"metadata", std::move(metadata)}});
}

bool contains(const std::vector<SharedText>& uids, const SharedText& uid) {
  return std::find(uids.begin(), uids.end(), uid) != uids.end();
}

bool is_deleting_dependents(const Object& object) {
  return object.metadata.deletionTimestamp && gc::has_finalizer(object, gc::foreground);
}

}  // namespace

void GarbageCollector::visit(const SharedText& uid) {
  const Node* node = find(uid);
  if (node == nullptr) return settled(uid);
  const ObjectMeta& meta = node->object()->metadata;
  const bool orphans = meta.deletionTimestamp && gc::has_finalizer(*node->object(), gc::orphan);
  if (meta.deletionTimestamp && !node->deleting_dependents() && !orphans) return settled(uid);
  visiting_.insert(uid);
  auto item = std::make_shared<Visit>(Visit{uid});
  part_.call(api::get(node->object()->kind(), meta.namespace_, meta.name),
             [this, item](Result<api::Response> answer) { on_latest(item, std::move(answer)); });
}

void GarbageCollector::on_latest(const VisitPtr& visit, Result<api::Response> answer) {
  if (!answer || answer->object->metadata.uid != visit->uid) return finish(visit, answer);
  visit->latest = answer->object;
  const Object& latest = *visit->latest;
  if (latest.metadata.deletionTimestamp && gc::has_finalizer(latest, gc::orphan))
    return orphan_dependents(visit);
  const Node* node = find(visit->uid);
  if (node != nullptr && node->deleting_dependents()) return wait_for_blocking(visit);
  if (latest.metadata.ownerReferences->empty()) return finish(visit, answer);
  classify_next(visit, 0);
}

// Every dependent loses its reference, then the owner its finalizer.
void GarbageCollector::orphan_dependents(const VisitPtr& visit) {
  std::vector<ObjectPtr> dependents;
  for (const SharedText& uid : dependents_of(visit->uid))
    if (const Node* node = find(uid)) dependents.push_back(node->object());
  orphan_next(visit, std::move(dependents));
}

void GarbageCollector::orphan_next(const VisitPtr& visit, std::vector<ObjectPtr> rest) {
  if (rest.empty()) return remove_finalizer(visit, gc::orphan);
  const ObjectPtr dependent = rest.front();
  rest.erase(rest.begin());
  api::Request request = patch_owners(
      *dependent, owners_json(*dependent, [&](OwnerReference& o) { return o.uid != visit->uid; }));
  part_.call(std::move(request),
             [this, visit, rest = std::move(rest)](Result<api::Response> answer) mutable {
               if (!answer && answer.error().reason != Reason::not_found)
                 return finish(visit, answer);
               orphan_next(visit, std::move(rest));
             });
}

void GarbageCollector::wait_for_blocking(const VisitPtr& visit) {
  const auto blocking = blocking_dependents(visit->uid);
  if (blocking.empty()) return remove_finalizer(visit, gc::foreground);
  for (const ObjectPtr& dependent : blocking) {
    const Node* node = find(dependent->metadata.uid);
    if (node != nullptr && !node->deleting_dependents()) enqueue(dependent->metadata.uid);
  }
  finish(visit, api::Response());
}

// Owners one after the other: there, gone, or waiting for their dependents.
void GarbageCollector::classify_next(const VisitPtr& visit, std::size_t index) {
  const auto& owners = *visit->latest->metadata.ownerReferences;
  if (index == owners.size()) return decide(visit);
  const OwnerReference& owner = owners[index];
  const KindInfo* kind = client_.kinds().find(owner.apiVersion, owner.kind);
  const Text& space = visit->latest->metadata.namespace_;
  // A kind that nobody serves, or an owner that can not be in any namespace known: ask later.
  if (kind == nullptr || (kind->namespaced && space.empty()))
    return finish(visit, fail(Reason::internal_error, "the owner cannot be looked up"));
  part_.call(api::get(*kind, kind->namespaced ? space : Text(), owner.name),
             [this, visit, index](Result<api::Response> answer) {
               if (!answer && answer.error().reason != Reason::not_found)
                 return finish(visit, answer);
               const SharedText& uid = visit->latest->metadata.ownerReferences[index].uid;
               if (!answer || answer->object->metadata.uid != uid)
                 visit->dangling.push_back(uid);
               else if (is_deleting_dependents(*answer->object))
                 visit->waiting.push_back(uid);
               else
                 visit->solid.push_back(uid);
               classify_next(visit, index + 1);
             });
}

void GarbageCollector::decide(const VisitPtr& visit) {
  if (!visit->solid.empty()) {
    if (visit->dangling.empty() && visit->waiting.empty()) return finish(visit, api::Response());
    return let_go(visit);
  }
  const Object& latest = *visit->latest;
  if (!visit->waiting.empty() && !dependents_of(visit->uid).empty())
    return unblock_then_delete(visit);
  if (gc::has_finalizer(latest, gc::orphan)) return remove(visit, api::Propagation::orphan);
  if (gc::has_finalizer(latest, gc::foreground)) return remove(visit, api::Propagation::foreground);
  remove(visit, api::Propagation::background);
}

// Another owner lives: only the references to the others go.
void GarbageCollector::let_go(const VisitPtr& visit) {
  part_.call(patch_owners(*visit->latest, owners_json(*visit->latest,
                                                      [&](OwnerReference& o) {
                                                        return contains(visit->solid, o.uid);
                                                      })),
             [this, visit](Result<api::Response> answer) { finish(visit, answer); });
}

// Its owner waits for it, and it has dependents itself: they go first. In a circle somebody has to
// stop blocking.
void GarbageCollector::unblock_then_delete(const VisitPtr& visit) {
  bool circle = false;
  for (const SharedText& uid : dependents_of(visit->uid)) {
    const Node* node = find(uid);
    circle = circle || (node != nullptr && node->deleting_dependents());
  }
  if (!circle) return remove(visit, api::Propagation::foreground);
  Json owners = owners_json(*visit->latest, [](OwnerReference& owner) {
    if (owner.blockOwnerDeletion.value_or(false)) owner.blockOwnerDeletion = false;
    return true;
  });
  part_.call(patch_owners(*visit->latest, std::move(owners)),
             [this, visit](Result<api::Response> answer) {
               if (!answer) return finish(visit, answer);
               remove(visit, api::Propagation::foreground);
             });
}

void GarbageCollector::remove_finalizer(const VisitPtr& visit, std::string_view finalizer) {
  json::array rest;
  for (const std::string& name : visit->latest->metadata.finalizers)
    if (name != finalizer) rest.emplace_back(name);
  json::object metadata{{"uid", visit->uid.view()},
                        {"resourceVersion", visit->latest->metadata.resourceVersion},
                        {"finalizers", std::move(rest)}};
  part_.call(api::patch(*visit->latest, api::PatchType::merge,
                        json::object{{"metadata", std::move(metadata)}}),
             [this, visit](Result<api::Response> answer) { finish(visit, answer); });
}

void GarbageCollector::remove(const VisitPtr& visit, api::Propagation propagation) {
  api::DeleteOptions options;
  options.propagation = propagation;
  options.precondition_uid = visit->uid.view();
  part_.call(api::remove(*visit->latest, std::move(options)),
             [this, visit](Result<api::Response> answer) { finish(visit, answer); });
}

// Gone is as good as done; everything else is tried again.
void GarbageCollector::finish(const VisitPtr& visit, const Result<api::Response>& answer) {
  const SharedText& uid = visit->uid;
  visiting_.erase(uid);
  const auto asked = again_.find(uid);
  const std::optional<std::uint64_t> again =
      asked != again_.end() ? std::optional(asked->second) : std::nullopt;
  if (again) again_.erase(asked);
  if (answer || answer.error().reason == Reason::not_found) {
    settled(uid);
    if (!again) return;
    const ContextScope of_who_asked(loop_, *again);
    return enqueue(uid);
  }
  retry(uid);
}

}  // namespace ddptwin
