// The files that a run leaves where the user asked for them.
#pragma once

#include <fstream>
#include <memory>
#include <string>

#include "core/trace.hpp"
#include "scenario/report/result.hpp"

namespace ddptwin::scenario {

// DIR/trace.jsonl, written as the run goes on; DIR/logs/NAMESPACE_POD_CONTAINER.log and
// DIR/result.json at its end.
class Artefacts {
 public:
  // Makes the folder and its parents.
  static Result<std::unique_ptr<Artefacts>> open(const std::string& folder);

  void on_record(const Record& record);
  Status finish(const Observer& observer, const RunResult& result);
  const std::string& folder() const { return folder_; }

 private:
  explicit Artefacts(std::string folder) : folder_(std::move(folder)) {}

  std::string folder_;
  std::ofstream trace_{};
};

// One record as JSON: docs/reference/trace.md.
boost::json::value to_json(const Record& record);

}  // namespace ddptwin::scenario
