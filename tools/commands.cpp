#include "commands.hpp"

#include <fmt/format.h>

#include <charconv>
#include <filesystem>
#include <iostream>
#include <limits>

#include "scenario/files.hpp"
#include "scenario/images.hpp"
#include "scenario/preflight.hpp"
#include "scenario/scenario_parser.hpp"

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

int exit_of(const Error& error) {
  std::cerr << "ddptwin: " << error.text() << '\n';
  return error.reason == Reason::bad_input ? Exit::bad_input : Exit::cannot;
}

Result<std::vector<scenario::Scenario>> read_scenarios(const std::vector<std::string>& files,
                                                       const scenario::StandInShape& shape) {
  const KindRegistry kinds;
  std::vector<scenario::Scenario> scenarios, plain;
  for (const std::string& file : files) {
    TRY(auto parsed, scenario::parse_scenario(file, kinds, &scenario::read_text_file));
    (parsed.plain ? plain : scenarios).push_back(std::move(parsed));
  }
  if (!plain.empty()) scenarios.push_back(scenario::merge_plain(std::move(plain)));
  for (scenario::Scenario& one : scenarios) {
    one.stand_ins.steps = shape.steps;
    one.stand_ins.step_time = shape.step_time;
    scenario::describe_plain_images(one);
    TRY_VOID(scenario::preflight(one));
  }
  return scenarios;
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
