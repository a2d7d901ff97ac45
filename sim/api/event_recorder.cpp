#include "api/event_recorder.hpp"

#include <algorithm>
#include <array>
#include <boost/container/small_vector.hpp>
#include <boost/json.hpp>
#include <charconv>
#include <vector>

#include "core/concat.hpp"
#include "core/hash.hpp"
#include "objects/object_reference.hpp"

namespace ddptwin::api {
namespace {

// client-go tools/record: the numbers of its correlator and sink.
constexpr std::size_t max_keys = 4096;
constexpr std::size_t max_similar = 10;
constexpr Duration similar_interval = 600s;
constexpr double spam_burst = 25;
constexpr double spam_refill_per_second = 1.0 / 300;
constexpr std::size_t max_queued = 1000;
constexpr int max_tries = 12;
constexpr Duration retry_delay = 10s;
constexpr std::string_view combined = "(combined from similar events): ";

// A map that forgets the key used least recently once there are more than max_keys. Its values lie
// in one piece of memory, linked by their keys: most recorders know a few. When each was used is
// written into it alone; an order is made once something has to go.
template <class Value>
class Recent {
 public:
  // The key's value, and whether it is a new one, to be filled. Values of other keys may move.
  std::pair<Value&, bool> at(const Fingerprint& key) {
    if (const std::uint32_t known = place_of(key); known != none) {
      items_[known].used = ++uses_;
      return {items_[known].value, false};
    }
    auto place = static_cast<std::uint32_t>(items_.size());
    if (place == max_keys) {
      place = take_oldest();
      take_out_of_chain(place);
      items_[place].value = Value{};
    } else {
      if (place == chains_.size()) grow();
      items_.emplace_back();
    }
    items_[place].key = key;
    items_[place].used = ++uses_;
    put_into_chain(place);
    return {items_[place].value, true};
  }

 private:
  static constexpr std::uint32_t none = 0xffffffff;
  static constexpr std::size_t first_items = 16;
  struct Item {
    Fingerprint key{};
    std::uint64_t used = 0;  // the number of its last use
    Value value{};
    std::uint32_t next = none;  // in its chain
  };
  struct Use {
    std::uint64_t number;
    std::uint32_t place;
  };

  std::uint32_t place_of(const Fingerprint& key) const {
    if (chains_.empty()) return none;
    std::uint32_t at = chains_[chain_of(key)];
    while (at != none && items_[at].key != key) at = items_[at].next;
    return at;
  }
  std::size_t chain_of(const Fingerprint& key) const { return key.low & (chains_.size() - 1); }
  void put_into_chain(std::uint32_t at) {
    std::uint32_t& first = chains_[chain_of(items_[at].key)];
    items_[at].next = first;
    first = at;
  }
  void take_out_of_chain(std::uint32_t at) {
    std::uint32_t* link = &chains_[chain_of(items_[at].key)];
    while (*link != at) link = &items_[*link].next;
    *link = items_[at].next;
  }
  void grow() {
    chains_.assign(std::max(chains_.size() * 2, first_items), none);
    items_.reserve(chains_.size());
    for (std::uint32_t at = 0; at < items_.size(); ++at) put_into_chain(at);
  }

  // What has not been used since the order was made comes before all that has.
  std::uint32_t take_oldest() {
    for (;;) {
      while (!by_use_.empty()) {
        const Use last = by_use_.back();
        by_use_.pop_back();
        if (items_[last.place].used == last.number) return last.place;
      }
      for (std::uint32_t at = 0; at < items_.size(); ++at) by_use_.push_back({items_[at].used, at});
      std::sort(by_use_.begin(), by_use_.end(),
                [](const Use& a, const Use& b) { return a.number > b.number; });
    }
  }

  std::vector<Item> items_{};
  std::uint64_t uses_ = 0;
  // The first item of each chain of those whose keys end alike; a power of two, as many as there is
  // room for items.
  boost::container::small_vector<std::uint32_t, first_items> chains_{};
  std::vector<Use> by_use_{};  // as it was when the last had to go, the oldest last
};

// Texts that differ, by their fingerprints. Most are one.
class Different {
 public:
  void add(const Fingerprint& text) {
    if (first_ == Fingerprint()) first_ = text;
    if (first_ == text) return;
    if (others_ == nullptr) others_ = std::make_unique<std::vector<Fingerprint>>();
    if (std::find(others_->begin(), others_->end(), text) == others_->end())
      others_->push_back(text);
  }
  // Precondition: there are two at least.
  void drop_last() { others_->pop_back(); }
  // Precondition: there is one.
  std::size_t size() const { return others_ == nullptr ? 1 : 1 + others_->size(); }

 private:
  Fingerprint first_{};  // that of no text: none so far
  std::unique_ptr<std::vector<Fingerprint>> others_{};
};

Fingerprint with(Fingerprint print, std::initializer_list<std::string_view> parts) {
  for (const std::string_view part : parts) print.add(part);
  return print;
}

// A write whose answer never came may be tried again; an answer of the API server is final.
bool is_lost(const Error& error) {
  return error.reason == Reason::unknown || error.reason == Reason::io;
}

// What the patch of a repeated event makes of the Event, whose times have been through JSON.
std::shared_ptr<Object> recounted(const Event& stored, const Event& event) {
  auto next = std::make_shared<Event>(stored);
  next->count = event.count;
  next->lastTimestamp = event.lastTimestamp->floor_seconds();
  if (next->firstTimestamp) next->firstTimestamp = next->firstTimestamp->floor_seconds();
  next->message = event.message;
  return next;
}

}  // namespace

EventRecorder::Keys::Keys(const Fingerprint& subject, const Event& e)
    : spam(subject), similar(with(spam, {e.type_, e.reason})) {
  message.add(e.message);
  same = with(similar, {e.involvedObject->fieldPath});
  same.add(message);
}

// EventCorrelator of client-go: aggregate, count, filter, in this order.
class EventRecorder::Correlator {
 public:
  explicit Correlator(bool spam_filter) : spam_filter_(spam_filter) {}

  // The event becomes what is to be written; false: it is dropped. A count above one means that the
  // event of that name exists and is to be patched.
  template <class NewNumber>
  bool correlate(Draft& draft, Time now, const NewNumber& new_number) {
    observe(draft, aggregate(draft, now, new_number));
    return accept(draft.keys.spam, now);
  }

 private:
  struct Similar {
    Different messages{};
    Time last{};
  };
  // What has been written of equal events.
  struct Written {
    OptionalTime first{};
    std::uint64_t number = 0;  // of its name
    std::int32_t count = 0;
  };
  struct Bucket {
    double tokens = spam_burst;
    Time last{};
  };

  template <class NewNumber>
  Fingerprint aggregate(Draft& draft, Time now, const NewNumber& new_number) {
    const Keys& keys = draft.keys;
    const Fingerprint& key = keys.similar;
    const auto [similar, is_new] = similar_.at(key);
    if (!is_new && now - similar.last > similar_interval) similar = Similar{};
    similar.messages.add(keys.message);
    similar.last = now;
    if (similar.messages.size() < max_similar) return keys.same;
    similar.messages.drop_last();  // client-go's PopAny: whichever
    draft.number = new_number();
    Event& event = *draft.event;
    event.message = std::string(combined) + event.message;
    event.firstTimestamp = now;
    event.lastTimestamp = now;
    return key;
  }

  void observe(Draft& draft, const Fingerprint& key) {
    Event& event = *draft.event;
    const auto [written, is_new] = written_.at(key);
    if (is_new) {
      written = {event.firstTimestamp, draft.number, event.count};
      return;
    }
    draft.number = written.number;
    event.firstTimestamp = written.first;
    event.count = ++written.count;
  }

  bool accept(const Fingerprint& key, Time now) {
    if (!spam_filter_) return true;
    const auto [bucket, is_new] = buckets_.at(key);
    if (!is_new) {
      const double refill = seconds_of(now - bucket.last) * spam_refill_per_second;
      bucket.tokens = std::min(spam_burst, bucket.tokens + refill);
    }
    bucket.last = now;
    if (bucket.tokens < 1) return false;
    bucket.tokens -= 1;
    return true;
  }

  bool spam_filter_;
  Recent<Similar> similar_{};
  Recent<Written> written_{};
  Recent<Bucket> buckets_{};
};

// What its Events have in common, the same memory in all of them, and what it remembers of them.
struct EventRecorder::Common {
  Common(const std::string& component_, const std::string& host_, Options options)
      : name_offset(static_cast<std::int64_t>(fnv1a(component_ + "\n" + host_) % 1000)),
        correlator(options.spam_filter) {
    Event::Rest& said = reporter.edit();
    said.source = {component_, host_};
    said.reportingComponent = said.source.component;
    said.reportingInstance = said.source.host;
  }

  Cow<Event::Rest> reporter;
  Duration name_offset;
  Correlator correlator;
};

namespace {

// One to be written anew: a server may have kept the other, and filled it.
std::shared_ptr<const Event> unwritten(const Event& event) {
  auto made = std::make_shared<Event>(event);
  made->metadata = ObjectMeta();
  made->metadata.namespace_ = event.metadata.namespace_;
  made->metadata.name = event.metadata.name;
  return made;
}

// What writes the Event. It is given away: only one whose answer is lost is looked at again.
std::unique_ptr<Asked> creation(const std::shared_ptr<const Event>& event) {
  std::unique_ptr<Asked> asked(new Asked{create(event), {}});
  asked->request.gives_object = true;
  return asked;
}

// What counts it on and is told what it says now.
std::unique_ptr<Asked> repetition(const std::shared_ptr<const Event>& event) {
  std::unique_ptr<Asked> asked(
      new Asked{{.verb = Verb::patch,
                 .patch_type = PatchType::strategic,
                 .target = {&Event::info(), event->metadata.namespace_, event->metadata.name, {}}},
                {}});
  asked->request.body = RawJson::later([event] {
    return Json(boost::json::object{{"count", event->count},
                                    {"lastTimestamp", format_rfc3339(*event->lastTimestamp)},
                                    {"message", event->message}});
  });
  asked->request.patched = [event](const ObjectPtr& stored) {
    return recounted(static_cast<const Event&>(*stored), *event);
  };
  return asked;
}

// Differs only where the versions do.
std::uint32_t version_print(std::string_view resource_version) {
  return static_cast<std::uint32_t>(mix(0, resource_version));
}

// Whether it is what object_reference() made of an object of that kind: all members, so that one
// that is added does not compile until it is compared. The version tells nearly all apart.
bool refers(const ObjectReference& reference, const Object& object, std::string_view at) {
  [[maybe_unused]] const auto& [kind, namespace_, name, uid, api_version, version, field_path] =
      reference;
  const ObjectMeta& meta = object.metadata;
  return version == meta.resourceVersion && uid == meta.uid && field_path == at &&
         name == meta.name && namespace_ == meta.namespace_;
}

}  // namespace

Text event_name(std::string_view object, std::uint64_t number) {
  std::array<char, 16> hex;
  const auto end = std::to_chars(hex.begin(), hex.end(), number, 16).ptr;
  const std::string_view digits(hex.data(), static_cast<std::size_t>(end - hex.data()));
  return Text::of({object, ".", digits});
}

EventRecorder::EventRecorder(Loop& loop, ApiClient& client, std::string component, std::string host,
                             Options options)
    : loop_(loop),
      client_(client),
      component_(std::move(component)),
      host_(std::move(host)),
      options_(options),
      lane_(loop.new_lane()) {}

EventRecorder::~EventRecorder() = default;

void EventRecorder::event(const Object& involved, std::string_view type, std::string_view reason,
                          std::string message, std::string_view field_path) {
  // The versions of nearly all others are different ones, which is seen without a look at what has
  // left the cache.
  const std::uint32_t version = version_print(involved.metadata.resourceVersion);
  for (std::size_t i = 0; i < subjects_.size(); ++i)
    if (versions_[i] == version && subjects_[i].kind == &involved.kind() &&
        refers(*subjects_[i].reference, involved, field_path))
      return tell(subjects_[i], type, reason, std::move(message));
  // Filled where it stays.
  Cow<ObjectReference> reference;
  reference.edit() = object_reference(involved, field_path);
  tell(new_subject(std::move(reference), &involved.kind()), type, reason, std::move(message));
}

void EventRecorder::event(ObjectReference involved, std::string_view type, std::string_view reason,
                          std::string message) {
  for (const Subject& subject : subjects_)
    if (*subject.reference == involved) return tell(subject, type, reason, std::move(message));
  tell(new_subject(std::move(involved), nullptr), type, reason, std::move(message));
}

const EventRecorder::Subject& EventRecorder::new_subject(Cow<ObjectReference>&& reference,
                                                         const KindInfo* kind) {
  const ObjectReference& o = *reference;
  const Fingerprint key = with({}, {o.kind, o.namespace_, o.name, o.uid, o.apiVersion});
  const std::uint32_t place = next_subject_;
  next_subject_ = (place + 1) % max_subjects;
  if (place == subjects_.size()) subjects_.emplace_back();
  versions_[place] = version_print(o.resourceVersion);
  return subjects_[place] = Subject{std::move(reference), kind, key};
}

void EventRecorder::tell(const Subject& subject, std::string_view type, std::string_view reason,
                         std::string&& message) {
  if (queue_.size() >= max_queued) return;
  if (common_ == nullptr) common_ = std::make_shared<Common>(component_, host_, options_);
  auto made = std::make_shared<Event>();
  const Text& space = subject.reference->namespace_;
  made->metadata.namespace_ = space.empty() ? Text("default") : space;
  made->involvedObject = subject.reference;
  made->type_ = type;
  made->reason = reason;
  made->message = std::move(message);
  made->rest = common_->reporter;
  made->firstTimestamp = loop_.now();
  made->lastTimestamp = loop_.now();
  made->count = 1;
  const Keys keys(subject.key, *made);
  Draft draft{std::move(made), keys, next_number(), loop_.context()};
  if (writing_)
    queue_.push_back(std::move(draft));
  else
    correlate(std::move(draft));
}

// The nanoseconds. A real clock never reads the same twice; virtual time stands still, so that
// names of one instant are set apart by hand, and those of two components by their offset.
std::uint64_t EventRecorder::next_number() {
  last_name_ = std::max(loop_.now() + common_->name_offset, last_name_ + Duration(1000));
  return static_cast<std::uint64_t>(last_name_.since_epoch().count());
}

// Precondition: nothing is being written.
void EventRecorder::correlate(Draft&& draft) {
  if (!common_->correlator.correlate(draft, loop_.now(), [this] { return next_number(); })) return;
  writing_ = true;
  tries_ = 0;
  draft.event->metadata.name = event_name(draft.event->involvedObject->name, draft.number);
  const ContextScope of_this_event(loop_, draft.context);
  send(std::move(draft.event));
}

void EventRecorder::send_next() {
  while (!writing_ && !queue_.empty()) {
    Draft next = std::move(queue_.front());
    queue_.pop_front();
    correlate(std::move(next));
  }
}

void EventRecorder::send(std::shared_ptr<const Event> event) {
  auto asked = event->count == 1 ? creation(event) : repetition(event);
  write(std::move(asked), std::move(event));
}

void EventRecorder::write(std::unique_ptr<Asked> asked, std::shared_ptr<const Event> event) {
  const bool is_patch = asked->request.verb == Verb::patch;
  asked->done.emplace([this, is_patch, event = std::move(event),
                       alive = std::weak_ptr(common_)](const Result<Response>& answer) {
    if (!alive.expired()) on_answer(answer, is_patch, event);
  });
  client_.post(std::move(asked));
}

void EventRecorder::on_answer(const Result<Response>& answer, bool was_patch,
                              const std::shared_ptr<const Event>& event) {
  if (answer) return finish();
  // The Event has outlived its hour: make it anew, with the count it had reached.
  if (was_patch && answer.error().reason == Reason::not_found) return write(creation(event), event);
  if (!is_lost(answer.error()) || ++tries_ >= max_tries) return finish();
  retry_ = loop_.after(lane_, retry_delay, [this, event = unwritten(*event)] { send(event); });
}

void EventRecorder::finish() {
  writing_ = false;
  send_next();
}

}  // namespace ddptwin::api
