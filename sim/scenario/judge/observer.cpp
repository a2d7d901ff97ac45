#include "scenario/judge/observer.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <boost/json/value.hpp>
#include <regex>

#include "objects/codec.hpp"
#include "objects/selector.hpp"
#include "scenario/language/claims.hpp"
#include "scenario/systems/status_words.hpp"
#include "scenario/systems/system.hpp"
#include "scenario/systems/workloads.hpp"
#include "scenario/words/names.hpp"

namespace ddptwin::scenario {
namespace {

// Longer lines are searched up to here: std::regex recurses once a character.
constexpr std::size_t searched_length_max = 4096;

// The parser compiled the pattern; searching may still give up on a line, which then does not
// match.
bool matches(const std::regex& expression, const std::string& line) {
  const auto end =
      line.begin() + static_cast<std::ptrdiff_t>(std::min(line.size(), searched_length_max));
  try {
    return std::regex_search(line.begin(), end, expression);
  } catch (const std::regex_error&) {
    return false;
  }
}

bool any_line_matches(const SeenLog& log, const std::string& pattern) {
  SeenLog::Search& search = log.searches[pattern];
  if (search.found || search.next == log.lines.size()) return search.found;
  const std::regex expression(pattern);
  while (!search.found && search.next < log.lines.size())
    search.found = matches(expression, log.lines[search.next++]);
  return search.found;
}

bool text_is(const boost::json::object& condition, std::string_view field, std::string_view text) {
  const auto* value = condition.if_contains(boost::json::string_view(field.data(), field.size()));
  return value != nullptr ? value->is_string() && std::string_view(value->as_string()) == text
                          : text.empty();
}

bool asks_for_logs(const State& state) {
  return std::any_of(state.claims.begin(), state.claims.end(), [](const Claim& claim) {
    return std::holds_alternative<LogClaim>(claim) || std::holds_alternative<StepClaim>(claim);
  });
}

bool asks_for_events(const State& state) {
  return std::any_of(state.claims.begin(), state.claims.end(),
                     [](const Claim& claim) { return std::holds_alternative<EventClaim>(claim); });
}

bool asks_for_watched_phase(const State& state) {
  return status_words(*state.of.kind).watched &&
         std::any_of(state.claims.begin(), state.claims.end(),
                     [](const Claim& claim) { return std::holds_alternative<PhaseClaim>(claim); });
}

bool is_about(const Event& event, const Object& object) {
  const ObjectReference& about = event.involvedObject;
  return about.kind == object.kind().kind && about.name == object.metadata.name &&
         about.namespace_ == object.metadata.namespace_;
}

// Judges one claim about one object.
struct ClaimJudge {
  const Observer& observer;
  const SeenObject& seen;
  std::string_view container;

  const Object& object() const { return *seen.last; }
  const Pod* pod() const { return as<Pod>(object()); }
  template <class Predicate>
  bool any_log(const Predicate& predicate) const {
    const std::string beginning = key_of(object().metadata) + "/";
    const auto& logs = observer.logs();
    for (auto log = logs.lower_bound(beginning);
         log != logs.end() && log->first.starts_with(beginning); ++log) {
      if (!container.empty() && log->first.substr(beginning.size()) != container) continue;
      if (predicate(log->second)) return true;
    }
    return false;
  }

  bool operator()(const PhaseClaim& claim) const {
    if (status_words(object().kind()).watched)
      return observer.watched_state(object()) == claim.phase;
    const Json whole = encode(object());
    const auto* status = whole.as_object().if_contains("status");
    return status != nullptr && status->is_object() &&
           text_is(status->as_object(), "phase", claim.phase);
  }
  bool operator()(const ConditionClaim& claim) const {
    const Json whole = encode(object());
    const auto* condition = find_condition(whole, claim.type);
    if (condition == nullptr) return false;
    return text_is(*condition, "status", claim.status) &&
           (!claim.reason || text_is(*condition, "reason", *claim.reason)) &&
           (!claim.message || text_is(*condition, "message", *claim.message));
  }
  bool operator()(const FinishedClaim&) const { return outcome_of(object()) != Outcome::open; }
  bool operator()(const SucceededClaim&) const { return has_succeeded(object()); }
  bool operator()(const MatchClaim& claim) const {
    return contains_part(encode(object()), *claim.part.get());
  }
  bool operator()(const LogClaim& claim) const {
    return any_log([&](const SeenLog& log) { return any_line_matches(log, claim.pattern); });
  }
  bool operator()(const StepClaim& claim) const {
    return any_log([&](const SeenLog& log) { return log.step >= claim.step; });
  }
  bool operator()(const RestartsClaim& claim) const {
    return pod() != nullptr && claim.restarts.holds(restarts_of(*pod(), container));
  }
  bool operator()(const ExitCodeClaim& claim) const {
    if (pod() == nullptr) return false;
    const auto codes = exit_codes_of(*pod(), container);
    return std::find(codes.begin(), codes.end(), claim.exit_code) != codes.end();
  }
  bool operator()(const ReasonClaim& claim) const {
    if (pod() == nullptr) return false;
    for (const ContainerStatus* status : statuses_of(*pod(), container)) {
      for (const ContainerState* state : {&status->state, &*status->lastState}) {
        if (state->waiting && state->waiting->reason == claim.reason) return true;
        if (state->terminated && state->terminated->reason == claim.reason) return true;
      }
    }
    return false;
  }
  bool operator()(const CreatedClaim& claim) const { return claim.times.holds(seen.created); }
  bool operator()(const EventClaim& claim) const {
    for (const auto& [key, event] : observer.objects(Event::info())) {
      const auto* told = as<Event>(*event.last);
      if (told->reason == claim.reason && is_about(*told, object())) return true;
    }
    return false;
  }
};

// Claims about what once happened look at objects that are gone, too.
bool looks_back(const State& state) {
  return asks_for_logs(state) || asks_for_events(state) ||
         std::any_of(state.claims.begin(), state.claims.end(), [](const Claim& claim) {
           return std::holds_alternative<CreatedClaim>(claim);
         });
}

bool is_selected(const SeenObject& seen, const Selection& of, const LabelMatcher& labels) {
  const ObjectMeta& metadata = seen.last->metadata;
  return (of.namespace_.empty() || metadata.namespace_ == of.namespace_) &&
         (of.name.empty() || metadata.name == of.name) && labels.matches(*metadata.labels);
}

LabelMatcher matcher_of(const Selection& of) {
  auto matcher = LabelMatcher::parse(of.label_selector);
  DDPTWIN_ASSERT(matcher);  // the parser has refused any other
  return std::move(*matcher);
}

std::string pod_summary(const Pod& pod) {
  std::string out = pod.status.phase.empty() ? "no phase yet" : pod.status.phase.str();
  if (const std::int64_t restarts = restarts_of(pod, ""); restarts > 0)
    out += fmt::format(", {} restart{}", restarts, restarts == 1 ? "" : "s");
  for (const ContainerStatus& status : pod.status.containerStatuses) {
    if (status.state.waiting && !status.state.waiting->reason.empty())
      out += fmt::format(", {}", status.state.waiting->reason);
    if (status.state.terminated)
      out += fmt::format(", exit {} {}", status.state.terminated->exitCode,
                         status.state.terminated->reason);
  }
  return out;
}

}  // namespace

std::string summary_of(const Object& object) {
  if (const Pod* pod = as<Pod>(object)) return pod_summary(*pod);
  if (standing_kind(object.kind()) != nullptr) return end_text(object);
  const Json whole = encode(object);
  std::vector<std::string> conditions;
  if (const auto* status = whole.as_object().if_contains("status");
      status != nullptr && status->is_object()) {
    if (const auto* list = status->as_object().if_contains("conditions");
        list != nullptr && list->is_array()) {
      for (const auto& condition : list->as_array()) {
        if (condition.is_object() && text_is(condition.as_object(), "status", "True"))
          conditions.emplace_back(condition.as_object().at("type").as_string());
      }
    }
  }
  return conditions.empty() ? "exists" : fmt::format("{}", fmt::join(conditions, ", "));
}

std::string state_of(const SeenObject& seen) {
  if (seen.gone) return "gone, was " + summary_of(*seen.last);
  // The phase alone does not tell: kubectl says Terminating of it.
  return summary_of(*seen.last) + (seen.last->metadata.deletionTimestamp ? ", terminating" : "");
}

Observer::Observer() {
  for (const System* system : systems())
    if (system->watch != nullptr) watches_.push_back(system->watch());
}

std::string_view Observer::watched_state(const Object& object) const {
  for (const auto& watch : watches_)
    if (const std::string_view state = watch->state_of(object); !state.empty()) return state;
  return {};
}

std::string_view Observer::told_state(const Object& object) const {
  const bool is_seen = std::any_of(watches_.begin(), watches_.end(), [&object](const auto& watch) {
    return watch->has_seen(object);
  });
  return is_seen || status_words(object.kind()).is_expected ? watched_state(object)
                                                            : std::string_view();
}

void Observer::on_record(const Record& record) {
  take(record);
  for (const auto& watch : watches_) watch->on_record(record);
  troubles_.on_record(record);
}

void Observer::take(const Record& record) {
  if (record.kind == RecordKind::log) {
    SeenLog& log = logs_[std::string(record.subject)];
    log.lines.emplace_back(record.text);
    log.record = record.id;
    if (const StepLine found = step_of(record.text); found.step > 0) {
      log.step = found.step;
      log.steps = found.total;
      troubles_.trained(record.subject, record.time);
    }
    ++log_lines_;
    return;
  }
  const bool added = record.kind == RecordKind::object_added;
  const bool removed = record.kind == RecordKind::object_deleted;
  if (!added && !removed && record.kind != RecordKind::object_modified) return;
  const ObjectPtr& object = removed ? record.before : record.after;
  const std::string resource = object->kind().resource();
  SeenObject& seen = objects_[resource][key_of(object->metadata)];
  seen.last = object;
  seen.gone = removed;
  seen.record = record.id;
  if (added) ++seen.created;
  const bool open = outcome_of(*object) == Outcome::open;
  // Trainer takes back that a TrainJob has failed, and runs it again (kubeflow/trainer#3779).
  if (added || open) seen.ended_at.reset();
  if (!seen.ended_at && !open) {
    seen.ended_at = record.time;
    ++ends_;
  }
  if (removed) ++ends_;
  ++changes_[resource];
}

const Observer::Objects& Observer::objects(const KindInfo& kind) const {
  static const Objects none;
  const auto found = objects_.find(kind.resource());
  return found == objects_.end() ? none : found->second;
}

std::vector<ObjectPtr> Observer::select(const Selection& of) const {
  const LabelMatcher labels = matcher_of(of);
  std::vector<ObjectPtr> selected;
  for (const auto& [key, seen] : objects(*of.kind)) {
    if (!seen.gone && is_selected(seen, of, labels)) selected.push_back(seen.last);
  }
  return selected;
}

std::vector<const SeenObject*> Observer::select_ever(const Selection& of) const {
  const LabelMatcher labels = matcher_of(of);
  std::vector<const SeenObject*> selected;
  for (const auto& [key, seen] : objects(*of.kind))
    if (is_selected(seen, of, labels)) selected.push_back(&seen);
  return selected;
}

bool Observer::fulfils(const SeenObject& seen, const State& state) const {
  return std::all_of(state.claims.begin(), state.claims.end(), [&](const Claim& claim) {
    return std::visit(ClaimJudge{*this, seen, state.container}, claim);
  });
}

bool Observer::holds(const State& state) const {
  const LabelMatcher labels = matcher_of(state.of);
  const bool back = looks_back(state);
  std::int64_t count = 0;
  for (const auto& [key, seen] : objects(*state.of.kind)) {
    if ((!seen.gone || back) && is_selected(seen, state.of, labels) && fulfils(seen, state))
      ++count;
  }
  return state.count.holds(count);
}

std::uint64_t Observer::latest(const State& state) const {
  const LabelMatcher labels = matcher_of(state.of);
  const bool watched = asks_for_watched_phase(state);
  std::uint64_t last = 0;
  for (const auto& [key, seen] : objects(*state.of.kind)) {
    if (!is_selected(seen, state.of, labels)) continue;
    last = std::max(last, seen.record);
    const std::string beginning = key + "/";
    if (asks_for_logs(state))
      for (auto log = logs_.lower_bound(beginning);
           log != logs_.end() && log->first.starts_with(beginning); ++log)
        last = std::max(last, log->second.record);
    if (watched)
      for (const auto& watch : watches_) last = std::max(last, watch->latest(*seen.last));
    if (!asks_for_events(state)) continue;
    for (const auto& [name, event] : objects(Event::info()))
      if (is_about(*as<Event>(*event.last), *seen.last)) last = std::max(last, event.record);
  }
  return last;
}

std::uint64_t Observer::stamp(const State& state) const {
  const auto changes = [this](const KindInfo& kind) {
    const auto found = changes_.find(kind.resource());
    return found == changes_.end() ? 0 : found->second;
  };
  // Counters only grow, so their sum changes when one of them does.
  std::uint64_t sum = changes(*state.of.kind);
  for (const Claim& claim : state.claims) {
    if (std::holds_alternative<LogClaim>(claim) || std::holds_alternative<StepClaim>(claim))
      sum += log_lines_;
    if (std::holds_alternative<EventClaim>(claim)) sum += changes(Event::info());
  }
  if (asks_for_watched_phase(state))
    for (const auto& watch : watches_) sum += watch->latest();
  return sum;
}

bool Observer::ever(const Selection& of) const {
  const LabelMatcher labels = matcher_of(of);
  const Objects& all = objects(*of.kind);
  return std::any_of(all.begin(), all.end(),
                     [&](const auto& entry) { return is_selected(entry.second, of, labels); });
}

std::string Observer::describe(const Selection& of) const {
  const LabelMatcher labels = matcher_of(of);
  constexpr std::size_t shown_max = 4;
  std::vector<std::string> parts;
  std::size_t more = 0;
  // What is there counts; of the rest a few tell what it was.
  for (const bool gone : {false, true})
    for (const auto& [key, seen] : objects(*of.kind)) {
      if (seen.gone != gone || !is_selected(seen, of, labels)) continue;
      if (parts.size() == shown_max) {
        ++more;
        continue;
      }
      const std::string_view state = told_state(*seen.last);
      parts.push_back(fmt::format("{}: {}{}{}", short_name(*seen.last), state,
                                  state.empty() ? "" : ", ", state_of(seen)));
    }
  if (parts.empty()) return fmt::format("there never was a {}", of.text());
  return fmt::format("{}{}", fmt::join(parts, "; "),
                     more > 0 ? fmt::format("; {} more", more) : std::string());
}

}  // namespace ddptwin::scenario
