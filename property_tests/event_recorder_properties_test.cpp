// What becomes of the events that a component tells (spec/kubernetes.md §1.18, spec/pytorchjob.md
// §5.4).
#include <algorithm>
#include <map>
#include <ostream>
#include <set>
#include <tuple>

#include "api/event_recorder.hpp"
#include "bare_store.hpp"
#include "objects/core_v1.hpp"
#include "property.hpp"

namespace ddptwin::property {
namespace {

namespace gen = rc::gen;

// What client-go lets through for one object at once, and how many Events of one reason it makes:
// the tenth is the one that all further messages share.
constexpr std::size_t burst = 25, similar = 10;

struct Tell {
  std::string pod{}, reason{};
  int message = 0;
  int seconds = 0;  // of silence after it
};

void showValue(const Tell& tell, std::ostream& out) {
  out << tell.pod << ": " << tell.reason << " \"" << tell.message << "\", then " << tell.seconds
      << " s";
}

// All of a case within the ten minutes of similar events and the hour that an Event lives.
rc::Gen<std::vector<Tell>> any_tells() {
  const auto tell = gen::build<Tell>(
      gen::set(&Tell::pod, gen::element<std::string>("a", "b")),
      gen::set(&Tell::reason, gen::element<std::string>("Pulled", "BackOff")),
      gen::set(&Tell::message, gen::inRange(0, 20)),
      gen::set(&Tell::seconds, gen::weightedElement<int>({{8, 0}, {1, 1}, {1, 2}})));
  return gen::mapcat(gen::inRange<std::size_t>(0, 100), [tell](std::size_t count) {
    return gen::container<std::vector<Tell>>(count, tell);
  });
}

// One recorder on a store, and what it wrote there.
class Told {
 public:
  // Silent where the pod is another than `only`, which may be empty: time passes all the same.
  Told(const std::vector<Tell>& tells, const std::string& only) {
    base_.trace.add_sink([this](const Record& record) {
      if (record.after == nullptr) return;
      if (const auto* event = as<Event>(*record.after)) ++writes_[event->involvedObject->name];
    });
    for (const Tell& tell : tells) {
      if (only.empty() || tell.pod == only) say(tell);
      base_.rest(std::chrono::seconds(tell.seconds));
    }
    base_.rest(1s);
  }

  // Of the pod's Events all but their names, in an order of their own.
  using Row = std::tuple<std::string, std::string, std::int32_t, Time, Time>;
  std::vector<Row> rows(const std::string& pod) const {
    std::vector<Row> out;
    for (const auto& event : events(pod))
      out.emplace_back(event->reason, event->message, event->count, *event->firstTimestamp,
                       *event->lastTimestamp);
    std::sort(out.begin(), out.end());
    return out;
  }
  std::size_t counted(const std::string& pod) const {
    std::size_t sum = 0;
    for (const auto& event : events(pod)) sum += static_cast<std::size_t>(event->count);
    return sum;
  }
  std::size_t of_reason(const std::string& pod, const std::string& reason) const {
    const auto all = events(pod);
    return static_cast<std::size_t>(std::count_if(
        all.begin(), all.end(), [&](const auto& event) { return event->reason == reason; }));
  }
  std::size_t writes(const std::string& pod) const {
    const auto found = writes_.find(pod);
    return found == writes_.end() ? 0 : found->second;
  }

 private:
  void say(const Tell& tell) {
    Pod pod;
    pod.metadata.name = tell.pod;
    pod.metadata.namespace_ = "default";
    pod.metadata.uid = "uid of " + tell.pod;
    recorder_.event(pod, "Normal", tell.reason, std::to_string(tell.message));
  }
  std::vector<std::shared_ptr<const Event>> events(const std::string& pod) const {
    std::vector<std::shared_ptr<const Event>> out;
    for (const auto& [key, object] : base_.store.objects(Event::info())) {
      auto event = as<Event>(object);
      if (event->involvedObject->name == pod) out.push_back(std::move(event));
    }
    return out;
  }

  BareStore base_{};
  api::EventRecorder recorder_{base_.loop, base_.client, "kubelet", "node-0"};
  std::map<std::string, std::size_t> writes_{};
};

std::size_t told_of(const std::vector<Tell>& tells, const std::string& pod) {
  return static_cast<std::size_t>(
      std::count_if(tells.begin(), tells.end(), [&](const Tell& tell) { return tell.pod == pod; }));
}

TEST(EventRecorderProperties, WhatIsToldOfOnePodIsWrittenAsIfThereWereNoOther) {
  holds([] {
    const auto tells = *any_tells();
    const Told together(tells, {});
    for (const std::string pod : {"a", "b"})
      RC_ASSERT(together.rows(pod) == Told(tells, pod).rows(pod));
  });
}

TEST(EventRecorderProperties, EachIsCountedOnceUntilThereAreTooMany) {
  holds([] {
    const auto tells = *any_tells();
    const Told told(tells, {});
    for (const std::string pod : {"a", "b"}) {
      const std::size_t asked = told_of(tells, pod);
      RC_CLASSIFY(asked > burst, "too many");
      // Within the 300 s in which nothing is added to the burst.
      RC_ASSERT(told.writes(pod) == std::min(asked, burst));
      if (asked <= burst) RC_ASSERT(told.counted(pod) == asked);
    }
  });
}

std::size_t messages_of(const std::vector<Tell>& tells, const std::string& pod,
                        const std::string& reason) {
  std::set<int> messages;
  for (const Tell& tell : tells)
    if (tell.pod == pod && tell.reason == reason) messages.insert(tell.message);
  return messages.size();
}

TEST(EventRecorderProperties, OfOneReasonTenAreMadeHoweverManyMessages) {
  holds([] {
    const auto tells = *any_tells();
    const Told told(tells, {});
    for (const std::string pod : {"a", "b"}) {
      if (told_of(tells, pod) > burst) continue;
      for (const std::string reason : {"Pulled", "BackOff"}) {
        const std::size_t messages = messages_of(tells, pod, reason);
        RC_CLASSIFY(messages > similar, "combined");
        RC_ASSERT(told.of_reason(pod, reason) == std::min(messages, similar));
      }
    }
  });
}

// 25 at once, then one more in five minutes.
TEST(EventRecorderProperties, WhoTellsTooMuchIsHeardOnceInFiveMinutes) {
  holds([] {
    const auto pauses =
        *gen::container<std::vector<int>>(60, gen::element(0, 0, 0, 75, 150)).as("pauses");
    std::vector<Tell> tells;
    double budget = burst;
    std::size_t heard = 0;
    int total = 0;
    for (const int pause : pauses) {
      if (total += pause; total > 3000) break;  // an Event lives for an hour
      tells.push_back({.pod = "a", .reason = "BackOff", .message = 0, .seconds = pause});
      if (budget >= 1) {
        budget -= 1;
        ++heard;
      }
      budget = std::min<double>(burst, budget + pause / 300.0);
    }
    RC_ASSERT(Told(tells, {}).writes("a") == heard);
  });
}

}  // namespace
}  // namespace ddptwin::property
