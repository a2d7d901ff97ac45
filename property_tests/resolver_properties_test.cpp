// Which names a process asks for, and what it takes from the answers (resolv.conf(5);
// spec/kubernetes.md §6.4).
#include <algorithm>
#include <map>
#include <ostream>

#include "cluster/model_runtime/loop_timers.hpp"
#include "cluster/model_runtime/resolver.hpp"
#include "core/virtual_loop.hpp"
#include "core/virtual_start.hpp"
#include "property.hpp"

namespace ddptwin::property {
namespace {

namespace gen = rc::gen;
using model::DnsAnswer;
using model::DnsOutcome;
using Strings = std::vector<std::string>;

struct Asked {
  model::Resolved answer{};
  Strings names{};
};

Asked resolve(const std::string& name, const DnsConfig& config,
              const std::map<std::string, DnsAnswer>& zone) {
  VirtualLoop loop(Random(1), virtual_start);
  model::LoopTimers timers(loop);
  Asked asked;
  const model::Lookup lookup = [&](const model::DnsQuestion& question,
                                   UniqueFunction<void(DnsAnswer)> done) {
    asked.names.push_back(question.name);
    const auto found = zone.find(question.name);
    const DnsAnswer given =
        found == zone.end() ? DnsAnswer{DnsOutcome::nx_domain, {}} : found->second;
    loop.post(Lane{2}, [done = std::move(done), given]() mutable { done(given); });
  };
  model::Resolution resolution({{}, &config, "10.244.0.3"}, lookup, std::chrono::milliseconds(1),
                               timers);
  resolution.start(name, [&](const model::Resolved& answer) { asked.answer = answer; });
  while (loop.step()) {
  }
  return asked;
}

// With as many dots as `ndots` says a name is tried as it is, and then with each domain; with fewer
// the other way round; with a dot at its end alone.
Strings names_to_try(const std::string& name, int dots, int ndots, const Strings& searches) {
  Strings names;
  for (const std::string& domain : searches) names.push_back(name + "." + domain);
  names.insert(dots >= ndots ? names.begin() : names.end(), name);
  return names;
}

TEST(ResolverProperties, TheFirstNameThatHasAnAddressIsTaken) {
  holds([] {
    const int dots = *gen::inRange(0, 7).as("dots"), ndots = *gen::inRange(1, 7).as("ndots");
    const bool absolute = *gen::weightedElement<bool>({{5, false}, {1, true}}).as("absolute");
    Strings searches{"ns.svc.cluster.local", "svc.cluster.local", "cluster.local"};
    searches.resize(*gen::inRange<std::size_t>(0, 4).as("search domains"));
    std::string name = "n";
    for (int i = 0; i < dots; ++i) name += "." + std::to_string(i);
    const Strings wanted = absolute ? Strings{name} : names_to_try(name, dots, ndots, searches);

    std::map<std::string, DnsAnswer> zone;
    for (const std::string& one : wanted) {
      const auto outcome =
          *gen::weightedElement<DnsOutcome>(
               {{3, DnsOutcome::nx_domain}, {1, DnsOutcome::no_data}, {1, DnsOutcome::found}})
               .as(one);
      zone[one] = {outcome, outcome == DnsOutcome::found ? Strings{"10.0.0.7"} : Strings{}};
    }
    const DnsConfig config{{"10.96.0.10"}, searches, {"ndots:" + std::to_string(ndots)}};
    const Asked asked = resolve(absolute ? name + "." : name, config, zone);

    const auto is = [&](DnsOutcome outcome) {
      return [&zone, outcome](const std::string& one) { return zone.at(one).outcome == outcome; };
    };
    const auto first = std::find_if(wanted.begin(), wanted.end(), is(DnsOutcome::found));
    if (first == wanted.end()) {
      RC_ASSERT(asked.names == wanted);
      const bool known = std::any_of(wanted.begin(), wanted.end(), is(DnsOutcome::no_data));
      RC_ASSERT(asked.answer.error ==
                (known ? model::Resolved::no_address : model::Resolved::no_name));
      RC_ASSERT(asked.answer.addresses.empty());
    } else {
      RC_ASSERT(asked.names == Strings(wanted.begin(), std::next(first)));
      RC_ASSERT(asked.answer.error == 0);
      RC_ASSERT(asked.answer.name == *first);
      RC_ASSERT(asked.answer.addresses == Strings{"10.0.0.7"});
    }
  });
}

// A server that fails is asked again, `attempts` times for each name, and then for the next; after
// one that is silent only the name as it is is asked for, as often (resolv.conf(5), glibc).
TEST(ResolverProperties, EachNameIsAskedForAsOftenAsItTakes) {
  holds([] {
    const int attempts = *gen::inRange(1, 4).as("attempts");
    const Strings names{"n.a", "n.b", "n"};
    std::map<std::string, DnsAnswer> zone;
    for (const std::string& name : names) {
      const auto outcome = *gen::element(DnsOutcome::nx_domain, DnsOutcome::failure,
                                         DnsOutcome::lost, DnsOutcome::found)
                                .as(name);
      zone[name] = {outcome, outcome == DnsOutcome::found ? Strings{"10.0.0.7"} : Strings{}};
    }
    Strings wanted;
    bool failed = false, found = false;
    for (std::size_t i = 0; i < names.size() && !found;) {
      const DnsOutcome outcome = zone[names[i]].outcome;
      const bool again = outcome == DnsOutcome::failure || outcome == DnsOutcome::lost;
      wanted.insert(wanted.end(), again ? static_cast<std::size_t>(attempts) : 1, names[i]);
      failed = failed || again;
      found = outcome == DnsOutcome::found;
      const bool last = i + 1 == names.size();
      i = outcome == DnsOutcome::lost && !last ? names.size() - 1 : i + 1;
    }
    const DnsConfig config{
        {"10.96.0.10"}, {"a", "b"}, {"ndots:5", "attempts:" + std::to_string(attempts)}};
    const Asked asked = resolve("n", config, zone);
    RC_ASSERT(asked.names == wanted);
    RC_ASSERT(asked.answer.error == (found    ? 0
                                     : failed ? model::Resolved::try_again
                                              : model::Resolved::no_name));
  });
}

}  // namespace
}  // namespace ddptwin::property
