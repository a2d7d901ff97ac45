#include "cluster/scheduler/event_series.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json.hpp>

#include "api/event_recorder.hpp"

namespace ddptwin::scheduler {
namespace {

constexpr std::string_view component = "default-scheduler";

}  // namespace

void EventSeries::event(const Object& regarding, const Words& words, const Object* related) {
  const Time now = loop_.now();
  forget_old();
  const Key key{regarding.metadata.uid, regarding.metadata.resourceVersion,
                std::string(words.reason), words.message};
  if (const auto found = known_.find(key); found != known_.end()) {
    Known& known = found->second;
    by_age_.erase({known.last, &found->first});
    known.last = now;
    by_age_.emplace(now, &found->first);
    if (++known.count != 2) return;
    boost::json::object series{{"count", known.count},
                               {"lastObservedTime", format_rfc3339_micro(now)}};
    return client_.call(api::patch(*known.event, api::PatchType::strategic,
                                   boost::json::object{{"series", std::move(series)}}),
                        [](const Result<api::Response>&) {});
  }
  // Names are made from the time; two of one instant differ all the same.
  last_name_ = std::max(now, last_name_ + Duration(1));
  auto made = std::make_shared<Event>();
  made->involvedObject = api::reference_to(regarding);
  made->metadata.namespace_ =
      regarding.metadata.namespace_.empty() ? "default" : regarding.metadata.namespace_;
  made->metadata.name =
      fmt::format("{}.{:x}", regarding.metadata.name, last_name_.since_epoch().count());
  made->type_ = words.type;
  made->reason = words.reason;
  made->action = words.action;
  made->message = words.message;
  made->eventTime = MicroTime{now};
  made->reportingComponent = component;
  made->reportingInstance = component;
  if (related != nullptr) made->related = api::reference_to(*related);
  const auto added = known_.emplace(key, Known{made, now}).first;
  by_age_.emplace(now, &added->first);
  client_.call(api::create(made), [](const Result<api::Response>&) {});
}

void EventSeries::forget_oldest() {
  const auto oldest = known_.find(*by_age_.begin()->second);
  by_age_.erase(by_age_.begin());
  known_.erase(oldest);
}

void EventSeries::forget_old() {
  while (!by_age_.empty() && loop_.now() - by_age_.begin()->first > series_time) forget_oldest();
  if (known_.size() >= remembered_max) forget_oldest();
}

}  // namespace ddptwin::scheduler
