// How modelled workers find each other: the net between them, who dials whom in the mesh, and what
// becomes of those who are stopped for a while (spec/ddp-semantics.md §3.2, §3.3, §9.2, §9.5). The
// store's client and links that are cut have files of their own.
#include <algorithm>
#include <csignal>
#include <map>
#include <numeric>

#include "core/virtual_loop.hpp"
#include "core/virtual_start.hpp"
#include "property.hpp"
#include "runtime/model/network.hpp"
#include "worker_pods.hpp"

namespace ddptwin::property::worker_network_properties_test {
namespace {

using model::Strings;
using model::TestPods;
using model::TorchProfile;

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
    const auto sets = *gen::vector_of(gen::build<Set>(gen::set(&Set::one, gen::inRange(0, hosts)),
                                                      gen::set(&Set::other, gen::inRange(0, hosts)),
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
        TestPods pods({.torch = torch, .seed = any_worker_seed()});
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
      worker_pods_cost);
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
        TestPods pods({.torch = torch, .seed = any_worker_seed()});
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
      worker_pods_cost);
}

// The neighbours of a rank that dies name it by the address of its pod. What it had not read makes
// its kernel reset the connection: gradients of more than 64 KiB, in a step that it waited in for
// somebody else (spec/ddp-semantics.md §3.1).
TEST(WorkerNetwork, ALostRankIsNamedByItsAddress) {
  holds(
      [] {
        const TorchProfile* torch = any_torch();
        const int world = *gen::inRange(2, 6).as("world size");
        const auto order = *gen::exec([&] { return any_order(world); }).as("order of the pods");
        const int dies = *gen::inRange(0, world).as("rank that dies");
        const bool large = *gen::arbitrary<bool>().as("its gradients are large");
        const bool waits = world > 2 && *gen::arbitrary<bool>().as("it waits for another");
        const bool computes = !waits && *gen::arbitrary<bool>().as("it has just begun a step");
        const int stopped = waits ? (dies + *gen::inRange(1, world).as("the other")) % world : -1;
        TestPods pods({.torch = torch, .seed = any_worker_seed()});
        make_pods(pods, order, *gen::element(0, 5, 6, 7).as("pods before them"));
        for (int rank = 0; rank < world; ++rank)
          pods.rank(
              rank, world,
              {"--steps", "100000", "--step-time", "100ms", "--hidden", large ? "256" : "64"});
        pods.run(5s);
        for (int rank = 0; rank < world; ++rank) RC_ASSERT(says(pods, rank, "step 5/"));
        if (waits) {
          pods.signal(pod_of(stopped), SIGSTOP);
          pods.run(1s);
        } else if (computes) {
          pods.until_line(pod_of(dies), "step 60/");
          pods.run(std::chrono::microseconds(*gen::inRange(0, 150).as("us of its step")));
        }
        pods.signal(pod_of(dies), SIGKILL);
        pods.run(5s);
        RC_LOG() << pods.all_lines();
        const std::string address = "[" + pods.ip(pod_of(dies)) + "]";
        for (const int offset : {1, world - 1}) {
          const int neighbour = (dies + offset) % world;
          if (neighbour == stopped) continue;
          // Whose transfer is with the stopped rank waits for that, whoever else ends (measured).
          if (waits && !says(pods, neighbour, address)) continue;
          RC_ASSERT(says(pods, neighbour, address));
          RC_ASSERT(says(pods, neighbour, "reset by peer") == (large && waits));
          RC_ASSERT(says(pods, neighbour, "closed by peer " + address) != (large && waits));
        }
      },
      worker_pods_cost);
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
        TestPods pods({.torch = torch, .seed = any_worker_seed()});
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
      worker_pods_cost);
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
        TestPods pods({.torch = torch, .seed = any_worker_seed()});
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
      worker_pods_cost);
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
}  // namespace ddptwin::property::worker_network_properties_test
