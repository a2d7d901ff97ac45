// What becomes of the events that a component tells (spec/kubernetes.md §1.18, spec/pytorchjob.md
// §5.4).
#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <ostream>
#include <set>
#include <tuple>
#include <utility>

#include "api/event_recorder.hpp"
#include "api/faulty_client.hpp"
#include "bare_store.hpp"
#include "objects/core_v1.hpp"
#include "property.hpp"

namespace ddptwin::property::event_recorder_properties_test {
namespace {

// What client-go lets through for one object at once, and how many Events of one reason it makes:
// the tenth is the one that all further messages share.
constexpr std::size_t burst = 25, similar = 10;

struct Tell {
  std::size_t of = 0;  // which of the two objects
  std::string reason{};
  int message = 0;
  int seconds = 0;  // of silence after it
};

void showValue(const Tell& tell, std::ostream& out) {
  out << tell.of << ": " << tell.reason << " \"" << tell.message << "\", then " << tell.seconds
      << " s";
}

// All of a case within the ten minutes of similar events and the hour that an Event lives.
rc::Gen<std::vector<Tell>> any_tells() {
  const auto tell = gen::build<Tell>(
      gen::set(&Tell::of, gen::element<std::size_t>(0, 1)),
      gen::set(&Tell::reason, gen::element<std::string>("Pulled", "BackOff")),
      gen::set(&Tell::message, gen::inRange(0, 20)),
      gen::set(&Tell::seconds, gen::weightedElement<int>({{8, 0}, {1, 1}, {1, 2}})));
  return gen::mapcat(gen::inRange<std::size_t>(0, 100),
                     [tell](std::size_t count) { return gen::vector_of(count, tell); });
}

template <class T>
ObjectPtr object(std::string name, std::string uid, std::string namespace_ = "default") {
  auto made = std::make_shared<T>();
  made->metadata.namespace_ = std::move(namespace_);
  made->metadata.name = std::move(name);
  made->metadata.uid = std::move(uid);
  return made;
}

// Two that have all but one thing in common; the second may be the first made anew.
using Pair = std::array<ObjectPtr, 2>;
Pair any_pair() {
  const std::string differs = *gen::element<std::string>("uid", "name", "namespace", "kind")
                                   .as("in which the objects differ");
  const auto second = [&]() -> ObjectPtr {
    if (differs == "uid") return object<Pod>("a", "2");
    if (differs == "name") return object<Pod>("b", "1");
    if (differs == "namespace") return object<Pod>("a", "1", "kube-system");
    return object<ConfigMap>("a", "1");
  };
  return {object<Pod>("a", "1"), second()};
}

// One recorder on a store, and what it wrote there.
class Told {
 public:
  // Silent about all but `only`, where it is given: time passes all the same.
  Told(const std::vector<Tell>& tells, const Pair& objects, std::optional<std::size_t> only = {})
      : objects_(objects) {
    base_.trace.add_sink([this](const Record& record) {
      const auto* event = record.after ? as<Event>(*record.after) : nullptr;
      for (std::size_t of = 0; event != nullptr && of < objects_.size(); ++of)
        if (is_about(*event, of)) written_[of].emplace_back(event->message, event->count);
    });
    for (const Tell& tell : tells) {
      if (!only || tell.of == *only)
        recorder_.event(*objects_[tell.of], "Normal", tell.reason, std::to_string(tell.message));
      base_.rest(std::chrono::seconds(tell.seconds));
    }
    base_.rest(1s);
  }

  // Of the object's Events all but their names, in an order of their own.
  using Row = std::tuple<std::string, std::string, std::int32_t, Time, Time>;
  std::vector<Row> rows(std::size_t of) const {
    std::vector<Row> out;
    for (const auto& event : events(of))
      out.emplace_back(event->reason, event->message, event->count, *event->firstTimestamp,
                       *event->lastTimestamp);
    std::sort(out.begin(), out.end());
    return out;
  }
  std::size_t counted(std::size_t of) const {
    std::size_t sum = 0;
    for (const auto& event : events(of)) sum += static_cast<std::size_t>(event->count);
    return sum;
  }
  std::size_t of_reason(std::size_t of, const std::string& reason) const {
    const auto all = events(of);
    return static_cast<std::size_t>(std::count_if(
        all.begin(), all.end(), [&](const auto& event) { return event->reason == reason; }));
  }
  // Message and count of each Event in turn, as it was written.
  using Written = std::pair<std::string, std::int32_t>;
  const std::vector<Written>& written(std::size_t of) const { return written_[of]; }

 private:
  bool is_about(const Event& event, std::size_t of) const {
    const ObjectReference& involved = *event.involvedObject;
    const Object& object = *objects_[of];
    return involved.kind == object.kind().kind && involved.name == object.metadata.name &&
           involved.namespace_ == object.metadata.namespace_ && involved.uid == object.metadata.uid;
  }
  std::vector<std::shared_ptr<const Event>> events(std::size_t of) const {
    std::vector<std::shared_ptr<const Event>> out;
    for (const auto& [key, stored] : base_.store.objects(Event::info()))
      if (auto event = as<Event>(stored); is_about(*event, of)) out.push_back(std::move(event));
    return out;
  }

  Pair objects_;
  BareStore base_{};
  api::EventRecorder recorder_{base_.loop, base_.client, "kubelet", "node-0"};
  std::array<std::vector<Written>, 2> written_{};
};

std::size_t told_of(const std::vector<Tell>& tells, std::size_t of) {
  return static_cast<std::size_t>(
      std::count_if(tells.begin(), tells.end(), [&](const Tell& tell) { return tell.of == of; }));
}

TEST(EventRecorderProperties, WhatIsToldOfOneObjectIsWrittenAsIfThereWereNoOther) {
  holds([] {
    const auto tells = *any_tells();
    const Pair objects = any_pair();
    const Told together(tells, objects);
    for (const std::size_t of : {0u, 1u})
      RC_ASSERT(together.rows(of) == Told(tells, objects, of).rows(of));
  });
}

TEST(EventRecorderProperties, EachIsCountedOnceUntilThereAreTooMany) {
  holds([] {
    const auto tells = *any_tells();
    const Told told(tells, any_pair());
    for (const std::size_t of : {0u, 1u}) {
      const std::size_t asked = told_of(tells, of);
      RC_CLASSIFY(asked > burst, "too many");
      // Within the 300 s in which nothing is added to the burst.
      RC_ASSERT(told.written(of).size() == std::min(asked, burst));
      if (asked <= burst) RC_ASSERT(told.counted(of) == asked);
    }
  });
}

std::size_t messages_of(const std::vector<Tell>& tells, std::size_t of, const std::string& reason) {
  std::set<int> messages;
  for (const Tell& tell : tells)
    if (tell.of == of && tell.reason == reason) messages.insert(tell.message);
  return messages.size();
}

TEST(EventRecorderProperties, OfOneReasonTenAreMadeHoweverManyMessages) {
  holds([] {
    const auto tells = *any_tells();
    const Told told(tells, any_pair());
    for (const std::size_t of : {0u, 1u}) {
      if (told_of(tells, of) > burst) continue;
      for (const std::string reason : {"Pulled", "BackOff"}) {
        const std::size_t messages = messages_of(tells, of, reason);
        RC_CLASSIFY(messages > similar, "combined");
        RC_ASSERT(told.of_reason(of, reason) == std::min(messages, similar));
      }
    }
  });
}

// The first nine messages of a reason have Events of their own, however often they come and
// whatever comes between (client-go forgets whichever of ten; here it is the last); all others
// share one. Ten minutes in which nothing is told of the reason, and there are nine again. Each
// Event counts on.
TEST(EventRecorderProperties, TheFirstNineAreCountedByThemselvesUntilTenSilentMinutes) {
  holds([] {
    const auto tell = gen::build<Tell>(
        gen::set(&Tell::reason, gen::just<std::string>("BackOff")),
        gen::set(&Tell::message, gen::resize(rc::kNominalSize, gen::inRange(0, 14))),
        gen::set(&Tell::seconds, gen::weightedElement<int>({{8, 0}, {4, 60}, {2, 590}, {1, 610}})));
    const auto tells =
        *gen::mapcat(gen::inRange<std::size_t>(similar, burst + 1), [tell](std::size_t count) {
           return gen::vector_of(count, tell);
         }).as("tells");
    std::set<int> own;
    std::map<std::string, std::int32_t> times;  // by whose Event it is; "": by all that share one
    std::vector<Told::Written> expected;
    for (const Tell& one : tells) {
      if (own.size() < similar - 1) own.insert(one.message);
      const std::string text = std::to_string(one.message);
      const bool is_own = own.contains(one.message);
      RC_CLASSIFY(!is_own, "combined");
      expected.emplace_back(is_own ? text : "(combined from similar events): " + text,
                            ++times[is_own ? text : ""]);
      if (one.seconds > 600) own.clear();
    }
    RC_ASSERT(Told(tells, any_pair()).written(0) == expected);
  });
}

// An Event goes an hour after its last write; told again it is there again, and has counted on.
TEST(EventRecorderProperties, WhatIsToldAfterItsHourIsThereAgain) {
  holds([] {
    auto pauses =
        *gen::resize(20, gen::vector_of(gen::element(1, 600, 3'500, 3'700, 8'000))).as("pauses");
    pauses.push_back(0);
    std::vector<Tell> tells;
    Time last = virtual_start;
    for (const int pause : pauses) {
      tells.push_back({.reason = "BackOff", .message = 0, .seconds = pause});
      last = last + std::chrono::seconds(pause);
    }
    const auto rows = Told(tells, any_pair()).rows(0);
    RC_ASSERT(rows.size() == 1U);
    RC_ASSERT(std::get<2>(rows[0]) == static_cast<std::int32_t>(tells.size()));
    RC_ASSERT(std::get<4>(rows[0]) == last);
  });
}

// 25 at once, then one more in five minutes.
TEST(EventRecorderProperties, WhoTellsTooMuchIsHeardOnceInFiveMinutes) {
  holds([] {
    const auto pauses = *gen::vector_of(60, gen::element(0, 0, 0, 75, 150)).as("pauses");
    std::vector<Tell> tells;
    double budget = burst;
    std::size_t heard = 0;
    int total = 0;
    for (const int pause : pauses) {
      if (total += pause; total > 3000) break;  // an Event lives for an hour
      tells.push_back({.reason = "BackOff", .message = 0, .seconds = pause});
      if (budget >= 1) {
        budget -= 1;
        ++heard;
      }
      budget = std::min<double>(burst, budget + pause / 300.0);
    }
    RC_ASSERT(Told(tells, any_pair()).written(0).size() == heard);
  });
}

// So many writes of each event are lost, by its reason.
class Losses final : public api::FaultPort {
 public:
  explicit Losses(std::map<std::string, int> left) : left_(std::move(left)) {}

  api::CallVerdict on_call(const api::Caller&, const api::Request& request) override {
    const auto* event = request.object ? as<Event>(*request.object) : nullptr;
    if (event == nullptr || left_[event->reason.str()]-- <= 0) return {};
    return {.refuse = api::injected_lost_connection()};
  }
  void on_answer(const api::Caller&, const api::Request&, const Result<api::Response>&) override {}
  api::EventVerdict on_event(const api::Caller&, const KindInfo&, const api::WatchEvent&) override {
    return {};
  }

 private:
  std::map<std::string, int> left_;
};

// client-go's recordToSink counts the tries of each event by themselves.
TEST(EventRecorderProperties, WhoseWriteIsLostFewerThanTwelveTimesIsThere) {
  holds([] {
    const auto losses = *gen::resize(8, gen::vector_of(gen::weightedElement<int>(
                                            {{3, 0}, {2, 1}, {2, 6}, {2, 11}, {1, 12}, {1, 15}})))
                             .as("of each event's writes so many are lost");
    std::map<std::string, int> left;
    std::set<std::string> wanted, there;
    for (std::size_t i = 0; i < losses.size(); ++i) {
      const std::string reason = "R" + std::to_string(i);
      left[reason] = losses[i];
      if (losses[i] < 12) wanted.insert(reason);
    }
    BareStore base;
    Losses port(left);
    api::FaultyClient client(base.loop,
                             std::make_shared<StoreClient>(base.loop, base.store, "test"),
                             {"kubelet", "node-0"}, port);
    api::EventRecorder recorder(base.loop, client, "kubelet", "node-0");
    for (std::size_t i = 0; i < losses.size(); ++i) {
      recorder.event(*object<Pod>("a", "1"), "Normal", "R" + std::to_string(i), "m");
      base.rest(std::chrono::seconds(*gen::element(0, 15, 130).as("seconds until the next")));
    }
    base.rest(1000s);
    for (const auto& [key, stored] : base.store.objects(Event::info()))
      there.insert(as<Event>(stored)->reason.str());
    RC_ASSERT(there == wanted);
  });
}

}  // namespace
}  // namespace ddptwin::property::event_recorder_properties_test
