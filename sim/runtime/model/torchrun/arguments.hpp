// The argparse part of options.hpp: rows of options, and the values they end up with.
#pragma once

#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/model/torchrun/options.hpp"

namespace ddptwin::torchrun {

enum class OptionKind : std::uint8_t { text, integer, number, start_method, flag };

struct OptionRow {
  std::string_view name{};  // with underscores, as in PET_NAME
  char letter = 0;          // -m
  OptionKind kind = OptionKind::text;
  std::string_view initial{};  // default
  bool from_environment = true;
  bool only_2 = false;  // absent from 1.13
};
std::span<const OptionRow> option_rows();

struct Arguments {
  std::map<std::string, std::string, std::less<>> values{};  // by name; a flag is "0" or "1"
  std::string script{};
  std::vector<std::string> script_arguments{};
  std::set<std::string, std::less<>> given{};  // names on the command line

  const std::string& operator[](std::string_view name) const { return values.find(name)->second; }
};

Checked<Arguments> parse_arguments(const Profile& profile, const std::string& program,
                                   const std::vector<std::string>& arguments,
                                   const StringMap& environment);

// Python's repr() of a text.
std::string python_repr(std::string_view source);

}  // namespace ddptwin::torchrun
