// What a FaultInjector is made of; injector.cpp and injector_actions.cpp share it.
#pragma once

#include <list>
#include <set>

#include "dns/resolver.hpp"
#include "scenario/faults/injector.hpp"
#include "scenario/faults/node_outage.hpp"
#include "scenario/observer.hpp"

namespace ddptwin::scenario {

struct FaultInjector::Parts {
  // One fault of the plan on its way.
  enum class Stage : std::uint8_t {
    idle,       // the scenario has not begun, or `at` has not come
    expecting,  // `when` is not so yet
    armed,      // its occurrence has not come
    acting,     // triggered, and not yet over
    over,
  };
  struct Active {
    const Fault* fault = nullptr;
    const FaultRow* row = nullptr;
    std::size_t index = 0;
    Stage stage = Stage::idle;
    std::int64_t seen = 0;    // occurrences since it was armed
    ContainerId container{};  // of the start that nth means, until `step` has come
    Timer timer{};            // until `at`, then until the end
    std::unique_ptr<NodeOutage> outage{};
    // Whose network it has changed.
    std::set<std::string, std::less<>> addresses{};
    std::set<std::pair<std::string, std::string>> links{};
  };

  Parts(Loop& l, FaultPlan p);

  // ---- injector.cpp
  void start();
  void look(Active& one);
  void arm(Active& one);
  bool fits(const Active& one, const api::Caller& caller, const api::Request& request) const;
  bool fits(const Active& one, const api::Caller& caller, const KindInfo& kind,
            const api::WatchEvent& event) const;
  bool hits(Active& one);
  void on_record(const Record& record);
  void on_start(const RunningContainer& container);
  void on_line(const RunningContainer& container, const std::string& line, bool recorded);
  bool is_meant(const Active& one, const RunningContainer& container) const;
  dns::Verdict on_question(const dns::Query& query);
  void count(const api::Caller& caller, const api::Request& request);
  void heal();
  void check_healed();
  // No longer than until all faults are healed.
  Duration bounded(Duration lasts) const;
  void write(std::string subject, std::string text);
  void record(Active& one, std::string subject);

  // ---- injector_actions.cpp
  bool begins_at_once(const Active& one) const;
  void trigger(Active& one);  // of a fault that takes something away for a while
  void begin(Active& one);
  void end(Active& one);
  void finish(Active& one);
  void strike(Active& one, const RunningContainer& container);
  bool strike_running(Active& one);
  void cut_off(Active& one, const std::vector<std::string>& addresses);
  void begin_link(Active& one);
  void end_link(Active& one);
  std::vector<std::string> addresses_of(std::string_view pod) const;
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
  Census census{};
  std::vector<std::int64_t> acted{};
  Time started{};
  Timer heal_timer{};
  bool running = false;
  bool healed = false;
  bool look_posted = false;
};

}  // namespace ddptwin::scenario
