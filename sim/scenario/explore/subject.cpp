#include "scenario/explore/subject.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json.hpp>
#include <filesystem>

#include "scenario/faults/excuses.hpp"
#include "scenario/language/fault_yaml.hpp"
#include "scenario/run/images.hpp"
#include "scenario/systems/status_words.hpp"
#include "scenario/systems/workloads.hpp"

namespace ddptwin::scenario {
namespace {

namespace json = boost::json;
namespace fs = std::filesystem;

constexpr std::string_view api_version = "ddptwin.dev/v1alpha1";

bool is_scenario(const json::value& value) {
  const auto* object = value.if_object();
  const auto* kind = object != nullptr ? object->if_contains("kind") : nullptr;
  return kind != nullptr && kind->is_string() && kind->as_string() == "Scenario";
}

// The member of that name as an object, made where it is missing.
json::object& object_in(json::object& parent, std::string_view name) {
  json::value& member = parent[name];
  if (!member.is_object()) member = json::object();
  return member.as_object();
}
json::array& array_in(json::object& parent, std::string_view name) {
  json::value& member = parent[name];
  if (!member.is_array()) member = json::array();
  return member.as_array();
}

// Paths that a scenario says beside its own file, said from another folder.
class Rebase {
 public:
  Rebase(const std::string& from, const std::string& to)
      : from_(fs::absolute(from.empty() ? "." : from)), to_(fs::absolute(to.empty() ? "." : to)) {}

  void text(json::value* value) const {
    if (value == nullptr || !value->is_string()) return;
    const fs::path path(std::string(value->as_string()));
    if (path.is_absolute()) return;
    *value = (from_ / path).lexically_normal().lexically_relative(to_.lexically_normal()).string();
  }

  void spec(json::object& spec) const {
    if (auto* files = spec.if_contains("manifests"); files != nullptr && files->is_array())
      for (json::value& file : files->as_array()) text(&file);
    for (json::value& step : array_in(spec, "steps")) {
      json::value* apply = step.is_object() ? step.as_object().if_contains("apply") : nullptr;
      text(apply);
      if (apply != nullptr && apply->is_object()) text(apply->as_object().if_contains("file"));
    }
    for (json::value& image : array_in(spec, "images")) {
      if (!image.is_object()) continue;
      for (const char* field : {"dockerfile", "context", "python"})
        text(image.as_object().if_contains(field));
      for (json::value& copy : array_in(image.as_object(), "copy"))
        if (copy.is_object()) text(copy.as_object().if_contains("from"));
    }
  }

 private:
  fs::path from_, to_;
};

void drop_empty(json::object& object, std::initializer_list<std::string_view> names) {
  for (const std::string_view name : names)
    if (const auto* member = object.if_contains(name);
        member != nullptr && ((member->is_array() && member->as_array().empty()) ||
                              (member->is_object() && member->as_object().empty())))
      object.erase(name);
}

constexpr std::string_view end_words = " comes to an end";

// `good`: the state of a set of pods that are restarted for ever, in which they have done what they
// are for; empty: it is a job, which finishes.
json::object finishes(const std::string& job, std::string_view kind, std::string_view good,
                      Duration within) {
  const std::size_t slash = job.find('/');
  json::object state{{"of", json::object{{"kind", kind},
                                         {"namespace", job.substr(0, slash)},
                                         {"name", job.substr(slash + 1)}}}};
  if (good.empty())
    state["finished"] = true;
  else
    state["phase"] = good;
  return {{"name", Subject::end_of(job)},
          {"eventually", std::move(state)},
          {"within", format_go_duration(within)}};
}

// Keeps the run going until nothing is broken any more, whatever the jobs have come to.
json::object watched(Duration until) {
  return {{"name", "watched until the faults are healed"},
          {"always", json::object{{"of", "nodes"}, {"count", json::object{{"atLeast", 0}}}}},
          {"within", format_go_duration(until)}};
}

}  // namespace

Result<Subject> Subject::open(const std::string& file, const ReadFile& read_file) {
  Subject subject;
  const KindRegistry kinds;
  // Read once: whoever parses again, on whatever thread, sees the same.
  const auto texts = std::make_shared<std::map<std::string, std::string, std::less<>>>();
  const ReadFile remember = [&](const std::string& path) -> Result<std::string> {
    if (const auto known = texts->find(path); known != texts->end()) return known->second;
    TRY(std::string read, read_file(path));
    return texts->emplace(path, std::move(read)).first->second;
  };
  TRY(const Scenario parsed, parse_scenario(file, kinds, remember));
  TRY(const std::string text, remember(file));
  TRY(auto documents, parse_yaml(text, file));
  subject.file_ = file;
  subject.name_ = parsed.name;
  subject.folder_ = file.substr(0, file.rfind('/') + 1);
  subject.jobs_ = jobs_of(parsed);
  subject.absent_ = parsed.invariants.without;
  subject.faults_ = parsed.faults;
  subject.texts_ = texts;
  subject.document_ = {{"apiVersion", api_version}, {"kind", "Scenario"}};
  // As a plain file has it, which a written one is no more.
  if (parsed.plain) subject.document_["spec"] = json::object{{"standIns", true}};
  for (YamlDocument& document : documents) {
    if (is_scenario(document.value))
      subject.document_ = std::move(document.value).as_object();
    else
      subject.others_.push_back(std::move(document.value));
  }
  return subject;
}

std::vector<Subject::Job> Subject::jobs_of(const Scenario& scenario) {
  std::vector<Job> found;
  const auto add = [&found](const ObjectPtr& object) {
    const std::string_view good = status_words(object->kind()).good;
    if (job_kind(object->kind()) == nullptr && good.empty()) return;
    Job job{key_of(object->metadata), object->kind().kind, good};
    const bool known = std::any_of(found.begin(), found.end(), [&job](const Job& one) {
      return one.key == job.key && one.kind == job.kind;
    });
    if (!known) found.push_back(std::move(job));
  };
  for (const Manifest& manifest : scenario.manifests) add(manifest.object);
  for (const Step& step : scenario.steps)
    if (const auto* apply = std::get_if<Apply>(&step.action))
      for (const Manifest& manifest : apply->manifests) add(manifest.object);
  return found;
}

std::vector<std::string> Subject::jobs() const {
  std::vector<std::string> keys;
  for (const Job& job : jobs_) keys.push_back(job.key);
  return keys;
}

json::object Subject::spec(const Demand& demand, const FaultPlan& plan, std::uint64_t seed) const {
  json::object spec;
  if (const auto* own = document_.if_contains("spec"); own != nullptr && own->is_object())
    spec = own->as_object();
  json::array expect;
  if (demand.own_expectations) expect = array_in(spec, "expect");
  for (const Job& job : jobs_)
    if (std::find(demand.due.begin(), demand.due.end(), job.key) != demand.due.end())
      expect.push_back(finishes(job.key, job.kind, job.good, demand.heal + demand.within));
  expect.push_back(watched(demand.heal));
  spec["expect"] = std::move(expect);
  spec["timeout"] = format_go_duration(demand.heal + demand.within + std::chrono::minutes(10));
  json::array& modes = (spec["modes"] = json::array{"virtual"}).as_array();
  if (virtual_only(plan) == nullptr && virtual_only(faults()) == nullptr) modes.push_back("real");

  json::object& invariants = object_in(spec, "invariants");
  // A copy: a member that is added or erased moves the others.
  json::array except = array_in(invariants, "except");
  const auto add = [&except](std::string_view name, std::string_view reason) {
    for (const json::value& known : except)
      if (known.at("name").as_string() == json::string_view(name.data(), name.size())) return;
    except.push_back(json::object{{"name", name}, {"reason", reason}});
  };
  // What the scenario wants to see violated need not be, when other things go wrong.
  if (const auto* violated = invariants.if_contains("violated");
      violated != nullptr && violated->is_array()) {
    const json::array wanted = violated->as_array();
    for (const json::value& one : wanted)
      add(std::string_view(one.at("name").as_string()),
          std::string_view(one.at("reason").as_string()));
    invariants.erase("violated");
  }
  if (demand.strict) {
    json::array& also = array_in(invariants, "also");
    also.clear();
    for (const InvariantRow& row : invariant_rows())
      if (row.strict && !absent_.contains(row.system))
        also.push_back(json::string_view(row.name.data(), row.name.size()));
  } else {
    for (const auto& [name, reason] : kept_under(with_own(plan)).off) add(name, reason);
  }
  invariants["except"] = std::move(except);

  json::array& faults = array_in(spec, "faults");
  for (const Fault& fault : plan.faults) faults.push_back(to_json(fault));
  if (plan.heal) spec["heal"] = format_go_duration(*plan.heal);
  spec["seed"] = seed;
  return spec;
}

std::string Subject::text(const Demand& demand, const FaultPlan& plan, std::uint64_t seed,
                          const std::string& comment, const std::string& folder) const {
  json::object document = document_;
  json::object changed = spec(demand, plan, seed);
  Rebase(folder_, folder).spec(changed);
  drop_empty(object_in(changed, "invariants"), {"except", "also"});
  drop_empty(changed, {"steps", "images", "faults", "invariants"});
  for (json::value& image : array_in(changed, "images"))
    if (image.is_object()) drop_empty(image.as_object(), {"copy"});
  drop_empty(changed, {"images"});
  document["spec"] = std::move(changed);
  std::string out;
  std::string_view left = comment;
  while (!left.empty()) {
    const std::size_t end = std::min(left.find('\n'), left.size());
    out += fmt::format("# {}\n", left.substr(0, end));
    left.remove_prefix(std::min(end + 1, left.size()));
  }
  out += block_yaml(document);
  for (const json::value& other : others_) out += "---\n" + block_yaml(other);
  return out;
}

std::size_t Subject::expectations() const {
  const auto* spec = document_.if_contains("spec");
  const auto* expect =
      spec != nullptr && spec->is_object() ? spec->as_object().if_contains("expect") : nullptr;
  return expect != nullptr && expect->is_array() ? expect->as_array().size() : 0;
}

std::string Subject::end_of(const std::string& job) { return job + std::string(end_words); }
bool Subject::is_end(std::string_view expectation) { return expectation.ends_with(end_words); }

Result<Scenario> Subject::own() const {
  const KindRegistry kinds;
  TRY(Scenario one,
      parse_scenario(file_, kinds, [this](const std::string& path) { return remembered(path); }));
  describe_plain_images(one);
  return one;
}

FaultPlan Subject::with_own(const FaultPlan& plan) const {
  FaultPlan both = faults_;
  both.faults.insert(both.faults.end(), plan.faults.begin(), plan.faults.end());
  if (plan.heal) both.heal = plan.heal;
  return both;
}

Result<std::string> Subject::remembered(const std::string& path) const {
  const auto known = texts_->find(path);
  if (known == texts_->end()) return fail(Reason::bad_input, path + ": it was not read before");
  return known->second;
}

Result<Scenario> Subject::scenario(const Demand& demand, const FaultPlan& plan,
                                   std::uint64_t seed) const {
  const std::string made = text(demand, plan, seed, "", folder_);
  const KindRegistry kinds;
  const ReadFile with_this = [this, &made](const std::string& path) -> Result<std::string> {
    return path == file_ ? made : remembered(path);
  };
  TRY(Scenario one, parse_scenario(file_, kinds, with_this));
  describe_plain_images(one);
  return one;
}

}  // namespace ddptwin::scenario
