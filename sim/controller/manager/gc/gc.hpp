// The garbage collector: what owners leave behind when they go (spec/kubernetes.md section 7).
#pragma once

#include <boost/container/deque.hpp>
#include <boost/container/flat_set.hpp>
#include <memory>
#include <string>
#include <vector>

#include "api/event_recorder.hpp"
#include "api/shared_informers.hpp"
#include "core/print_table.hpp"
#include "objects/uid_table.hpp"

namespace ddptwin {

// Sees every object through informers, keeps the graph of owners by uid, and deletes or lets go of
// dependents through the API, each item on its own and repeatedly until it is settled. It never
// trusts its graph for a deletion: object and owners are read anew.
class GarbageCollector {
 public:
  GarbageCollector(Loop& loop, api::ApiClient& client, api::SharedInformers& informers);
  ~GarbageCollector();
  GarbageCollector(const GarbageCollector&) = delete;
  GarbageCollector& operator=(const GarbageCollector&) = delete;

  // The process begins, anew after crash(): its graph is what the informers show it. Precondition:
  // not running.
  void start();
  // The process ends now, perhaps between two writes; a call under way may still happen.
  void crash();
  bool running() const { return part_.running(); }
  // The objects of which its memory says something, by uid or by key ("NAMESPACE/NAME", or a name)
  // in any order: none after crash(), and at rest none that is gone.
  std::vector<std::string> remembered() const;
  // A kind that came later (a custom resource definition).
  void watch_kind(const KindInfo& kind);
  // Stops looking at its queue, as a stalled collector does; what happens meanwhile is not lost.
  void stall(bool stalled);

 private:
  // One item on its way: what was read, and how its owners stand.
  struct Visit;
  using VisitPtr = std::shared_ptr<Visit>;
  // In one piece: nearly all that have dependents have a few, or come and go with them.
  using Uids = boost::container::flat_set<SharedText>;
  struct Ownership {
    Uids dependents{};
    bool is_deleting_them = false;  // foreground deletion was seen; it is never taken back
  };
  struct Node {
    const ObjectPtr* place = nullptr;        // where its informer keeps it; null: not seen, or gone
    std::unique_ptr<Ownership> ownership{};  // null: of nothing; three in four nodes have none
    const ObjectPtr& object() const { return *place; }
    bool deleting_dependents() const { return ownership != nullptr && ownership->is_deleting_them; }
    Ownership& own() {
      if (ownership == nullptr) ownership = std::make_unique<Ownership>();
      return *ownership;
    }
    bool has_dependents() const { return ownership != nullptr && !ownership->dependents.empty(); }
  };

  // gc.cpp: the graph
  void on_object(const api::Informer& informer, const ObjectPtr& before, const ObjectPtr& after);
  void on_gone(const ObjectPtr& object);
  void link_owners(const ObjectPtr& before, const ObjectPtr& after);
  void link_owner(const Object& dependent, const OwnerReference& owner);
  void drop_dependent(const SharedText& owner, const SharedText& uid);
  void check_dependents(const Object& owner);
  bool refers_to(const Object& dependent, const OwnerReference& reference, const Object& owner);
  void on_marked(const ObjectPtr& before, const ObjectPtr& after);
  const Uids& dependents_of(const SharedText& uid) const;
  std::vector<ObjectPtr> blocking_dependents(const SharedText& uid) const;
  Node& node_of(const SharedText& uid);           // made where there is none
  const Node* find(const SharedText& uid) const;  // of what is there
  void wake_owner(const SharedText& uid);

  // gc.cpp: the queue
  void enqueue(const SharedText& uid);
  void retry(const SharedText& uid);
  void settled(const SharedText& uid);
  void work();

  // gc_visit.cpp: one item
  void visit(const SharedText& uid);
  void on_latest(const VisitPtr& visit, Result<api::Response> answer);
  void orphan_dependents(const VisitPtr& visit);
  void orphan_next(const VisitPtr& visit, std::vector<ObjectPtr> rest);
  void wait_for_blocking(const VisitPtr& visit);
  void classify_next(const VisitPtr& visit, std::size_t index);
  void decide(const VisitPtr& visit);
  void let_go(const VisitPtr& visit);
  void unblock_then_delete(const VisitPtr& visit);
  void remove_finalizer(const VisitPtr& visit, std::string_view finalizer);
  void remove(const VisitPtr& visit, api::Propagation propagation);
  void finish(const VisitPtr& visit, const Result<api::Response>& answer);

  Loop& loop_;
  api::ApiClient& client_;
  api::SharedInformers& informers_;
  api::ProcessPart part_;
  std::unique_ptr<api::EventRecorder> recorder_{};
  Lane lane_;
  PrintTable<Node> nodes_{};  // by uid; of owners that nobody has seen too
  boost::container::deque<SharedText> queue_{};
  // With the context under which each was asked for last.
  UidTable<std::uint64_t> queued_{};
  UidSet visiting_{};
  UidTable<std::uint64_t> again_{};  // asked for while being visited
  UidTable<int> failures_{};
  UidTable<Timer> retries_{};
  Timer work_{};
  bool stalled_ = false;
};

}  // namespace ddptwin
