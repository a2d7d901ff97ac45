// When a pod that is being deleted or evicted is to be gone, however often one asks
// (spec/kubernetes.md §1.8, §1.18).
#include <optional>
#include <ostream>

#include "bare_store.hpp"
#include "objects/core_v1.hpp"
#include "property.hpp"

namespace ddptwin::property::deletion_properties_test {
namespace {

struct Asking {
  int after = 0;  // seconds since the one before
  std::optional<std::int64_t> grace{};
  bool evicts = false;
};

void showValue(const Asking& one, std::ostream& out) {
  out << (one.evicts ? "evicted" : "deleted") << " after " << one.after << " s, grace ";
  if (one.grace)
    out << *one.grace;
  else
    out << "unsaid";
}

rc::Gen<Asking> any_asking() {
  using Grace = std::optional<std::int64_t>;
  return gen::build<Asking>(
      gen::set(&Asking::after, gen::element(0, 1, 2, 5, 9)),
      gen::set(&Asking::grace, gen::element<Grace>(std::nullopt, 0, 1, 2, 7, 8, 20, 40, -3)),
      gen::set(&Asking::evicts, gen::weightedElement<bool>({{2, false}, {1, true}})));
}

struct DoomedPod {
  bool bound = true;
  bool held = false;  // by a finalizer
  std::string phase{};
  std::int64_t grace = 30;  // of its specification
};

void showValue(const DoomedPod& pod, std::ostream& out) {
  out << (pod.bound ? "bound" : "not bound") << (pod.held ? ", held" : "") << ", " << pod.phase
      << ", grace " << pod.grace;
}

rc::Gen<DoomedPod> any_doomed_pod() {
  return gen::build<DoomedPod>(
      gen::set(&DoomedPod::bound, gen::weightedElement<bool>({{5, true}, {1, false}})),
      gen::set(&DoomedPod::held, gen::weightedElement<bool>({{2, false}, {1, true}})),
      gen::set(&DoomedPod::phase,
               gen::weightedElement<std::string>({{4, "Running"}, {1, "Pending"}, {1, "Failed"}})),
      gen::set(&DoomedPod::grace, gen::element<std::int64_t>(0, 1, 10, 30)));
}

void create(BareStore& cluster, const DoomedPod& shape) {
  auto pod = std::make_shared<Pod>();
  pod->metadata.name = "p";
  pod->metadata.namespace_ = "default";
  if (shape.held) pod->metadata.finalizers = {"ddptwin.test/held"};
  PodSpec& spec = pod->spec.edit();
  if (shape.bound) spec.nodeName = "n0";
  spec.terminationGracePeriodSeconds = shape.grace;
  spec.containers.edit().push_back({.name = "c", .image = "busybox"});
  RC_ASSERT(cluster.store.call(api::create(pod), "test").has_value());
  auto known = std::make_shared<Pod>(*cluster.store.find<Pod>("default", "p"));
  known->status.phase = shape.phase;
  RC_ASSERT(cluster.store.call(api::update(known, "status"), "test").has_value());
}

// What an object says of its own end.
struct End {
  Time at{};
  std::int64_t grace = 0;
  bool operator==(const End&) const = default;
};

// The rules in their simplest words: the first to ask begins it, who asks for less shortens it.
class NaiveEnd {
 public:
  explicit NaiveEnd(DoomedPod pod) : pod_(std::move(pod)) {}

  void ask(Time now, std::optional<std::int64_t> grace) {
    if (grace && *grace < 0) grace = 1;
    if (!end) {
      first_ = now;
      const bool graceful = pod_.bound && pod_.phase != "Failed";
      const std::int64_t period = graceful ? grace.value_or(pod_.grace) : 0;
      end = End{now + std::chrono::seconds(period), period};
    } else if (grace && *grace < end->grace) {
      const Time at = first_ + std::chrono::seconds(*grace);
      if (*grace == 0)
        end = End{now, 0};
      else
        end = at < now ? End{now, 1} : End{at, *grace};
    }
  }
  bool gone() const { return end && end->grace == 0 && !pod_.held; }

  std::optional<End> end{};

 private:
  DoomedPod pod_;
  Time first_{};
};

TEST(DeletionProperties, APodsEndIsBegunOnceAndOnlyBroughtForward) {
  holds([] {
    const auto shape = *any_doomed_pod().as("pod");
    const auto askings = *gen::resize(6, gen::vector_of(any_asking())).as("deletions");
    BareStore cluster;
    create(cluster, shape);
    NaiveEnd naive(shape);
    const auto first = cluster.store.find<Pod>("default", "p")->metadata.generation;
    for (const Asking& one : askings) {
      cluster.rest(std::chrono::seconds(one.after));
      const auto pod = cluster.store.find<Pod>("default", "p");
      if (pod == nullptr) break;
      api::DeleteOptions options;
      options.grace_period_seconds = one.grace;
      const api::Request request =
          one.evicts ? api::evict(*pod, options) : api::remove(*pod, options);
      RC_ASSERT(cluster.store.call(request, "test").has_value());
      const auto before = naive.end;
      naive.ask(cluster.loop.now(), one.grace);
      const auto left = cluster.store.find<Pod>("default", "p");
      RC_ASSERT((left == nullptr) == naive.gone());
      if (left == nullptr) continue;
      RC_ASSERT(left->metadata.deletionTimestamp.has_value());
      const End told{*left->metadata.deletionTimestamp,
                     left->metadata.deletionGracePeriodSeconds.value_or(-1)};
      RC_LOG() << "ends " << seconds_of(told.at - cluster.loop.now()) << " s from now, grace "
               << told.grace << "; wanted " << seconds_of(naive.end->at - cluster.loop.now())
               << ", " << naive.end->grace << "\n";
      RC_ASSERT(told == *naive.end);
      RC_ASSERT(left->metadata.generation == first + 1);
      if (before == naive.end) RC_ASSERT(left == pod);  // what changes nothing is not written
    }
  });
}

TEST(DeletionProperties, ADryRunChangesNothing) {
  holds([] {
    BareStore cluster;
    create(cluster, *any_doomed_pod().as("pod"));
    const auto pod = [&] { return cluster.store.find<Pod>("default", "p"); };
    if (*gen::arbitrary<bool>().as("is being deleted"))
      RC_ASSERT(cluster.store.call(api::remove(*pod()), "test").has_value());
    const auto before = pod();
    if (before == nullptr) return;
    api::DeleteOptions options;
    options.grace_period_seconds = (*any_asking().as("asking")).grace;
    auto changed = std::make_shared<Pod>(*before);
    changed->metadata.labels.edit()["a"] = "b";
    changed->metadata.finalizers.edit().clear();
    const std::string verb = *gen::element<std::string>("delete", "evict", "update").as("verb");
    api::Request request = verb == "delete"  ? api::remove(*before, options)
                           : verb == "evict" ? api::evict(*before, options)
                                             : api::update(changed);
    request.dry_run = true;
    static_cast<void>(cluster.store.call(std::move(request), "test"));  // refused or not
    cluster.rest(60s);
    RC_ASSERT(pod() == before);
  });
}

// Whoever asks for a pod's end before its binding comes is heard: nobody is bound who is being
// deleted, and nobody twice (registry/core/pod/storage, assignPod).
TEST(DeletionProperties, NobodyIsBoundWhoIsBeingDeleted) {
  holds([] {
    auto shape = *any_doomed_pod().as("pod");
    shape.bound = *gen::weightedElement<bool>({{3, false}, {1, true}}).as("is bound already");
    BareStore cluster;
    create(cluster, shape);
    const auto pod = [&] { return cluster.store.find<Pod>("default", "p"); };
    const auto chosen = pod();  // as the scheduler knows it
    for (const Asking& one : *gen::resize(2, gen::vector_of(any_asking())).as("deletions")) {
      if (pod() == nullptr) break;
      api::DeleteOptions options;
      options.grace_period_seconds = one.grace;
      const api::Request request =
          one.evicts ? api::evict(*chosen, options) : api::remove(*chosen, options);
      RC_ASSERT(cluster.store.call(request, "test").has_value());
    }
    const auto before = pod();
    const bool waits = before && !before->metadata.deletionTimestamp && !shape.bound;
    RC_CLASSIFY(waits);
    const auto answer = cluster.store.call(api::bind(*chosen, "n1"), "scheduler");
    RC_ASSERT(answer.has_value() == waits);
    if (waits)
      RC_ASSERT(pod()->spec->nodeName == "n1");
    else
      RC_ASSERT(pod() == before);
  });
}

// --- namesakes ---

// A uid is a precondition of a patch, whatever its kind and subresource, of a deletion, an eviction
// and a binding: who means an object that is gone changes none of that name (spec/kubernetes.md
// §1.5, §1.6, §1.8).
TEST(DeletionProperties, WhatIsMeantForAnotherUidIsRefused) {
  holds([] {
    BareStore cluster;
    const bool bound = *gen::arbitrary<bool>().as("bound");
    const auto make = [&] {
      auto pod = std::make_shared<Pod>();
      pod->metadata.name = "p";
      pod->metadata.namespace_ = "default";
      PodSpec& spec = pod->spec.edit();
      if (bound) spec.nodeName = "n0";
      spec.containers.edit().push_back({.name = "c", .image = "busybox"});
      const auto made = cluster.store.call(api::create(pod), "test");
      RC_ASSERT(made.has_value());
      return made->object;
    };
    const ObjectPtr old = make();
    api::DeleteOptions at_once;
    at_once.grace_period_seconds = 0;
    RC_ASSERT(cluster.store.call(api::remove(*old, at_once), "test").has_value());
    const ObjectPtr now = make();
    const bool is_meant = *gen::arbitrary<bool>().as("the new one is meant");
    const ObjectPtr meant = is_meant ? now : old;
    const auto request = [&]() -> api::Request {
      const std::string deed = *gen::element<std::string>("patch", "patch of the status",
                                                          "deletion", "eviction", "binding")
                                    .as("deed");
      if (deed == "binding") {
        RC_PRE(!bound);
        return api::bind(*meant, "n1");
      }
      if (deed == "deletion" || deed == "eviction") {
        api::DeleteOptions options;
        options.grace_period_seconds = (*any_asking().as("grace")).grace;
        options.precondition_uid = meant->metadata.uid.view();
        return deed == "deletion" ? api::remove(*now, options) : api::evict(*now, options);
      }
      const auto type =
          *gen::element(api::PatchType::merge, api::PatchType::strategic).as("kind of patch");
      boost::json::object body{{"metadata", {{"uid", meant->metadata.uid.view()}}}};
      if (deed == "patch") {
        body["metadata"].as_object()["labels"] = boost::json::object{{"a", "b"}};
        return api::patch(*now, type, body);
      }
      body["status"] = boost::json::object{{"message", "m"}};
      return api::patch(*now, type, body, "status");
    }();
    const auto answer = cluster.store.call(request, "test");
    RC_ASSERT(answer.has_value() == is_meant);
    const auto there = cluster.store.find<Pod>("default", "p");
    const bool changed =
        there == nullptr || there->metadata.resourceVersion != now->metadata.resourceVersion;
    RC_ASSERT(changed == is_meant);
  });
}

}  // namespace
}  // namespace ddptwin::property::deletion_properties_test
