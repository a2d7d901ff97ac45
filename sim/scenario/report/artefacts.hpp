// The files that a run leaves where the user asked for them, written while it goes on
// (docs/reference/trace.md): who is killed leaves what was known until then.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>

#include "core/trace.hpp"
#include "scenario/report/out_folder.hpp"
#include "scenario/report/secrets.hpp"
#include "scenario/run/result.hpp"

namespace ddptwin::scenario {

struct ArtefactOptions {
  std::shared_ptr<OutFolder> folder{};  // null: no artefacts are kept
  std::string run{};                    // below the folder; empty: the folder itself
  bool at_once = true;  // each line is written when it comes; else now and then, and at the end
  bool history = false;
  bool show_secrets = false;

  // Of the run's folder; empty: none.
  std::string path() const;
};

// In the run's folder: trace.jsonl, logs/NAMESPACE_POD_CONTAINER.log,
// objects/KIND/NAMESPACE/NAME.yaml (each object's last state), with `history`
// history/KIND/NAMESPACE/NAME.yaml (each version of it), and result.json at its end.
class Artefacts {
 public:
  // Errors: io.
  static Result<std::unique_ptr<Artefacts>> open(const ArtefactOptions& options);

  void on_record(const Record& record);
  // Errors: io, with the file's name; what could be written is there.
  Status finish(const RunResult& result);
  // "DIR/trace.jsonl, DIR/logs/, ...": what there is.
  std::string text() const;

 private:
  // What is known of an object, and not written yet.
  struct Last {
    ObjectPtr object{};
    std::uint64_t record = 0;
    Time time{};
    std::string_view actor{};
    bool gone = false;
  };

  Artefacts(const ArtefactOptions& options, GrowingFile trace);
  std::string path_of(const std::string& file) const;
  GrowingFile& file(std::map<std::string, GrowingFile>& files, const std::string& name);
  void keep_object(const Record& record);
  void write_objects();
  void flush();
  void note(const Status& status);

  ArtefactOptions options_;
  SecretMask mask_;
  GrowingFile trace_;
  std::map<std::string, GrowingFile> logs_{}, histories_{};
  std::map<std::string, Last> changed_{};  // by the path of the file
  std::uint64_t kept_records_ = 0;         // since the last flush()
  Time objects_written_{};
  bool has_objects_ = false, has_result_ = false;
  Status status_{};  // the first thing that went wrong
};

// One record as JSON: docs/reference/trace.md.
boost::json::value to_json(const Record& record, SecretMask& mask);

}  // namespace ddptwin::scenario
