// The pod garbage collector: pods that no kubelet will ever end (spec/kubernetes.md section 7).
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "api/shared_informers.hpp"
#include "core/text_table.hpp"

namespace ddptwin {

struct Pod;

// Looks every 20 seconds for finished pods beyond a threshold, terminating pods of nodes that are
// out of service, pods of nodes that are gone, and terminating pods that were never placed; marks
// them Failed and deletes them with grace 0. A node is out of service when its administrator says
// so by the taint and it is not Ready (§2.12). A node is gone when it is missing at a look and
// again 40 seconds later, whatever was between; the second of these looks is the first of another
// pair, so that a node of the name that comes and goes again meanwhile is given less (§2.12).
class PodGarbageCollector {
 public:
  struct Options {
    std::size_t finished_threshold = 12'500;  // 0: they stay
  };

  PodGarbageCollector(Loop& loop, api::ApiClient& client, api::SharedInformers& informers,
                      Options options);
  PodGarbageCollector(Loop& loop, api::ApiClient& client, api::SharedInformers& informers)
      : PodGarbageCollector(loop, client, informers, Options()) {}
  ~PodGarbageCollector();

  // The process begins, anew after crash(). Precondition: not running.
  void start();
  // The process ends now, perhaps between two writes; a call under way may still happen.
  void crash();
  bool running() const { return part_.running(); }
  // The objects of which its memory says something, by uid or by key ("NAMESPACE/NAME", or a name)
  // in any order: none after crash(), and at rest none that is gone.
  std::vector<std::string> remembered() const;

 private:
  void on_pod(const ObjectPtr& before, const ObjectPtr& after);
  void come_to_node(const std::string& key, const std::string& node);
  void leave_node(const std::string& key, const std::string& node);
  void on_node(const ObjectPtr& before, const ObjectPtr& after);
  void look_for_node(const std::string& name);
  void note_service(const ObjectPtr& before, const ObjectPtr& after);
  void look();
  void collect_finished();
  void collect_terminating();
  void collect_orphaned();
  void collect_unscheduled();
  void mark_and_remove(const ObjectPtr& pod, std::string_view reason, std::string_view message);
  void remove(const Object& pod);

  Loop& loop_;
  Options options_;
  Lane lane_;
  api::ProcessPart part_;
  api::Informer& pods_;
  api::Informer& nodes_;
  // In the order of their names, each with the context in which it came to be so: a look is taken
  // by the clock, and removes for what was seen before.
  using Keys = std::map<std::string, std::uint64_t, std::less<>>;
  Keys finished_{};
  Keys ending_unplaced_{};
  TextTable<Keys> on_node_{};
  Keys out_of_service_{};                                   // nodes
  Keys lost_nodes_{};                                       // that have pods and no object
  std::map<std::string, Time, std::less<>> quarantined_{};  // until when, by a node's name
  Timer next_{};
};

}  // namespace ddptwin
