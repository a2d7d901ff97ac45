// When and how often the client of a worker's store tries to reach it (spec/ddp-semantics.md §3.3,
// §9.2, §9.8).
#include <algorithm>
#include <array>
#include <ostream>

#include "property.hpp"
#include "worker_pods.hpp"

namespace ddptwin::property::store_client_properties_test {
namespace {

using model::Strings;
using model::TestPods;
using model::TorchProfile;

// What stands between a client and its master, and how long.
struct Hindrance {
  enum class Kind : std::uint8_t { unnamed, refused, cut, nobody };
  Kind kind = Kind::refused;
  int tenths = 1;  // of a second
};
constexpr const char* hindrance_names[] = {"its name does not exist", "it does not listen",
                                           "nothing arrives", "its name is that of nobody"};

void showValue(const Hindrance& one, std::ostream& out) {
  out << hindrance_names[static_cast<int>(one.kind)] << " for " << one.tenths << " tenths";
}

rc::Gen<Hindrance> any_hindrance() {
  using Kind = Hindrance::Kind;
  const auto long_or_short =
      gen::resize(rc::kNominalSize,
                  gen::weightedOneOf<int>({{2, gen::inRange(1, 60)}, {1, gen::inRange(60, 900)}}));
  return gen::build<Hindrance>(
      gen::set(&Hindrance::kind,
               gen::weightedElement<Kind>(
                   {{3, Kind::unnamed}, {3, Kind::refused}, {2, Kind::cut}, {1, Kind::nobody}})),
      gen::set(&Hindrance::tenths, long_or_short));
}

bool is_cut(const Hindrance& one) { return one.kind == Hindrance::Kind::cut; }

constexpr Duration unsharp = 20ms;  // what starts, names and answers take together
constexpr Duration nobody_there = 6140ms;
constexpr std::array<int, 11> syns{0, 1, 2, 3, 4, 5, 7, 11, 19, 35, 67};  // seconds, Linux 6.5

// A worker that looks for its master, and what is seen of it.
class Search {
 public:
  Search(const TorchProfile* torch, std::uint64_t seed, const std::vector<Hindrance>& hindrances)
      : pods_({.torch = torch, .seed = seed}), hindrances_(hindrances) {
    pods_.pod("pod-0");
    pods_.pod("pod-1");
    master_ip_ = pods_.ip("pod-0");
  }

  void play(int timeout_s, bool comes) {
    pods_.rank(1, 2, {"--timeout", std::to_string(timeout_s) + "s", "--eager-connect", "0"});
    begin_ = pods_.now();
    for (const Hindrance& one : hindrances_) {
      hinder(one.kind);
      run_until(pods_.now() + one.tenths * 100ms + 50ms);
      changes_.push_back(pods_.now());
    }
    hinder(Hindrance::Kind::refused);
    if (comes) pods_.rank(0, 2, {"--timeout", "100h"});
    comes_ = comes;
    run_until(pods_.now() + 1h);
  }

  // How it is at that time; nothing: the master listens.
  std::optional<Hindrance::Kind> at(Duration time) const {
    for (const Duration change : changes_)
      if (time > change - unsharp && time < change + unsharp) RC_DISCARD("on the edge");
    for (std::size_t i = 0; i < changes_.size(); ++i)
      if (time < changes_[i]) return hindrances_[i].kind;
    if (comes_) return std::nullopt;
    return Hindrance::Kind::refused;
  }
  const std::vector<Duration>& tries() const { return tries_; }
  // When it said that it has looked for as long as its timeout says.
  std::vector<Duration> timeouts() const {
    std::vector<Duration> found;
    for (const TestPods::Line& line : lines())
      if (line.text.starts_with("[E socket.cpp")) found.push_back(line.at);
    return found;
  }
  std::optional<Duration> joined() const {
    const TestPods::Line* line = pods_.line("pod-1", "joined rank 1");
    return line == nullptr ? std::nullopt : std::optional(line->at);
  }
  std::optional<Duration> ended() const {
    if (pods_.runs("pod-1")) return std::nullopt;
    return pods_.ended_at("pod-1");
  }
  std::string told() const {
    std::string text;
    for (const Duration one : tries_) text += "try " + std::to_string(seconds_of(one)) + "\n";
    return text + pods_.all_lines();
  }

 private:
  std::vector<TestPods::Line> lines() const { return pods_.lines(); }

  void hinder(Hindrance::Kind kind) {
    auto& addresses = pods_.addresses();
    const std::string name = "pod-0.default.svc.cluster.local";
    addresses[name] = kind == Hindrance::Kind::nobody ? "10.244.9.9" : master_ip_;
    if (kind == Hindrance::Kind::unnamed) addresses.erase(name);
    pods_.runtime().network().set_link(master_ip_, pods_.ip("pod-1"),
                                       {.drop = kind == Hindrance::Kind::cut});
  }

  // A try begins with a question, and asks up to three names one after another.
  void run_until(Duration end) {
    VirtualLoop& loop = pods_.loop();
    const Time until = loop.now() + (end - pods_.now());
    for (;;) {
      const auto next = loop.next_timer();
      if (loop.idle() && (!next || *next > until)) break;
      loop.step();
      if (pods_.questions() == questions_) continue;
      questions_ = pods_.questions();
      if (tries_.empty() || pods_.now() - asked_ > 100ms) tries_.push_back(pods_.now());
      asked_ = pods_.now();
    }
    loop.run_until(until);
  }

  TestPods pods_;
  std::vector<Hindrance> hindrances_;
  std::vector<Duration> changes_{};  // when each of them ended
  bool comes_ = false;
  std::string master_ip_{};
  Duration begin_{}, asked_{};
  int questions_ = 0;
  std::vector<Duration> tries_{};
};

// What becomes of one try, and when.
struct Outcome {
  enum class Kind : std::uint8_t { accepted, refused, no_host, timed_out };
  Kind kind = Kind::refused;
  Duration at{};
};

constexpr const char* outcome_names[] = {"accepted", "refused", "finds nobody", "unanswered"};

bool is_about(Duration one, Duration other) {
  return one - other < unsharp && other - one < unsharp;
}

// SYN after SYN until one is answered, or the patience ends.
Outcome outcome_of(const Search& search, Duration began, Duration patience_ends) {
  using Kind = Hindrance::Kind;
  RC_PRE(!is_about(began, patience_ends));  // nobody can say which comes first
  const auto first = search.at(began);
  if (first == Kind::unnamed) return {Outcome::Kind::refused, began};
  if (first == Kind::nobody && began + nobody_there < patience_ends)
    return {Outcome::Kind::no_host, began + nobody_there};
  if (first == Kind::nobody) return {Outcome::Kind::timed_out, patience_ends};
  for (const int second : syns) {
    const Duration now = began + std::chrono::seconds(second);
    RC_PRE(now < patience_ends - unsharp || now > patience_ends - 1ms);
    if (now > patience_ends - unsharp) break;  // the patience began with the question for the name
    const auto found = search.at(now);
    if (!found) return {Outcome::Kind::accepted, now};
    if (found != Kind::cut) return {Outcome::Kind::refused, now};
  }
  return {Outcome::Kind::timed_out, patience_ends};
}

// Walks along the tries of one client, and asks of each whether it comes when it has to.
class Judge {
 public:
  Judge(const Search& search, bool backs_off, Duration timeout)
      : search_(search), backs_off_(backs_off), timeout_(timeout) {}

  void judge() {
    RC_ASSERT(!search_.tries().empty());
    loop_since_ = search_.tries().front();
    while (next_ < search_.tries().size() && !over_) judge_try();
    RC_ASSERT(over_);
    RC_ASSERT(next_ == search_.tries().size());
  }

 private:
  void judge_try() {
    const Duration began = search_.tries()[next_++];
    const Outcome outcome = outcome_of(search_, began, loop_since_ + timeout_);
    RC_LOG() << "try at " << seconds_of(began) << " "
             << outcome_names[static_cast<int>(outcome.kind)] << " at " << seconds_of(outcome.at)
             << "\n";
    switch (outcome.kind) {
      case Outcome::Kind::accepted:
        over_ = true;
        RC_ASSERT(search_.joined().has_value());
        RC_ASSERT(*search_.joined() >= outcome.at);
        RC_ASSERT(*search_.joined() < outcome.at + 200ms);
        return;
      case Outcome::Kind::refused:
        return refused(outcome.at);
      case Outcome::Kind::no_host:
        return loop_over(outcome.at);
      case Outcome::Kind::timed_out:  // no loop ends before the first one's time
        return gives_up(outcome.at);
    }
  }

  // Another try after a sleep, unless that would end too late for this loop.
  void refused(Duration at) {
    const auto says = search_.timeouts();
    if (std::none_of(says.begin(), says.end(), [&](Duration one) { return is_about(one, at); })) {
      waits(at);
      RC_ASSERT(search_.tries()[next_] - loop_since_ < timeout_ + unsharp);
      return;
    }
    RC_ASSERT(at - loop_since_ + longest() + unsharp >= timeout_);
    ++sleeps_;  // what it drew
    loop_over(at);
  }

  // 2.x begins another as long as its timeout is not over since it began.
  void loop_over(Duration at) {
    const Duration end = search_.tries().front() + timeout_;
    RC_PRE(!is_about(at, end));  // nobody can say which was first
    if (!backs_off_ || at > end) return gives_up(at);
    waits(at);
    loop_since_ = search_.tries()[next_];
  }

  void gives_up(Duration at) {
    over_ = true;
    RC_ASSERT(!search_.joined());
    RC_ASSERT(search_.ended().has_value());
    RC_ASSERT(is_about(*search_.ended(), at));
  }

  void waits(Duration since) {
    RC_ASSERT(next_ < search_.tries().size());
    const Duration slept = search_.tries()[next_] - since;
    RC_ASSERT(slept > shortest() - unsharp);
    RC_ASSERT(slept < longest() + unsharp);
    ++sleeps_;
  }

  // A second, or half to one and a half of 0.5 s times 1.5 for each before it, 60 s at most.
  Duration mean() const {
    if (!backs_off_) return 1s;
    Duration mean = 500ms;
    for (int i = 0; i < sleeps_; ++i) mean = std::min<Duration>(mean * 3 / 2, 60s);
    return mean;
  }
  Duration shortest() const { return backs_off_ ? mean() / 2 : mean(); }
  Duration longest() const { return backs_off_ ? mean() * 3 / 2 : mean(); }

  const Search& search_;
  bool backs_off_;
  Duration timeout_;
  std::size_t next_ = 0;
  int sleeps_ = 0;  // drawn
  Duration loop_since_{};
  bool over_ = false;
};

// Tries go on until the timeout is over, each second or ever more seldom, and in 2.x in one loop
// after another; one try that nobody answers takes what is left of its loop (FM-086).
TEST(StoreClientProperties, TheStoresClientTriesWhenItsVersionDoes) {
  holds(
      [] {
        const TorchProfile* torch = any_torch();
        const int timeout = *gen::element(3, 6, 20, 60, 120, 600).as("timeout in seconds");
        const auto hindrances =
            *gen::resize(4, gen::vector_of(any_hindrance())).as("before the master is there");
        const bool comes = *gen::weightedElement<bool>({{3, true}, {1, false}}).as("it comes");
        // A kernel itself gives up after 131 s of SYNs, and the model does not.
        RC_PRE(timeout <= 120 || std::none_of(hindrances.begin(), hindrances.end(), is_cut));
        Search search(torch, any_worker_seed(), hindrances);
        search.play(timeout, comes);
        RC_LOG() << search.told();
        Judge(search, torch == &model::torch_2, std::chrono::seconds(timeout)).judge();
      },
      worker_pods_cost);
}

}  // namespace
}  // namespace ddptwin::property::store_client_properties_test
