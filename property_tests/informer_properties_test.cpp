// What an informer holds and tells of, whatever becomes of its watch (spec/kubernetes.md §1.10).
#include <map>
#include <ostream>

#include "api/faulty_client.hpp"
#include "api/informer.hpp"
#include "bare_store.hpp"
#include "objects/core_v1.hpp"
#include "property.hpp"

namespace ddptwin::property::informer_properties_test {
namespace {

// What happens in the cluster, and how long it is quiet after it.
struct Deed {
  enum class Kind : std::uint8_t { put, remove, remake, expire_watches, compact, restart };
  Kind kind = Kind::put;
  std::string name{};
  int value = 0;
  int seconds = 0;
};
constexpr const char* deed_names[] = {"put ",           "remove ",          "remake ",
                                      "expire watches", "forget the past ", "restart "};

void showValue(const Deed& deed, std::ostream& out) {
  out << deed_names[static_cast<int>(deed.kind)] << deed.name << "=" << deed.value << ", then "
      << deed.seconds << " s";
}

rc::Gen<Deed> any_deed() {
  using Kind = Deed::Kind;
  return gen::build<Deed>(
      gen::set(&Deed::kind, gen::weightedElement<Kind>({{6, Kind::put},
                                                        {4, Kind::remove},
                                                        {2, Kind::remake},
                                                        {1, Kind::expire_watches},
                                                        {1, Kind::compact},
                                                        {1, Kind::restart}})),
      gen::set(&Deed::name, gen::element<std::string>("a", "b", "c")),
      gen::set(&Deed::value, gen::element(0, 1, 2)),
      gen::set(&Deed::seconds, gen::element(0, 0, 1, 5)));
}

// What happens to one event on its way.
struct Way {
  enum class Kind : std::uint8_t { free, late, cut };
  Kind kind = Kind::free;
  int seconds = 0;  // of lateness, or of the silence before the stream ends
};
constexpr const char* way_names[] = {"passes", "is late by ", "is cut off, with a silence of "};

void showValue(const Way& way, std::ostream& out) {
  out << way_names[static_cast<int>(way.kind)];
  if (way.kind != Way::Kind::free) out << way.seconds << " s";
}

rc::Gen<Way> any_way() {
  using Kind = Way::Kind;
  return gen::build<Way>(
      gen::set(&Way::kind,
               gen::weightedElement<Kind>({{4, Kind::free}, {2, Kind::late}, {1, Kind::cut}})),
      gen::set(&Way::seconds, gen::element(0, 1, 3, 10)));
}

// Each event has the next way, each list is refused with the next code, or carried out where that
// is 0; when they are used up the rest passes.
class Ways final : public api::FaultPort {
 public:
  Ways(std::vector<Way> ways, std::vector<int> refusals)
      : ways_(std::move(ways)), refusals_(std::move(refusals)) {}

  api::CallVerdict on_call(const api::Caller&, const api::Request& request) override {
    if (request.verb != api::Verb::list || listed_ == refusals_.size()) return {};
    const int code = refusals_[listed_++];
    if (code == 0) return {};
    return {.refuse = api::injected_error(code, "")};
  }
  void on_answer(const api::Caller&, const api::Request& request,
                 const Result<api::Response>& answer) override {
    if (request.verb == api::Verb::list && answer) has_listed_ = true;
  }
  api::EventVerdict on_event(const api::Caller&, const KindInfo&, const api::WatchEvent&) override {
    if (next_ == ways_.size()) return {};
    const Way& way = ways_[next_++];
    const Duration duration = std::chrono::seconds(way.seconds);
    if (way.kind == Way::Kind::late) return {.delay = duration};
    if (way.kind == Way::Kind::cut) return {.cut = duration};
    return {};
  }
  // Since it was asked to forget.
  bool has_listed() const { return has_listed_; }
  void forget() { has_listed_ = false; }

 private:
  std::vector<Way> ways_;
  std::vector<int> refusals_;
  std::size_t next_ = 0, listed_ = 0;
  bool has_listed_ = false;
};

using Versions = std::map<std::string, std::string>;  // resourceVersion by name

class Watched {
 public:
  Watched(std::vector<Way> ways, std::vector<int> refusals)
      : ways_(std::move(ways), std::move(refusals)),
        client_(base_.loop, std::make_shared<StoreClient>(base_.loop, base_.store, "test"),
                {"test", ""}, ways_),
        informer_(base_.loop, client_, {&ConfigMap::info(), "default", {}, {}}) {
    informer_.add_handler(
        [this](const ObjectPtr& before, const ObjectPtr& after) { on_change(before, after); });
    informer_.start();
  }

  void apply(const Deed& deed) {
    using Kind = Deed::Kind;
    if (deed.kind == Kind::expire_watches) base_.store.expire_watches();
    if (deed.kind == Kind::compact) base_.store.compact();
    if (deed.kind == Kind::restart) restart();
    const auto known = base_.store.find<ConfigMap>("default", deed.name);
    if (known && (deed.kind == Kind::remove || deed.kind == Kind::remake))
      RC_ASSERT(base_.store.call(api::remove(*known), "test").has_value());
    if (deed.kind == Kind::put || deed.kind == Kind::remake) put(deed);
    sound_ = sound_ && (ways_.has_listed() || !informer_.synced());
    rest(std::chrono::seconds(deed.seconds));
  }
  void rest(Duration duration) { base_.rest(duration); }

  Versions stored() const {
    Versions out;
    for (const auto& [key, object] : base_.store.objects(ConfigMap::info()))
      out.emplace(object->metadata.name, object->metadata.resourceVersion);
    return out;
  }
  Versions held() const {
    Versions out;
    for (const auto& [key, object] : informer_.objects())
      out.emplace(object->metadata.name, object->metadata.resourceVersion);
    return out;
  }
  const Versions& told() const { return told_; }
  bool synced() const { return informer_.synced(); }
  bool sound() const { return sound_; }

 private:
  // The next process has heard of nothing.
  void restart() {
    told_.clear();
    ways_.forget();
    informer_.restart();
  }
  void put(const Deed& deed) {
    auto object = std::make_shared<ConfigMap>();
    object->metadata.name = deed.name;
    object->metadata.namespace_ = "default";
    object->data = StringMap{{"k", std::to_string(deed.value)}};
    const bool there = base_.store.find<ConfigMap>("default", deed.name) != nullptr;
    RC_ASSERT(
        base_.store.call(there ? api::update(object) : api::create(object), "test").has_value());
  }
  // Whoever keeps books of what it is told has what the informer holds.
  void on_change(const ObjectPtr& before, const ObjectPtr& after) {
    const std::string name = (after ? after : before)->metadata.name.str();
    const auto known = told_.find(name);
    sound_ = sound_ && (before != nullptr) == (known != told_.end());
    if (before && known != told_.end())
      sound_ = sound_ && known->second == before->metadata.resourceVersion;
    if (before && after) sound_ = sound_ && before->metadata.uid == after->metadata.uid;
    if (after)
      told_[name] = after->metadata.resourceVersion;
    else
      told_.erase(name);
  }

  BareStore base_{};
  Ways ways_;
  api::FaultyClient client_;
  api::Informer informer_;
  Versions told_{};
  bool sound_ = true;
};

TEST(InformerProperties, ItHoldsWhatIsStoredWhateverBecomesOfItsWatch) {
  holds([] {
    const auto deeds = *gen::vector_of(any_deed()).as("deeds");
    const auto ways = *gen::vector_of(any_way()).as("ways of the events");
    const auto refusals = *gen::vector_of(gen::element(0, 0, 500, 503)).as("answers to the lists");
    Watched watched(ways, refusals);
    for (const Deed& deed : deeds) watched.apply(deed);
    watched.rest(1h);  // all lateness in a row, and the relist after it
    RC_ASSERT(watched.held() == watched.stored());
    RC_ASSERT(watched.told() == watched.stored());
    RC_ASSERT(watched.synced());
    RC_ASSERT(watched.sound());
  });
}

}  // namespace
}  // namespace ddptwin::property::informer_properties_test
