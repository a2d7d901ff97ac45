// A recording of the real programs, as tests/recordings/README.md describes it.
#pragma once

#include <boost/json.hpp>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "core/result.hpp"
#include "core/time.hpp"
#include "objects/type.hpp"

namespace ddptwin::golden {

struct Step {
  int number = 0;
  Duration at{};       // after the first step's begin
  std::string verb{};  // apply, start, exit, ...
  Json argument{};
  Json expected_result{};  // null: none recorded
  boost::json::object changed{};
  std::vector<std::string> gone{};
  boost::json::array events{};
};

struct Recording {
  std::string system{};  // the folder: pytorchjob, kubelet, ...
  std::string name{};
  std::map<std::string, std::string> versions{};
  std::vector<std::string> needs{};
  bool auto_finish_delete = true;
  std::vector<Step> steps{};
  Duration end{};  // when the last step is over

  std::vector<std::string> kinds{};  // built-in ones that it names

  bool needs_one(std::string_view what) const;
  std::string version_of(std::string_view program) const;
};

Result<Recording> load(const std::filesystem::path& file);

}  // namespace ddptwin::golden
