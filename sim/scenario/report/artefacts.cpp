#include "scenario/report/artefacts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>

#include "core/hash.hpp"
#include "objects/codec.hpp"
#include "scenario/report/object_yaml.hpp"
#include "scenario/words/names.hpp"

namespace ddptwin::scenario {
namespace {

namespace json = boost::json;

// Where lines are not written at once: after so many records, or bytes of the trace.
constexpr std::uint64_t kept_records_max = 4096;
constexpr std::size_t kept_bytes_max = 64 * 1024;
// Of a run that is written at once, how old the files of objects are at most.
constexpr Duration objects_period = std::chrono::seconds(1);

json::object name_object(const Object& object) {
  json::object name{{"apiVersion", object.kind().api_version()},
                    {"kind", object.kind().kind},
                    {"name", object.metadata.name.view()}};
  if (!object.metadata.namespace_.empty()) name["namespace"] = object.metadata.namespace_.view();
  if (!object.metadata.uid.empty()) name["uid"] = object.metadata.uid.view();
  return name;
}

json::array changes_of(const Record& record, SecretMask& mask) {
  json::array changes;
  for (Difference& difference : mask.changes(*record.before, *record.after)) {
    changes.push_back(json::object{{"path", difference.path},
                                   {"before", std::move(difference.before)},
                                   {"after", std::move(difference.after)}});
  }
  return changes;
}

// File systems take 255 bytes, of which an ending and a namespace want some.
std::string artefact_name(std::string_view name) {
  constexpr std::size_t length_max = 200;
  std::string out(name);
  std::replace(out.begin(), out.end(), '/', '_');
  if (out.size() <= length_max) return out;
  const std::uint64_t hash = fnv1a(out);
  out.resize(length_max);
  return fmt::format("{}-{:016x}", out, hash);
}

std::string file_of(std::string_view folder, const Object& object) {
  std::string kind = object.kind().kind;
  std::transform(kind.begin(), kind.end(), kind.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  std::string path = fmt::format("{}/{}/", folder, kind);
  const ObjectMeta& metadata = object.metadata;
  if (!metadata.namespace_.empty()) path += artefact_name(metadata.namespace_) + "/";
  return path + artefact_name(metadata.name) + ".yaml";
}

json::value sorted(const json::value& value) {
  if (const auto* list = value.if_array()) {
    json::array elements;
    for (const json::value& element : *list) elements.push_back(sorted(element));
    return elements;
  }
  const auto* object = value.if_object();
  if (object == nullptr) return value;
  std::map<std::string_view, const json::value*> members;
  for (const auto& member : *object) members[std::string_view(member.key())] = &member.value();
  json::object ordered;
  for (const auto& [name, member] : members) ordered[name] = sorted(*member);
  return ordered;
}

// As kubectl shows it: in the order of the names; managedFields are for who asks.
json::value shown(const Object& object, SecretMask& mask) {
  json::value whole = mask.object(object);
  if (auto* metadata = whole.as_object().if_contains("metadata"); metadata && metadata->is_object())
    metadata->as_object().erase("managedFields");
  return sorted(whole);
}

// "# 2025-01-01T00:00:01.250000Z, record 71: made by pytorchjob-controller".
std::string version_head(Time time, std::uint64_t record, std::string_view what,
                         std::string_view actor) {
  return fmt::format("# {}, record {}: {}{}{}\n", format_rfc3339_micro(time), record, what,
                     actor.empty() ? "" : " by ", actor);
}

std::string_view what_happened(RecordKind kind) {
  switch (kind) {
    case RecordKind::object_added:
      return "made";
    case RecordKind::object_deleted:
      return "gone, taken away";
    default:
      return "changed";
  }
}

}  // namespace

json::value to_json(const Record& record, SecretMask& mask) {
  json::object object{{"id", record.id},
                      {"time", format_rfc3339_micro(record.time)},
                      {"kind", to_string(record.kind)}};
  if (record.cause > 0) object["cause"] = record.cause;
  if (!record.actor.empty()) object["actor"] = record.actor;
  if (!record.rule.empty()) object["rule"] = record.rule;
  if (!record.subject.empty()) object["subject"] = subject_name(record);
  if (!record.text.empty()) object["text"] = std::string_view(record.text);
  for (const auto& [name, value] : record.values) object[name] = value;
  if (record.after != nullptr || record.before != nullptr)
    object["about"] = name_object(record.after ? *record.after : *record.before);
  if (record.kind == RecordKind::object_added) object["object"] = mask.object(*record.after);
  if (record.kind == RecordKind::object_modified) object["changes"] = changes_of(record, mask);
  return object;
}

std::string ArtefactOptions::path() const {
  if (folder == nullptr) return {};
  return run.empty() ? folder->path() : folder->path() + "/" + run;
}

Artefacts::Artefacts(const ArtefactOptions& options, GrowingFile trace)
    : options_(options), mask_(options.show_secrets), trace_(std::move(trace)) {}

Result<std::unique_ptr<Artefacts>> Artefacts::open(const ArtefactOptions& options) {
  const std::string run = options.run.empty() ? "" : options.run + "/";
  GrowingFile trace(*options.folder, run + "trace.jsonl");
  TRY_VOID(Status(trace.status()));
  return std::unique_ptr<Artefacts>(new Artefacts(options, std::move(trace)));
}

std::string Artefacts::path_of(const std::string& file) const {
  return options_.run.empty() ? file : options_.run + "/" + file;
}

GrowingFile& Artefacts::file(std::map<std::string, GrowingFile>& files, const std::string& name) {
  const auto found = files.find(name);
  if (found != files.end()) return found->second;
  return files.try_emplace(name, *options_.folder, path_of(name)).first->second;
}

void Artefacts::on_record(const Record& record) {
  trace_.append(json::serialize(to_json(record, mask_)) + "\n");
  if (record.kind == RecordKind::log) {
    GrowingFile& log =
        file(logs_, fmt::format("logs/{}.log", artefact_name(std::string_view(record.subject))));
    log.append(std::string(record.text) + "\n");
    if (options_.at_once) log.flush();
  } else if (record.before != nullptr || record.after != nullptr) {
    keep_object(record);
  }
  ++kept_records_;
  if (options_.at_once)
    trace_.flush();
  else if (kept_records_ >= kept_records_max || trace_.kept() >= kept_bytes_max)
    flush();
  if (options_.at_once && record.time - objects_written_ >= objects_period) {
    objects_written_ = record.time;
    write_objects();
  }
}

void Artefacts::keep_object(const Record& record) {
  const bool gone = record.kind == RecordKind::object_deleted;
  const ObjectPtr& object = gone ? record.before : record.after;
  changed_[file_of("objects", *object)] = {object, record.id, record.time, record.actor, gone};
  if (!options_.history) return;
  GrowingFile& history = file(histories_, file_of("history", *object));
  history.append("---\n" +
                 version_head(record.time, record.id, what_happened(record.kind), record.actor));
  if (!gone) history.append(object_yaml(shown(*object, mask_)));
  if (options_.at_once) history.flush();
}

void Artefacts::write_objects() {
  for (const auto& [path, last] : changed_) {
    std::string text;
    if (last.gone)
      text = fmt::format("# {} is gone\n{}", short_name(*last.object),
                         version_head(last.time, last.record, "taken away", last.actor));
    text += object_yaml(shown(*last.object, mask_));
    const Status written = options_.folder->write(path_of(path), text);
    has_objects_ = has_objects_ || written;
    note(written);
  }
  changed_.clear();
}

void Artefacts::note(const Status& status) {
  if (status_ && !status) status_ = status;
}

void Artefacts::flush() {
  kept_records_ = 0;
  trace_.flush();
  note(trace_.status());
  for (auto* files : {&logs_, &histories_}) {
    for (auto& [name, one] : *files) {
      one.flush();
      note(one.status());
    }
  }
}

Status Artefacts::finish(const RunResult& result) {
  flush();
  write_objects();
  const Status written =
      options_.folder->write(path_of("result.json"), json::serialize(to_json(result)) + "\n");
  has_result_ = written.has_value();
  note(written);
  return status_;
}

std::string Artefacts::text() const {
  std::string out;
  const auto add = [&](bool there, std::string_view name) {
    if (there)
      out += fmt::format("{}{}/{}", out.empty() ? "" : ", ", options_.folder->path(),
                         path_of(std::string(name)));
  };
  const auto any = [](const auto& files) {
    return std::any_of(files.begin(), files.end(),
                       [](const auto& file) { return file.second.status().has_value(); });
  };
  add(trace_.status().has_value(), "trace.jsonl");
  add(any(logs_), "logs/");
  add(has_objects_, "objects/");
  add(any(histories_), "history/");
  add(has_result_, "result.json");
  return out;
}

}  // namespace ddptwin::scenario
