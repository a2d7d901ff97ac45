#include "controller/manager/gc/gc.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "controller/manager/gc/gc_rules.hpp"

namespace ddptwin {
namespace {

constexpr Duration look_after = 1ms;  // from an event to its consequence
constexpr Duration first_retry = 5ms, last_retry = 1000s;

const OwnerReference* reference_to(const Object& object, std::string_view uid) {
  for (const OwnerReference& owner : *object.metadata.ownerReferences)
    if (owner.uid == uid) return &owner;
  return nullptr;
}

}  // namespace

GarbageCollector::GarbageCollector(Loop& loop, api::ApiClient& client,
                                   api::SharedInformers& informers)
    : loop_(loop),
      client_(client),
      informers_(informers),
      part_(client, informers),
      lane_(loop.new_lane()) {}

GarbageCollector::~GarbageCollector() = default;

void GarbageCollector::start() {
  recorder_ = std::make_unique<api::EventRecorder>(loop_, client_, "garbage-collector-controller");
  part_.begin();
  for (const KindInfo* kind : client_.kinds().all()) watch_kind(*kind);
}

void GarbageCollector::crash() {
  part_.end();
  recorder_.reset();
  nodes_.clear();
  queue_.clear();
  queued_.clear();
  visiting_.clear();
  again_.clear();
  failures_.clear();
  retries_.clear();
  work_.cancel();
}

// Of an owner that nobody has seen no uid is kept: what is known of it are its dependents.
std::vector<std::string> GarbageCollector::remembered() const {
  std::vector<std::string> uids;
  nodes_.each([&uids](const Node& node) {
    if (node.place != nullptr) uids.push_back(node.object()->metadata.uid.str());
    if (node.has_dependents())
      for (const SharedText& uid : node.ownership->dependents) uids.push_back(uid.str());
  });
  for (const SharedText& uid : visiting_) uids.push_back(uid.str());
  const auto add = [&uids](const auto& table) {
    for (const auto& [uid, row] : table) uids.push_back(uid.str());
  };
  add(queued_);
  add(again_);
  add(failures_);
  add(retries_);
  return uids;
}

void GarbageCollector::watch_kind(const KindInfo& kind) {
  if (kind.kind == "Event") return;  // nobody owns through them, and there are many
  const api::Informer& informer = informers_.of(kind);
  part_.hear(kind, [this, &informer](const ObjectPtr& before, const ObjectPtr& after) {
    if (after != nullptr)
      on_object(informer, before, after);
    else
      on_gone(before);
  });
}

void GarbageCollector::stall(bool stalled) {
  stalled_ = stalled;
  if (!stalled) work();
}

void GarbageCollector::on_object(const api::Informer& informer, const ObjectPtr& before,
                                 const ObjectPtr& after) {
  // What follows comes to the same place.
  if (before == nullptr) node_of(after->metadata.uid).place = &informer.objects().find(*after);
  if (before == nullptr ||
      !before->metadata.ownerReferences.same_as(after->metadata.ownerReferences))
    link_owners(before, after);
  if (before == nullptr) check_dependents(*after);
  on_marked(before, after);
}

// Owners that were named before and are not now, and the other way round.
void GarbageCollector::link_owners(const ObjectPtr& before, const ObjectPtr& after) {
  const SharedText& uid = after->metadata.uid;
  if (before != nullptr)
    for (const OwnerReference& owner : *before->metadata.ownerReferences) {
      const OwnerReference* now = reference_to(*after, owner.uid);
      if (now == nullptr) drop_dependent(owner.uid, uid);
      const bool unblocked = owner.blockOwnerDeletion.value_or(false) &&
                             (now == nullptr || !now->blockOwnerDeletion.value_or(false));
      if (now == nullptr || unblocked) wake_owner(owner.uid);
    }
  for (const OwnerReference& owner : *after->metadata.ownerReferences)
    if (before == nullptr || reference_to(*before, owner.uid) == nullptr) link_owner(*after, owner);
}

void GarbageCollector::link_owner(const Object& dependent, const OwnerReference& owner) {
  Node& node = node_of(owner.uid);  // stays there: nothing below makes or drops one
  node.own().dependents.insert(dependent.metadata.uid);
  // An owner that nobody has seen, or that is not what the reference says: to be asked for.
  if (node.place == nullptr || !refers_to(dependent, owner, *node.object())) {
    enqueue(dependent.metadata.uid);
    return;
  }
  if (node.deleting_dependents()) enqueue(dependent.metadata.uid);
}

// An owner that comes after its dependents: do their references mean it?
void GarbageCollector::check_dependents(const Object& owner) {
  for (const SharedText& uid : dependents_of(owner.metadata.uid)) {
    const Node* node = find(uid);
    const OwnerReference* reference =
        node != nullptr ? reference_to(*node->object(), owner.metadata.uid) : nullptr;
    if (reference != nullptr && !refers_to(*node->object(), *reference, owner)) enqueue(uid);
  }
}

bool GarbageCollector::refers_to(const Object& dependent, const OwnerReference& reference,
                                 const Object& owner) {
  const Text& space = owner.metadata.namespace_;
  if (!space.empty() && space != dependent.metadata.namespace_) {
    const Text& here = dependent.metadata.namespace_;
    recorder_->event(
        dependent, "Warning", "OwnerRefInvalidNamespace",
        fmt::format("ownerRef [{}/{}, namespace: {}, name: {}, uid: {}] does not exist in "
                    "namespace \"{}\"",
                    reference.apiVersion, reference.kind, here, reference.name,
                    reference.uid.view(), here));
    return false;
  }
  return owner.kind().kind == reference.kind &&
         owner.kind().api_version() == reference.apiVersion &&
         owner.metadata.name == reference.name;
}

// Deletion began, with a finalizer that is the collector's to fulfil.
void GarbageCollector::on_marked(const ObjectPtr& before, const ObjectPtr& after) {
  if (!after->metadata.deletionTimestamp) return;
  const SharedText& uid = after->metadata.uid;
  const bool was = before != nullptr && before->metadata.deletionTimestamp;
  const auto begins = [&](std::string_view finalizer) {
    return gc::has_finalizer(*after, finalizer) && !(was && gc::has_finalizer(*before, finalizer));
  };
  if (begins(gc::orphan)) enqueue(uid);
  if (!begins(gc::foreground)) return;
  node_of(uid).own().is_deleting_them = true;
  for (const SharedText& dependent : dependents_of(uid)) enqueue(dependent);
  enqueue(uid);
}

void GarbageCollector::on_gone(const ObjectPtr& object) {
  const SharedText& uid = object->metadata.uid;
  const Fingerprint print = Fingerprint::of(uid);
  if (Node* node = nodes_.find(print); node != nullptr) {
    node->place = nullptr;
    if (!node->has_dependents())
      nodes_.erase(print);
    else
      node->own().is_deleting_them = false;
  }
  for (const OwnerReference& owner : *object->metadata.ownerReferences) {
    drop_dependent(owner.uid, uid);
    wake_owner(owner.uid);
  }
  for (const SharedText& dependent : dependents_of(uid)) enqueue(dependent);
}

// An owner that nobody has seen is known for its dependents alone.
void GarbageCollector::drop_dependent(const SharedText& owner, const SharedText& uid) {
  const Fingerprint print = Fingerprint::of(owner);
  Node* node = nodes_.find(print);
  if (node == nullptr || !node->has_dependents()) return;
  node->ownership->dependents.erase(uid);
  if (node->place == nullptr && !node->has_dependents()) nodes_.erase(print);
}

GarbageCollector::Node& GarbageCollector::node_of(const SharedText& uid) {
  return nodes_[Fingerprint::of(uid)];
}

const GarbageCollector::Uids& GarbageCollector::dependents_of(const SharedText& uid) const {
  static const Uids none;
  const Node* node = nodes_.find(Fingerprint::of(uid));
  return node != nullptr && node->has_dependents() ? node->ownership->dependents : none;
}

std::vector<ObjectPtr> GarbageCollector::blocking_dependents(const SharedText& uid) const {
  std::vector<ObjectPtr> out;
  for (const SharedText& dependent : dependents_of(uid)) {
    const Node* node = find(dependent);
    const OwnerReference* reference =
        node != nullptr ? reference_to(*node->object(), uid) : nullptr;
    if (reference != nullptr && reference->blockOwnerDeletion.value_or(false))
      out.push_back(node->object());
  }
  return out;
}

const GarbageCollector::Node* GarbageCollector::find(const SharedText& uid) const {
  const Node* node = nodes_.find(Fingerprint::of(uid));
  return node != nullptr && node->place != nullptr ? node : nullptr;
}

// One obstacle less for an owner that waits for its dependents.
void GarbageCollector::wake_owner(const SharedText& uid) {
  const Node* node = find(uid);
  if (node != nullptr && node->deleting_dependents()) enqueue(uid);
}

void GarbageCollector::enqueue(const SharedText& uid) {
  if (visiting_.contains(uid)) {
    again_[uid] = loop_.context();
    return;
  }
  const auto [queued, is_new] = queued_.insert_or_assign(uid, loop_.context());
  if (!is_new) return;
  queue_.push_back(uid);
  if (!work_.pending()) work_ = loop_.after(lane_, look_after, [this] { work(); });
}

// Twice the last wait, as the workqueue's rate limiter does.
void GarbageCollector::retry(const SharedText& uid) {
  const int failures = std::min(failures_[uid]++, 20);
  const Duration wait = std::min<Duration>(first_retry * (1LL << failures), last_retry);
  retries_[uid] = loop_.after(lane_, wait, [this, uid] { enqueue(uid); });
}

void GarbageCollector::settled(const SharedText& uid) {
  failures_.erase(uid);
  retries_.erase(uid);
}

void GarbageCollector::work() {
  if (stalled_) return;
  while (!queue_.empty()) {
    const SharedText uid = std::move(queue_.front());
    queue_.pop_front();
    const auto queued = queued_.find(uid);
    const ContextScope of_this_one(loop_, queued->second);
    queued_.erase(queued);
    visit(uid);
  }
}

}  // namespace ddptwin
