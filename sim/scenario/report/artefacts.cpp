#include "scenario/report/artefacts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>
#include <filesystem>

#include "objects/codec.hpp"

namespace ddptwin::scenario {
namespace {

namespace json = boost::json;

json::object name_object(const Object& object) {
  json::object name{{"apiVersion", object.kind().api_version()},
                    {"kind", object.kind().kind},
                    {"name", object.metadata.name.view()}};
  if (!object.metadata.namespace_.empty()) name["namespace"] = object.metadata.namespace_.view();
  if (!object.metadata.uid.empty()) name["uid"] = object.metadata.uid.view();
  return name;
}

json::array changes_of(const Object& before, const Object& after) {
  json::array changes;
  for (Difference& difference : diff(before, after)) {
    changes.push_back(json::object{{"path", difference.path},
                                   {"before", std::move(difference.before)},
                                   {"after", std::move(difference.after)}});
  }
  return changes;
}

tl::unexpected<Error> cannot_write(const std::string& path) {
  return fail(Reason::io, path + ": cannot be written");
}

Status write_file(const std::string& path, std::string_view text) {
  std::ofstream stream(path, std::ios::binary);
  stream << text;
  stream.flush();
  if (!stream) return cannot_write(path);
  return {};
}

}  // namespace

json::value to_json(const Record& record) {
  json::object object{{"id", record.id},
                      {"time", format_rfc3339_micro(record.time)},
                      {"kind", to_string(record.kind)}};
  if (record.cause > 0) object["cause"] = record.cause;
  if (!record.actor.empty()) object["actor"] = record.actor;
  if (!record.rule.empty()) object["rule"] = record.rule;
  if (!record.subject.empty()) object["subject"] = std::string_view(record.subject);
  if (!record.text.empty()) object["text"] = std::string_view(record.text);
  for (const auto& [name, value] : record.values) object[name] = value;
  if (record.after != nullptr || record.before != nullptr)
    object["about"] = name_object(record.after ? *record.after : *record.before);
  if (record.kind == RecordKind::object_added) object["object"] = encode(*record.after);
  if (record.kind == RecordKind::object_modified)
    object["changes"] = changes_of(*record.before, *record.after);
  return object;
}

Result<std::unique_ptr<Artefacts>> Artefacts::open(const std::string& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder + "/logs", error);
  if (error) return fail(Reason::bad_input, fmt::format("{}: {}", folder, error.message()));
  std::unique_ptr<Artefacts> artefacts(new Artefacts(folder));
  artefacts->trace_.open(folder + "/trace.jsonl", std::ios::binary);
  if (!artefacts->trace_) return cannot_write(folder + "/trace.jsonl");
  return artefacts;
}

void Artefacts::on_record(const Record& record) {
  trace_ << json::serialize(to_json(record)) << '\n';
}

Status Artefacts::finish(const Observer& observer, const RunResult& result) {
  trace_.flush();
  if (!trace_) return cannot_write(folder_ + "/trace.jsonl");
  for (const auto& [subject, log] : observer.logs()) {
    std::string name = subject;
    std::replace(name.begin(), name.end(), '/', '_');
    std::string text;
    for (const std::string& line : log.lines) text += line + "\n";
    TRY_VOID(write_file(fmt::format("{}/logs/{}.log", folder_, name), text));
  }
  return write_file(folder_ + "/result.json", json::serialize(to_json(result)) + "\n");
}

}  // namespace ddptwin::scenario
