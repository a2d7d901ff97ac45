// How modelled workers find each other and what they make of a net that fails: the tries of the
// store's client, who dials whom in the mesh, and TCP's own tries (spec/ddp-semantics.md §3.2,
// §3.3, §3.5, §9.2, §9.8).
#include <algorithm>
#include <array>
#include <csignal>
#include <map>
#include <numeric>
#include <ostream>

#include "cluster/model_runtime/network.hpp"
#include "cluster/model_runtime/test_pods.hpp"
#include "core/virtual_loop.hpp"
#include "core/virtual_start.hpp"
#include "property.hpp"

namespace ddptwin::property {
namespace {

namespace gen = rc::gen;
using model::Strings;
using model::TestPods;
using model::TorchProfile;

constexpr int pod_cost = 1;

const TorchProfile* any_torch() {
  return *gen::element(std::string("1.13"), std::string("2.x")).as("PyTorch") == "2.x"
             ? &model::torch_2
             : &model::torch_1;
}

std::uint64_t any_seed() { return *gen::inRange<std::uint64_t>(1, 1'000'000).as("seed"); }

std::string pod_of(int rank) { return "pod-" + std::to_string(rank); }

// --- the net itself ---

// Faults of pairs and of hosts, whoever set them in what order and healed some: packets vanish and
// come late both ways, a reset is of the side that it was set on, and one's own address is fine.
TEST(WorkerNetwork, AFaultIsOfBothWaysOfALinkAndOfAllLinksOfAHost) {
  struct Set {
    int one = 0, other = 0;  // equal: the host
    int fault = 0;           // 0 heals, 1 drop, 2 reset, 3 delay
  };
  holds([] {
    const auto hosts = *gen::inRange(2, 5).as("hosts");
    const auto sets = *gen::container<std::vector<Set>>(gen::build<Set>(
        gen::set(&Set::one, gen::inRange(0, hosts)), gen::set(&Set::other, gen::inRange(0, hosts)),
        gen::set(&Set::fault, gen::inRange(0, 4))));
    VirtualLoop loop(Random(1), virtual_start);
    model::Network network(loop, 1ms, 3s);
    const auto address = [](int host) { return "10.244.0." + std::to_string(host + 2); };
    for (int host = 0; host < hosts; ++host) network.attach(address(host));
    const model::LinkFault faults[] = {
        {}, {.drop = true}, {.reset = true}, {.delay = std::chrono::milliseconds(7)}};
    std::map<std::pair<int, int>, int> naive;  // of an ordered pair; of a host with itself
    for (const Set& set : sets) {
      if (set.one == set.other) {
        network.set_host(address(set.one), faults[set.fault]);
      } else {
        network.set_link(address(set.one), address(set.other), faults[set.fault]);
        if (set.fault == 0) naive.erase({set.other, set.one});
      }
      naive[{set.one, set.other}] = set.fault;
    }
    const auto is = [&naive](int one, int other, int fault) {
      const auto found = naive.find({one, other});
      return found != naive.end() && found->second == fault ? 1 : 0;
    };
    for (int one = 0; one < hosts; ++one)
      for (int other = 0; other < hosts; ++other) {
        const model::LinkFault seen = network.link(address(one), address(other));
        const bool self = one == other;
        const auto any = [&](int fault) {
          return is(one, other, fault) + is(other, one, fault) + is(one, one, fault) +
                 is(other, other, fault);
        };
        RC_ASSERT(seen.drop == (!self && any(1) > 0));
        RC_ASSERT(seen.delay == (self ? Duration{} : any(3) * faults[3].delay));
        RC_ASSERT(seen.reset == (!self && is(one, other, 2) + is(one, one, 2) > 0));
        if (self) continue;
        const auto connects = network.would_connect(address(one), address(other), 80);
        RC_ASSERT(connects == (seen.drop ? model::Connect::timed_out : model::Connect::refused));
      }
  });
}

// --- the store's client ---

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

// SYN after SYN until one is answered, or the patience ends.
Outcome outcome_of(const Search& search, Duration began, Duration patience_ends) {
  using Kind = Hindrance::Kind;
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

bool is_about(Duration one, Duration other) {
  return one - other < unsharp && other - one < unsharp;
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
TEST(WorkerNetwork, TheStoresClientTriesWhenItsVersionDoes) {
  holds(
      [] {
        const TorchProfile* torch = any_torch();
        const int timeout = *gen::element(3, 6, 20, 60, 120, 600).as("timeout in seconds");
        const auto hindrances =
            *gen::resize(4, gen::container<std::vector<Hindrance>>(any_hindrance()))
                 .as("before the master is there");
        const bool comes = *gen::weightedElement<bool>({{3, true}, {1, false}}).as("it comes");
        // A kernel itself gives up after 131 s of SYNs, and the model does not.
        RC_PRE(timeout <= 120 || std::none_of(hindrances.begin(), hindrances.end(), is_cut));
        Search search(torch, any_seed(), hindrances);
        search.play(timeout, comes);
        RC_LOG() << search.told();
        Judge(search, torch == &model::torch_2, std::chrono::seconds(timeout)).judge();
      },
      pod_cost);
}

// --- the mesh ---

// Ranks whose pods were made in any order, so that their addresses are in any order too; some of
// them with a last part of two digits.
std::vector<int> any_order(int world) {
  std::vector<int> order(static_cast<std::size_t>(world));
  std::iota(order.begin(), order.end(), 0);
  for (std::size_t i = order.size(); i > 1; --i)
    std::swap(order[i - 1], order[*gen::resize(rc::kNominalSize, gen::inRange<std::size_t>(0, i))]);
  return order;
}

void make_pods(TestPods& pods, const std::vector<int>& order, int earlier) {
  for (int i = 0; i < earlier; ++i) pods.pod("other-" + std::to_string(i));
  for (const int rank : order) pods.pod(pod_of(rank));
}

bool says(const TestPods& pods, int rank, const std::string& what) {
  return pods.line(pod_of(rank), what) != nullptr;
}

// Of two ranks the one with the larger address dials, as numbers go (§9.5): a link that refuses is
// told to that one, with the address of the other.
TEST(WorkerNetwork, OfTwoRanksTheOneWithTheLargerAddressDials) {
  holds(
      [] {
        const TorchProfile* torch = any_torch();
        const int world = *gen::inRange(3, 6).as("world size");
        const auto order = *gen::exec([&] { return any_order(world); }).as("order of the pods");
        const int earlier = *gen::element(0, 5, 6, 7).as("pods before them");
        // Rank 0 is reached over its store too.
        const int one = *gen::inRange(1, world).as("one");
        const int other =
            *gen::suchThat(gen::inRange(1, world), [&](int r) { return r != one; }).as("other");
        TestPods pods({.torch = torch, .seed = any_seed()});
        make_pods(pods, order, earlier);
        pods.runtime().network().set_link(pods.ip(pod_of(one)), pods.ip(pod_of(other)),
                                          {.reset = true});
        for (int rank = 0; rank < world; ++rank) pods.rank(rank, world, {"--timeout", "1m"});
        pods.run(5s);
        RC_LOG() << pods.all_lines();
        const auto made = [&](int rank) { return std::find(order.begin(), order.end(), rank); };
        const int dials = made(one) > made(other) ? one : other;
        const int listens = dials == one ? other : one;
        RC_ASSERT(says(pods, dials, "Connection refused"));
        RC_ASSERT(says(pods, dials, "[" + pods.ip(pod_of(listens)) + "]"));
        RC_ASSERT(!says(pods, listens, "Connection refused"));
      },
      pod_cost);
}

// Two ranks that cannot reach each other give up five timeouts after the later one has said where
// it is; how long the other had waited for that counts for nothing (§3.2).
TEST(WorkerNetwork, APairHasFiveTimeoutsFromWhenBothAreThere) {
  holds(
      [] {
        const TorchProfile* torch = any_torch();
        const int timeout = *gen::inRange(3, 12).as("timeout in seconds");
        const int later = *gen::inRange(0, timeout - 1).as("one comes so many seconds later");
        const auto order = *gen::exec([] { return any_order(3); }).as("order of the pods");
        const int first = *gen::inRange(1, 3).as("the first");
        TestPods pods({.torch = torch, .seed = any_seed()});
        make_pods(pods, order, 0);
        pods.runtime().network().set_link(pods.ip("pod-1"), pods.ip("pod-2"), {.drop = true});
        const Strings options{"--timeout", std::to_string(timeout) + "s"};
        pods.rank(0, 3, options);
        pods.rank(first, 3, options);
        pods.run(std::chrono::seconds(later));
        const Duration both = pods.now();
        pods.rank(3 - first, 3, options);
        pods.run(2min);
        RC_LOG() << pods.all_lines();
        for (const int rank : {1, 2}) {
          RC_ASSERT(!pods.runs(pod_of(rank)));
          const Duration waited = pods.ended_at(pod_of(rank)) - both;
          RC_ASSERT(waited >= 5 * std::chrono::seconds(timeout));
          RC_ASSERT(waited <= 5 * std::chrono::seconds(timeout) + 1s);
        }
      },
      pod_cost);
}

// Both neighbours of a rank that dies name it by the address of its pod.
TEST(WorkerNetwork, ALostRankIsNamedByItsAddress) {
  holds(
      [] {
        const TorchProfile* torch = any_torch();
        const int world = *gen::inRange(2, 6).as("world size");
        const auto order = *gen::exec([&] { return any_order(world); }).as("order of the pods");
        const int dies = *gen::inRange(0, world).as("rank that dies");
        TestPods pods({.torch = torch, .seed = any_seed()});
        make_pods(pods, order, *gen::element(0, 5, 6, 7).as("pods before them"));
        for (int rank = 0; rank < world; ++rank)
          pods.rank(rank, world, {"--steps", "100000", "--step-time", "100ms"});
        pods.run(5s);
        for (int rank = 0; rank < world; ++rank) RC_ASSERT(says(pods, rank, "step 5/"));
        pods.signal(pod_of(dies), SIGKILL);
        pods.run(5s);
        RC_LOG() << pods.all_lines();
        for (const int offset : {1, world - 1}) {
          const int neighbour = (dies + offset) % world;
          RC_ASSERT(says(pods, neighbour, "closed by peer [" + pods.ip(pod_of(dies)) + "]"));
        }
      },
      pod_cost);
}

// --- a rank that is stopped for a while ---

// Wherever it is stopped: who is continued before anybody's patience ends goes on, and what came
// meanwhile is there. A step that only waited for its time is over then (sim/workers/trainer.cpp).
TEST(WorkerNetwork, AStoppedRankGoesOnWhereItWas) {
  holds(
      [] {
        const TorchProfile* torch = any_torch();
        const int world = *gen::inRange(2, 5).as("world size");
        const int stopped = *gen::inRange(0, world).as("rank that is stopped");
        const bool last_is_late = *gen::arbitrary<bool>().as("before all are there");
        const int after = *gen::inRange(100, 3'000).as("ms until it is stopped");
        const int lasts = *gen::inRange(1, 50).as("seconds that it is stopped");
        const int late = stopped == world - 1 ? 0 : world - 1;
        TestPods pods({.torch = torch, .seed = any_seed()});
        for (int rank = 0; rank < world; ++rank) pods.pod(pod_of(rank));
        const Strings options{"--timeout", "1m", "--steps", "5", "--step-time", "700ms"};
        for (int rank = 0; rank < world; ++rank)
          if (!last_is_late || rank != late) pods.rank(rank, world, options);
        pods.run(std::chrono::milliseconds(after));
        pods.signal(pod_of(stopped), SIGSTOP);
        const Duration since = pods.now();
        if (last_is_late) pods.rank(late, world, options);
        pods.run(std::chrono::seconds(lasts));
        for (const TestPods::Line& line : pods.lines())
          RC_ASSERT(line.pod != pod_of(stopped) || line.at <= since);
        pods.signal(pod_of(stopped), SIGCONT);
        const Duration until = pods.now();
        const bool in_training = says(pods, stopped, "step 1/");
        pods.run(30s);
        RC_LOG() << pods.all_lines();
        for (int rank = 0; rank < world; ++rank) RC_ASSERT(says(pods, rank, "finished rank"));
        // Of the step in which it was stopped it had a sleep left at most, and that has passed.
        if (!in_training) return;
        const auto lines = pods.lines();
        const auto next = std::find_if(lines.begin(), lines.end(), [&](const TestPods::Line& line) {
          return line.pod == pod_of(stopped) && line.at >= until;
        });
        RC_ASSERT(next != lines.end());
        RC_ASSERT(next->at <= until + 50ms);
      },
      pod_cost);
}

// What c10d's store asks first has no timeout (spec/ddp-semantics.md §3.3, §9.2): the kernel of a
// stopped master accepts who comes, and hours later they go on with it, whatever their own
// timeouts.
TEST(WorkerNetwork, WhoComesToAStoppedMasterWaitsUntilItGoesOn) {
  holds(
      [] {
        const TorchProfile* torch = any_torch();
        const auto any = [](int begin, int end) {
          return gen::resize(rc::kNominalSize, gen::inRange(begin, end));
        };
        const int world = *gen::inRange(2, 5).as("world size");
        const int after = *any(2'000, 5'000).as("ms until the master is stopped");
        const int lasts = *any(1, 300).as("seconds that it is stopped");
        const int timeout = *any(5, 60).as("timeout of the others");
        TestPods pods({.torch = torch, .seed = any_seed()});
        for (int rank = 0; rank < world; ++rank) pods.pod(pod_of(rank));
        const auto begin = [&](int rank, const std::string& limit) {
          pods.rank(rank, world, {"--timeout", limit, "--steps", "3", "--step-time", "100ms"});
        };
        begin(0, "100h");
        pods.run(std::chrono::milliseconds(after));
        pods.signal("pod-0", SIGSTOP);
        const Duration until = pods.now() + std::chrono::seconds(lasts);
        // All within what one waits for another, once the master is there for them.
        for (int rank = 1; rank < world; ++rank) {
          begin(rank, std::to_string(timeout) + "s");
          pods.run(std::chrono::milliseconds(*any(0, 300).as("ms until the next")));
        }
        pods.run(std::max(until - pods.now(), Duration::zero()));
        RC_LOG() << pods.all_lines();
        for (int rank = 1; rank < world; ++rank) {
          RC_ASSERT(pods.runs(pod_of(rank)));
          RC_ASSERT(!says(pods, rank, "joined rank"));
        }
        pods.signal("pod-0", SIGCONT);
        pods.run(60s);
        RC_LOG() << pods.all_lines();
        for (int rank = 0; rank < world; ++rank) RC_ASSERT(says(pods, rank, "finished rank"));
      },
      pod_cost);
}

// --- a cut that heals ---

// TCP's tries to send once more, in tenths of a second since the first: 0.2 s, doubled from one to
// the next and never more than two minutes (Linux's TCP_RTO_MIN and TCP_RTO_MAX). After the 15th
// (tcp_retries2) it waits as long once more, and gives up.
std::vector<int> retransmissions() {
  std::vector<int> at{0};
  for (int wait = 2; at.size() <= 15; wait = std::min(2 * wait, 1200))
    at.push_back(at.back() + wait);
  return at;
}
constexpr Duration tcp_gives_up = 924'600ms;

struct Cut {
  int world = 2, one = 0, other = 1;
  int begins = 0;  // ms after the end of a step: its next all-reduce is behind it
  int lasts = 1;   // ms
};

void showValue(const Cut& cut, std::ostream& out) {
  out << "of " << cut.world << " ranks between " << cut.one << " and " << cut.other << ", "
      << cut.begins << " ms after a step, for " << cut.lasts << " ms";
}

Cut any_cut() {
  Cut cut;
  cut.world = *gen::inRange(2, 5);
  cut.one = *gen::inRange(0, cut.world);
  cut.other = (cut.one + *gen::inRange(1, cut.world)) % cut.world;
  cut.begins = *gen::inRange(20, 900);
  cut.lasts = *gen::weightedOneOf<int>({{1, gen::inRange(100, 3'000)},
                                        {1, gen::inRange(100, 100'000)},
                                        {2, gen::inRange(100, 1'000'000)}});
  return cut;
}

constexpr Duration step_time = 1s;

// The ends of a rank's steps.
std::vector<Duration> steps_of(const TestPods& pods, int rank = 0) {
  std::vector<Duration> ends;
  for (const TestPods::Line& line : pods.lines())
    if (line.pod == pod_of(rank) && line.text.starts_with("step ")) ends.push_back(line.at);
  return ends;
}

// A cut of a link of the ring holds up all ranks from their next all-reduce on, and the first try
// after it has healed sets them free; another link is not used (§3.5).
TEST(WorkerNetwork, ACutThatHealsIsFoundByTcpsNextTry) {
  holds(
      [] {
        const TorchProfile* torch = any_torch();
        const Cut cut = *gen::resize(rc::kNominalSize, gen::exec(any_cut)).as("cut");
        TestPods pods({.torch = torch, .seed = any_seed()});
        pods.group(cut.world, {"--steps", "100000", "--step-time", "1s"});
        pods.run(5s);
        pods.run(steps_of(pods).back() + step_time + std::chrono::milliseconds(cut.begins) -
                 pods.now());
        const std::size_t done = steps_of(pods).size();
        const Duration waits_since = steps_of(pods).back() + step_time;
        const auto link = [&](bool drop) {
          pods.runtime().network().set_link(pods.ip(pod_of(cut.one)), pods.ip(pod_of(cut.other)),
                                            {.drop = drop});
        };
        link(true);
        pods.run(std::chrono::milliseconds(cut.lasts));
        link(false);
        const Duration heals = pods.now();
        pods.run(140s);
        const int apart = std::abs(cut.one - cut.other);
        const bool used = apart == 1 || apart == cut.world - 1;
        std::optional<Duration> found = waits_since;  // nothing: by no try
        for (const int tenths : retransmissions()) {
          if (!used || heals <= waits_since) break;
          const Duration tries = waits_since + tenths * 100ms;
          RC_PRE(heals < tries - 5ms || heals > tries + 5ms);
          found = tries > heals ? std::optional(tries) : std::nullopt;
          if (found) break;
        }
        RC_CLASSIFY(!found, "TCP gives up");
        const std::vector<Duration> steps = steps_of(pods);
        RC_LOG() << "waits since " << seconds_of(waits_since) << ", healed at " << seconds_of(heals)
                 << "\n";
        for (const int rank : {cut.one, cut.other})
          RC_LOG() << pods.last_error(pod_of(rank)) << "\n";
        if (!found) {
          RC_ASSERT(steps.size() == done + 1);
          const bool one_says = says(pods, cut.one, "Connection timed out");
          const int loser = one_says ? cut.one : cut.other;
          RC_ASSERT(says(pods, loser, "Connection timed out"));
          const Duration lost = pods.line(pod_of(loser), "Connection timed out")->at - waits_since;
          RC_ASSERT(lost > tcp_gives_up - 50ms && lost < tcp_gives_up + 50ms);
          return;
        }
        RC_ASSERT(steps.size() > done + 1);
        RC_ASSERT(steps[done] < waits_since + 5ms);
        const Duration goes_on = std::max(*found, waits_since + step_time);
        RC_LOG() << "goes on at " << seconds_of(steps[done + 1]) << "\n";
        RC_ASSERT(steps[done + 1] > goes_on - 5ms);
        RC_ASSERT(steps[done + 1] < goes_on + 5ms);
      },
      pod_cost);
}

// --- who ends behind a cut

int any_int(int begin, int end) { return *gen::resize(rc::kNominalSize, gen::inRange(begin, end)); }

// One rank of a training ends, and links of it are cut before or after that; as on a machine that
// loses its power, where nobody says goodbye.
struct Parting {
  int world = 2, dies = 0;
  std::vector<bool> cut{};        // by rank, its link to the one that dies
  int cut_ms = 0, dies_ms = 0;    // after the end of a step
  int timeout = 6;                // seconds
  std::optional<int> heals_ms{};  // after both; nothing: never

  bool stops_the_ring() const {
    return cut[static_cast<std::size_t>((dies + 1) % world)] ||
           cut[static_cast<std::size_t>((dies + world - 1) % world)];
  }
};

void showValue(const Parting& one, std::ostream& out) {
  out << "rank " << one.dies << " of " << one.world << " dies " << one.dies_ms
      << " ms after a step, cut off after " << one.cut_ms << " ms from";
  for (int rank = 0; rank < one.world; ++rank)
    if (one.cut[static_cast<std::size_t>(rank)]) out << " " << rank;
  if (one.heals_ms) out << ", healed " << *one.heals_ms << " ms later";
  out << "; timeout " << one.timeout << " s";
}

Parting any_parting() {
  Parting one;
  one.world = any_int(2, 6);
  one.dies = any_int(0, one.world);
  const bool from_all = *gen::arbitrary<bool>();
  for (int rank = 0; rank < one.world; ++rank)
    one.cut.push_back(rank != one.dies && (from_all || *gen::arbitrary<bool>()));
  one.cut_ms = any_int(20, 900);
  one.dies_ms = *gen::element(one.cut_ms, any_int(20, 900), any_int(20, 3'000));
  // Only a ring that a cut has stopped is still in the same step then.
  if (!one.stops_the_ring()) one.dies_ms = std::min(one.dies_ms, 900);
  one.timeout = *gen::element(any_int(3, 40), any_int(3, 40), 2'000);
  if (*gen::arbitrary<bool>())
    one.heals_ms = *gen::element(any_int(1, 1'000), any_int(1, 60'000), any_int(1, 1'200'000));
  return one;
}

// When the first of those who are left learns of it. They all wait in one all-reduce.
Duration first_loss(const Parting& one, Duration waits_since, Duration dies, Duration heals) {
  const bool silent = one.cut_ms <= one.dies_ms;
  for (const int offset : {1, one.world - 1}) {
    const auto neighbour = static_cast<std::size_t>((one.dies + offset) % one.world);
    if (!silent || !one.cut[neighbour]) return std::max(waits_since, dies);
  }
  const Duration alone =
      waits_since + std::min<Duration>(std::chrono::seconds(one.timeout) + 30ms, tcp_gives_up);
  if (!one.heals_ms) return alone;
  if (heals <= waits_since) return waits_since;
  for (const int tenths : retransmissions()) {
    const Duration tries = waits_since + tenths * 100ms;
    RC_PRE(heals < tries - 5ms || heals > tries + 5ms);
    if (tries > heals) return std::min(alone, tries);
  }
  return alone;
}

// What a kernel says at the end of its process does not pass a link that was cut before (§3.5,
// FM-068): unless the link heals in time, who waits does so until its own timeout, or TCP's.
TEST(WorkerNetwork, WhoEndsBehindACutIsMissedAfterTheTimeout) {
  holds(
      [] {
        const TorchProfile* torch = any_torch();
        const Parting one = *gen::exec(any_parting).as("parting");
        TestPods pods({.torch = torch, .seed = any_seed()});
        pods.group(one.world, {"--steps", "100000", "--step-time", "1s", "--timeout",
                               std::to_string(one.timeout) + "s"});
        pods.run(5s);
        const std::string dying = pod_of(one.dies);
        const auto steps_done = [&] { return steps_of(pods, one.dies == 0 ? 1 : 0); };
        pods.run(steps_done().back() + step_time - pods.now());
        const Duration begin = steps_done().back();
        const Duration waits_since = begin + step_time;
        const auto until = [&](Duration time) {
          if (time > pods.now()) pods.run(time - pods.now());
        };
        const auto link = [&](bool drop) {
          for (int rank = 0; rank < one.world; ++rank)
            if (one.cut[static_cast<std::size_t>(rank)])
              pods.runtime().network().set_link(pods.ip(dying), pods.ip(pod_of(rank)),
                                                {.drop = drop});
        };
        const Duration cut = begin + std::chrono::milliseconds(one.cut_ms);
        const Duration dies = begin + std::chrono::milliseconds(one.dies_ms);
        const bool cut_first = cut <= dies;
        until(std::min(cut, dies));
        cut_first ? link(true) : pods.signal(dying, SIGKILL);
        until(std::max(cut, dies));
        cut_first ? pods.signal(dying, SIGKILL) : link(true);
        const Duration heals = pods.now() + std::chrono::milliseconds(one.heals_ms.value_or(0));
        const Duration wanted = first_loss(one, waits_since, dies, heals);
        if (one.heals_ms) {
          until(heals);
          link(false);
        }
        pods.run(1h);
        RC_LOG() << "waits since " << seconds_of(waits_since) << ", loss at " << seconds_of(wanted)
                 << "\n";
        Duration first = Duration::max(), last = Duration::zero();
        for (int rank = 0; rank < one.world; ++rank) {
          if (rank == one.dies) continue;
          RC_ASSERT(!pods.runs(pod_of(rank)));
          const Duration ended = pods.ended_at(pod_of(rank));
          RC_LOG() << rank << " ended at " << seconds_of(ended) << ": "
                   << pods.last_error(pod_of(rank)) << "\n";
          first = std::min(first, ended);
          last = std::max(last, ended);
        }
        RC_ASSERT(first >= wanted - 5ms);
        RC_ASSERT(first <= wanted + 500ms);  // with the way out of Python
        RC_ASSERT(last <= first + one.world * 200ms);
      },
      pod_cost);
}

// The same of a master for which others wait: who is cut off from it has its own timeout, who is
// not hears of its end at once, and so does whoever can hear again.
TEST(WorkerNetwork, AMastersEndBehindACutIsHeardOfWhenTheLinkHeals) {
  holds(
      [] {
        const TorchProfile* torch = any_torch();
        const auto any = [](int begin, int end) {
          return gen::resize(rc::kNominalSize, gen::inRange(begin, end));
        };
        const int world = *any(3, 7).as("world size, the last of whom never comes");
        const int timeout = *any(5, 60).as("timeout of the others");
        TestPods pods({.torch = torch, .seed = any_seed()});
        for (int rank = 0; rank < world; ++rank) pods.pod(pod_of(rank));
        pods.rank(0, world, {"--timeout", "100h"});
        pods.run(1s);
        std::vector<Duration> began{pods.now()};
        std::vector<bool> cut{false};
        for (int rank = 1; rank + 1 < world; ++rank) {
          began.push_back(pods.now());
          cut.push_back(*gen::arbitrary<bool>().as("cut off: " + std::to_string(rank)));
          pods.rank(rank, world, {"--timeout", std::to_string(timeout) + "s"});
          pods.run(std::chrono::milliseconds(*any(0, 300).as("ms until the next")));
        }
        const auto link = [&](bool drop) {
          for (std::size_t rank = 1; rank < cut.size(); ++rank)
            if (cut[rank])
              pods.runtime().network().set_link(
                  pods.ip("pod-0"), pods.ip(pod_of(static_cast<int>(rank))), {.drop = drop});
        };
        pods.run(std::chrono::milliseconds(*any(200, 1'500).as("ms until the cut")));
        link(true);
        pods.run(std::chrono::milliseconds(*any(0, 1'500).as("ms until the master ends")));
        pods.signal("pod-0", SIGKILL);
        const Duration dies = pods.now();
        pods.run(std::chrono::milliseconds(*any(1, 60'000).as("ms until it heals")));
        const Duration heals = pods.now();
        link(false);
        pods.run(2min);
        RC_LOG() << pods.all_lines();
        for (std::size_t rank = 1; rank < cut.size(); ++rank) {
          const std::string name = pod_of(static_cast<int>(rank));
          RC_ASSERT(!pods.runs(name));
          const Duration own = began[rank] + std::chrono::seconds(timeout);
          RC_PRE(!cut[rank] || heals < own - 1s || heals > own + 1s);
          const Duration wanted = cut[rank] ? std::min(heals, own) : dies;
          RC_LOG() << name << " ended at " << seconds_of(pods.ended_at(name)) << ", "
                   << seconds_of(wanted) << " wanted\n";
          RC_ASSERT(pods.ended_at(name) >= wanted);
          RC_ASSERT(pods.ended_at(name) <= wanted + 500ms);
        }
      },
      pod_cost);
}

// The least number of segments that is a multiple of the ranks, two for each at least, none of
// them over 1 MiB (spec/ddp-semantics.md §2.3).
TEST(WorkerNetwork, ARingsSegmentsAreAMultipleOfItsRanks) {
  holds([] {
    const auto any = [](int end) { return gen::resize(rc::kNominalSize, gen::inRange(1, end)); };
    const int world = *any(40).as("ranks");
    const auto bytes = static_cast<std::uint64_t>(
        *gen::oneOf(any(100'000), any(200'000'000), any(20'000'000)).as("bytes"));
    constexpr std::uint64_t mebi = 1U << 20U;
    auto segments = static_cast<std::uint64_t>(2 * world);
    while (segments * mebi < bytes) segments += static_cast<std::uint64_t>(world);
    std::uint64_t wanted = (bytes + segments - 1) / segments;
    while (wanted % 4 != 0) ++wanted;
    RC_ASSERT(model::ring_segment(bytes, world) == wanted);
  });
}

}  // namespace
}  // namespace ddptwin::property
