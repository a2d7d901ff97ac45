// What a FaultInjector is made of; injector.cpp and injector_actions.cpp share it.
#pragma once

#include <list>
#include <set>

#include "dns/resolver.hpp"
#include "runtime/model/network.hpp"
#include "scenario/faults/injector.hpp"
#include "scenario/judge/observer.hpp"

namespace ddptwin::scenario {

struct FaultInjector::Parts {
  // One fault of the plan on its way.
  enum class Stage : std::uint8_t {
    idle,       // the scenario has not begun, or `at` has not come
    expecting,  // `when` is not so yet, or an end of the link is not there
    ready,      // it was so, and the fault is armed as soon as nobody is in the midst of anything
    armed,      // its occurrence has not come
    acting,     // triggered, and not yet over
    fading,     // over, but for what it made late or silent
    over,
  };
  struct Active {
    const Fault* fault = nullptr;
    const FaultRow* row = nullptr;
    std::size_t index = 0;
    Stage stage = Stage::idle;
    std::int64_t seen = 0;     // occurrences since it was armed
    ContainerId container{};   // of the start that nth means, until `step` has come
    Timer timer{};             // until `at`, then until the end
    Timer grace{};             // of a node that shuts down, until it is dead
    bool ends = false;         // what it lasts until has come
    std::uint64_t since = 0;   // the record that made it ready
    std::uint64_t record = 0;  // its own last one
    Time lingers{};            // when the last thing that it made late or silent has come
    int second = 0;            // the process that it began
    // Whose network it changes, and how.
    model::LinkFault link{};
    std::set<std::string, std::less<>> addresses{};
    std::set<std::pair<std::string, std::string>> links{};
  };

  Parts(Loop& l, FaultPlan p);

  // ---- injector.cpp
  Status start();
  Status check_names() const;
  void look(Active& one);
  void arm(Active& one);
  bool fits(const Active& one, const api::Caller& caller, const api::Request& request) const;
  bool fits(const Active& one, const api::Caller& caller, const KindInfo& kind,
            const api::WatchEvent& event) const;
  bool hits(Active& one);
  void linger(Active& one, Duration effect);
  void on_record(const Record& record);
  void on_start(const RunningContainer& container);
  void on_line(const RunningContainer& container, const std::string& line, bool recorded);
  bool is_meant(const Active& one, const RunningContainer& container) const;
  // Of a link: whether both its ends have addresses by now.
  bool has_ends(const Active& one) const;
  // Whether a fault that waits may act now.
  bool is_due(const Active& one) const;
  bool is_from(const Active& one, const std::string& client) const;
  dns::Verdict on_question(const dns::Query& query);
  void heal();
  void check_healed();
  // No longer than until all faults are healed.
  Duration bounded(Duration lasts) const;
  void write(Record record, const std::string& subject, const std::string& text);
  void record(Active& one, const std::string& subject);

  // ---- injector_actions.cpp
  bool begins_at_once(const Active& one) const;
  void trigger(Active& one);  // of a fault that takes something away for a while
  void begin(Active& one);
  void end(Active& one);
  void finish(Active& one);
  void strike(Active& one, const RunningContainer& container);
  bool strike_running(Active& one);
  void missed(Active& one, const std::string& subject);
  // Whether a fault that goes on, other than this one, is of that sort: what two of them take away
  // comes back with the last.
  template <class Sort>
  bool another(const Active& one, Sort sort) const;
  void end_crash(Active& one);
  void begin_outage(Active& one);
  void begin_shutdown(Active& one);
  void end_outage(Active& one);
  void start_kubelet(const Active& one, const std::string& node);
  void begin_link(Active& one);
  void end_link(Active& one);
  void set_host(const std::string& address);
  void set_link(const std::string& from, const std::string& to);
  std::vector<std::string> addresses_of(std::string_view pod) const;
  std::vector<std::string> addresses_on(const std::string& node) const;
  void cordon(const std::string& node, bool cordoned);
  std::vector<std::string> nodes_of(const Active& one) const;

  Loop& loop;
  FaultPlan plan;
  Lane lane;
  World* world = nullptr;
  RuntimePorts ports{};
  std::unique_ptr<RuntimeTap> tap{};
  std::optional<Observer> observer{};  // where a fault waits for a state
  std::list<Active> actives{};
  // Addresses of a node's pods when it went, by node, whichever faults took it.
  std::map<std::string, std::vector<std::string>> outages{};
  Census census{};
  std::vector<Acted> acted{};
  Time started{};
  Timer heal_timer{};
  bool running = false;
  bool healed = false;
  bool look_posted = false;
};

}  // namespace ddptwin::scenario
