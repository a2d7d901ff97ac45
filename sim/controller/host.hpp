#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "api/event_recorder.hpp"
#include "api/event_series.hpp"
#include "api/shared_informers.hpp"
#include "controller/controller.hpp"
#include "core/trace.hpp"

namespace ddptwin::controller {

// Taken instead of planning while a cache has not seen what the controller itself wrote for the
// key.
extern const Rule await_own_writes;

struct HostOptions {
  // The client's own throttle on the plan's calls (client-go QPS and burst; 20 and 30 are the
  // defaults of controller-runtime and of kube-controller-manager). 0: none.
  double client_per_second = 20;
  int client_burst = 30;
  api::EventRecorderOptions events{};
  // A key is planned again only once the caches of these kinds are as new as what its last plans
  // wrote of them, deletions aside; until then it backs off as after a failure. Kinds that it does
  // not watch count for nothing. Source: pkg/controller/util/consistency of Kubernetes 1.36
  // (KEP-5647).
  std::vector<const KindInfo*> own_writes_of{};
};

// Feeds one controller from informers and carries its plans out, one API call a loop step, one key
// at a time (spec/pytorchjob.md §4.1: one worker). After a refused call it drops the rest, backs
// off and observes again. Everything it remembers is lost by crash(), and what the informers hold,
// unless they are shared with what goes on. Source: controller-runtime's controller, client-go's
// work queue and informers.
class ControllerHost {
 public:
  using Options = HostOptions;

  // All references outlive the host. `client` should know its user (controllers' field manager).
  ControllerHost(Loop& loop, api::ApiClient& client, api::SharedInformers& informers, Trace& trace,
                 Random random, Controller& controller, Options options = {});
  ~ControllerHost();
  ControllerHost(const ControllerHost&) = delete;
  ControllerHost& operator=(const ControllerHost&) = delete;

  // Begins to list and watch; plans once every cache is filled. Precondition: not running.
  void start();
  // The process ends now, perhaps between two writes; a call under way may still happen.
  void crash();
  bool running() const { return part_.running(); }
  // Nothing is queued or in hand (delayed keys do not count).
  bool idle() const { return !run_ && queue_.empty(); }
  // What the controller or its queue remembers of, by key: nothing after crash(), and at rest
  // nothing of what is gone.
  struct Remembered {
    Key key{};
    bool is_gone = false;  // nothing that it watches is called so
  };
  std::vector<Remembered> remembered() const;

 private:
  class InformerCache;
  struct Source;
  // The key in hand, which the queue keeps, and what is left of its plan.
  struct Run {
    WorkQueue::Entry& entry;
    Plan plan;
    std::uint64_t cause = 0;  // of the plan
    std::uint64_t taken = 0;  // the rule in hand
    std::size_t at = 0;
    ObjectPtr answered{};  // what the last step that wrote the plan's own object came to
    const Key& key() const { return entry.key(); }
    const Step& step() const { return plan.steps[at]; }
    Step& step() { return plan.steps[at]; }
  };

  void on_change(Source& source, const Change& change);
  void resync(Source& source);
  void resync_later(Source& source);
  bool synced() const;
  void pump();
  void take_next();
  // Why a key is not planned yet: which cache is behind its own writes; empty: none is.
  std::string behind(const Key& key);
  void note_written(const ObjectPtr& object);
  void forget_written(const Object& gone);
  void next_step();
  void read_first();
  void on_read(const Result<api::Response>& result);
  void call();
  void on_answer(const Result<api::Response>& result);
  void accepted(const ObjectPtr& answer = nullptr);
  void refused(const Error& error);
  void finish();
  void retry();
  void panic(const std::string& text);
  void expect(const Step& step, Expected::When when);
  void take_back(const Step& step, Expected::When when);
  void tell(const std::optional<EventText>& event, const ObjectPtr& answer = nullptr);
  void tell(std::string_view type, std::string_view reason, std::string message);
  void record(const Step& step);
  using OnAnswer = void (ControllerHost::*)(const Result<api::Response>&);
  // Calls the API under the throttle and hands the answer on, unless the process has ended by then.
  void ask(std::unique_ptr<api::Asked> asked, OnAnswer on);

  Loop& loop_;
  api::ApiClient& client_;
  api::ProcessPart part_;
  Trace& trace_;
  Random random_;
  Controller& controller_;
  Options options_;
  Lane lane_;
  WorkQueue queue_;
  TokenBucket throttle_;
  Expectations expectations_{};
  std::vector<std::unique_ptr<Source>> sources_{};
  std::unique_ptr<InformerCache> cache_;
  std::unique_ptr<api::EventRecorder> recorder_{};
  std::unique_ptr<api::EventSeries> series_{};  // instead, of who tells in series
  std::optional<Run> run_{};
  // Of each key the newest versions that its plans wrote, until a look finds them cached.
  struct Written {
    Text owner{};                           // uid
    std::vector<std::uint64_t> versions{};  // as sources_; 0: none
  };
  std::map<Key, Written> written_{};
  Timer throttled_{};
  Timer restart_{};
  std::uint64_t plans_ = 0;
  bool pumping_ = false;
  int panics_ = 0;
  Time started_at_{};
};

}  // namespace ddptwin::controller
