#include "commands.hpp"

#include <fmt/format.h>

#include <charconv>
#include <filesystem>
#include <iostream>
#include <limits>
#include <optional>

#include "scenario/language/files.hpp"
#include "scenario/language/scenario_parser.hpp"
#include "scenario/run/images.hpp"
#include "scenario/run/missing.hpp"
#include "scenario/run/preflight.hpp"

namespace ddptwin {

CLI::Validator whole_number(std::uint64_t least) {
  return CLI::Validator(
      [least](const std::string& text) -> std::string {
        std::uint64_t number = 0;
        const char* const end = text.data() + text.size();
        const auto [stop, error] = std::from_chars(text.data(), end, number);
        if (error == std::errc::result_out_of_range)
          return fmt::format("must be at most {}, not {}",
                             std::numeric_limits<std::uint64_t>::max(), text);
        if (error == std::errc{} && stop == end && number >= least) return {};
        return fmt::format("must be {}, not {}",
                           least > 0 ? "a positive whole number" : "a whole number, 0 or more",
                           text);
      },
      least > 0 ? "POSITIVE" : "");
}

CLI::Validator a_duration() {
  return CLI::Validator(
      [](const std::string& text) -> std::string {
        const auto duration = parse_go_duration(text);
        if (duration && *duration > Duration::zero()) return {};
        return fmt::format("must be a duration such as 90s or 2m, not {}", text);
      },
      "DURATION");
}

int status_of(const Error& error) {
  return error.reason == Reason::bad_input ? Exit::bad_input : Exit::cannot;
}

int exit_of(const Error& error) {
  std::cerr << "ddptwin: " << error.text() << '\n';
  return status_of(error);
}

namespace {

// Of a file that cannot be parsed.
bool is_one_run_with_others(const std::string& file) {
  const auto text = scenario::read_text_file(file);
  return text && text->find("kind: Scenario") == text->npos;
}

// "a.yaml+b.yaml".
std::string joined(const std::vector<std::string>& files) {
  std::string text;
  for (const std::string& file : files) text += (text.empty() ? "" : "+") + file;
  return text;
}

}  // namespace

ScenarioFiles read_scenario_files(const std::vector<std::string>& files,
                                  const scenario::StandInShape& shape) {
  const KindRegistry kinds;
  ScenarioFiles read;
  std::vector<scenario::Scenario> plain;
  std::vector<std::string> plain_files;
  std::optional<Error> bad_plain;
  const auto add = [&read, &shape](scenario::Scenario one, const std::string& name) {
    one.stand_ins.steps = shape.steps;
    one.stand_ins.step_time = shape.step_time;
    scenario::describe_plain_images(one);
    if (auto fine = scenario::preflight(one); !fine) {
      read.bad.emplace_back(name, std::move(fine).error());
      return;
    }
    const auto missing = scenario::missing_of(one);
    one.notes.insert(one.notes.end(), missing.begin(), missing.end());
    read.scenarios.push_back(std::move(one));
  };
  for (const std::string& file : files) {
    auto parsed = scenario::parse_scenario(file, kinds, &scenario::read_text_file);
    if (parsed && !parsed->plain) {
      add(std::move(*parsed), file);
      continue;
    }
    if (!parsed && !is_one_run_with_others(file)) {
      read.bad.emplace_back(file, std::move(parsed).error());
      continue;
    }
    plain_files.push_back(file);
    if (!parsed && !bad_plain) bad_plain = std::move(parsed).error();
    if (parsed) plain.push_back(std::move(*parsed));
  }
  if (bad_plain) {
    read.bad.emplace_back(joined(plain_files), std::move(*bad_plain));
  } else if (!plain.empty()) {
    scenario::Scenario merged = scenario::merge_plain(std::move(plain));
    add(std::move(merged), joined(plain_files));
  }
  return read;
}

Result<std::vector<scenario::Scenario>> read_scenarios(const std::vector<std::string>& files,
                                                       const scenario::StandInShape& shape) {
  ScenarioFiles read = read_scenario_files(files, shape);
  if (!read.bad.empty()) return tl::make_unexpected(std::move(read.bad.front().second));
  return std::move(read.scenarios);
}

Result<std::string> python_folder(const std::string& argument) {
  if (argument.empty()) return argument;
  TRY(std::string found, scenario::real_path(argument));
  if (!std::filesystem::exists(found + "/bin/python3"))
    return fail(Reason::bad_input, "no virtual environment: it has no bin/python3",
                "--python " + found);
  return found;
}

}  // namespace ddptwin
