#include "api/event_series.hpp"

#include <algorithm>
#include <boost/json.hpp>

#include "api/event_recorder.hpp"
#include "objects/object_reference.hpp"

namespace ddptwin::api {

namespace {

const Text& namespace_of(const Object& regarding) {
  static const Text of_others = "default";
  return regarding.metadata.namespace_.empty() ? of_others : regarding.metadata.namespace_;
}

}  // namespace

void EventSeries::event(const Object& regarding, Words words, const Object* related) {
  const Time now = loop_.now();
  forget_old();
  const Age age{now, ++comings_};
  Fingerprint key;
  for (const std::string_view part : {std::string_view(regarding.metadata.uid),
                                      std::string_view(regarding.metadata.resourceVersion),
                                      words.reason, std::string_view(words.message)})
    key.add(part);
  if (const auto found = known_.find(key); found != known_.end()) {
    Known& known = found->second;
    by_age_.erase(known.last);
    known.last = age;
    by_age_.emplace(age, key);
    if (++known.count != 2) return;
    boost::json::object series{{"count", known.count},
                               {"lastObservedTime", format_rfc3339_micro(now)}};
    Request request;
    request.verb = Verb::patch;
    request.target = {&Event::info(),
                      namespace_of(regarding),
                      event_name(regarding.metadata.name, known.number),
                      {}};
    request.patch_type = PatchType::strategic;
    request.body = RawJson(boost::json::object{{"series", std::move(series)}});
    return client_.call(std::move(request), [](const Result<Response>&) {});
  }
  // Names are made from the time; two of one instant differ all the same.
  last_name_ = std::max(now, last_name_ + Duration(1));
  const auto number = static_cast<std::uint64_t>(last_name_.since_epoch().count());
  auto made = std::make_shared<Event>();
  made->involvedObject = object_reference(regarding);
  made->metadata.namespace_ = namespace_of(regarding);
  made->metadata.name = event_name(regarding.metadata.name, number);
  made->type_ = words.type;
  made->reason = words.reason;
  made->message = std::move(words.message);
  Event::Rest& form = made->rest.edit();
  form.eventTime = MicroTime{now};
  form.action = words.action;
  form.reportingComponent = component_;
  form.reportingInstance = component_;
  if (related != nullptr) form.related = object_reference(*related);
  known_.emplace(key, Known{number, age});
  by_age_.emplace(age, key);
  client_.call(create(std::move(made)), [](const Result<Response>&) {});
}

void EventSeries::forget_oldest() {
  known_.erase(by_age_.begin()->second);
  by_age_.erase(by_age_.begin());
}

void EventSeries::forget_old() {
  while (!by_age_.empty() && loop_.now() - by_age_.begin()->first.first > series_time)
    forget_oldest();
  if (known_.size() >= remembered_max) forget_oldest();
}

}  // namespace ddptwin::api
