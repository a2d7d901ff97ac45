#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <system_error>

#include "core/numbers.hpp"
#include "runtime/model/programs/text_arguments.hpp"

namespace ddptwin::model::text {
namespace {

struct Suffix {
  std::string_view text;
  std::uint64_t factor;
};
constexpr std::array suffixes{Suffix{"", 1},
                              Suffix{"c", 1},
                              Suffix{"w", 2},
                              Suffix{"b", 512},
                              Suffix{"kB", 1000},
                              Suffix{"K", 1U << 10U},
                              Suffix{"k", 1U << 10U},
                              Suffix{"KiB", 1U << 10U},
                              Suffix{"MB", 1'000'000},
                              Suffix{"M", 1U << 20U},
                              Suffix{"MiB", 1U << 20U},
                              Suffix{"GB", 1'000'000'000},
                              Suffix{"G", 1U << 30U},
                              Suffix{"GiB", 1U << 30U},
                              Suffix{"TB", 1'000'000'000'000},
                              Suffix{"T", 1ULL << 40U},
                              Suffix{"TiB", 1ULL << 40U}};

constexpr std::uint64_t size_max = 1ULL << 60U;  // so that no sum is too large

// What dd(1) says beside the bytes: "40 MB, 38 MiB", rounded up as it does.
std::string in_words(std::uint64_t bytes, std::uint64_t step, std::string_view unit) {
  constexpr std::string_view prefixes = "kMGT";
  double amount = static_cast<double>(bytes);
  std::size_t prefix = 0;
  for (; amount >= static_cast<double>(step) && prefix < prefixes.size(); ++prefix)
    amount /= static_cast<double>(step);
  if (prefix == 0) return fmt::format("{} B", bytes);
  std::string name{prefixes[prefix - 1]};
  if (step == 1024 && name == "k") name = "K";
  return fmt::format("{:.{}f} {}{}", amount, amount < 10 ? 1 : 0, name, unit);
}

std::string value_of(const Arguments& arguments, std::string_view name,
                     std::string_view otherwise = {}) {
  for (const std::string& word : arguments.operands)
    if (word.starts_with(name) && word.substr(name.size()).starts_with('='))
      return word.substr(name.size() + 1);
  return std::string(otherwise);
}

std::string why(const Error& error) { return std::generic_category().message(error.code); }

// A file is filled; what it held is gone.
TextResult dd(Process& process, const Arguments& arguments, const std::string&) {
  const std::uint64_t block = size_of(value_of(arguments, "bs", "512")).value_or(0);
  const std::uint64_t count = size_of(value_of(arguments, "count")).value_or(0);
  const std::string file = value_of(arguments, "of");
  TextResult result;
  process.make_room(file);
  const Status opened = file == "/dev/null" ? Status() : process.write_file(file, "");
  if (!opened)
    return {"", {fmt::format("dd: failed to open '{}': {}", file, why(opened.error()))}, 1};
  const std::uint64_t bytes = block * count;
  const Status written =
      file == "/dev/null" ? Status() : process.append_blank(file, {.written = bytes});
  if (!written)
    return {"", {fmt::format("dd: error writing '{}': {}", file, why(written.error()))}, 1};
  const std::string status = value_of(arguments, "status");
  if (status == "none") return result;
  result.errors = {fmt::format("{}+0 records in", count), fmt::format("{}+0 records out", count)};
  constexpr double bytes_per_second = 1e9;
  if (status != "noxfer")
    result.errors.push_back(fmt::format("{} bytes ({}, {}) copied, {:.6g} s, 1.0 GB/s", bytes,
                                        in_words(bytes, 1000, "B"), in_words(bytes, 1024, "iB"),
                                        static_cast<double>(bytes) / bytes_per_second));
  return result;
}

bool dd_is_known(const Arguments& arguments) {
  constexpr std::array<std::string_view, 7> names{"if",   "of",    "bs",    "count",
                                                  "conv", "oflag", "status"};
  const bool all = std::all_of(
      arguments.operands.begin(), arguments.operands.end(), [&](const std::string& word) {
        return std::find(names.begin(), names.end(), word.substr(0, word.find('='))) != names.end();
      });
  const auto block = size_of(value_of(arguments, "bs", "512"));
  const auto count = size_of(value_of(arguments, "count"));
  const bool fits = block && count && (*block == 0 || *count <= size_max / *block);
  const std::string conv = value_of(arguments, "conv"), oflag = value_of(arguments, "oflag");
  const bool is_named = !value_of(arguments, "of").empty();
  return all && is_endless(value_of(arguments, "if")) && is_named && fits &&
         conv.find("notrunc") == conv.npos && conv.find("sparse") == conv.npos &&
         oflag.find("append") == oflag.npos;
}

TextResult fallocate(Process& process, const Arguments& arguments, const std::string&) {
  const std::string& file = arguments.operands.front();
  process.make_room(file);
  const Status made =
      process.append_blank(file, {.written = size_of(arguments.value('l')).value_or(0)});
  if (made) return {};
  const bool full = made.error().code == ENOSPC;
  return {"",
          {full ? fmt::format("fallocate: fallocate failed: {}", why(made.error()))
                : fmt::format("fallocate: cannot open {}: {}", file, why(made.error()))},
          1};
}

// Of a file that is longer it would cut something off.
TextResult truncate(Process& process, const Arguments& arguments, const std::string&) {
  const std::string& file = arguments.operands.front();
  process.make_room(file);
  Status made = process.write_file(file, "");
  if (made) made = process.append_blank(file, {.hole = size_of(arguments.value('s')).value_or(0)});
  if (made) return {};
  return {
      "", {fmt::format("truncate: cannot open '{}' for writing: {}", file, why(made.error()))}, 1};
}

template <char option>
bool is_sized(const Arguments& arguments) {
  return arguments.operands.size() == 1 && size_of(arguments.value(option)).has_value();
}

constexpr std::array writer_rows{
    TextProgram{"dd", "", "", false, &dd, &dd_is_known},
    TextProgram{"fallocate", "", "l", false, &fallocate, &is_sized<'l'>},
    TextProgram{"truncate", "", "s", false, &truncate, &is_sized<'s'>}};

}  // namespace

std::optional<std::uint64_t> size_of(std::string_view text) {
  const std::size_t end = std::min(text.find_first_not_of("0123456789"), text.size());
  const auto number = whole_number<std::int64_t>(text.substr(0, end));
  if (!number) return std::nullopt;
  const auto suffix =
      std::find_if(suffixes.begin(), suffixes.end(),
                   [rest = text.substr(end)](const Suffix& one) { return one.text == rest; });
  if (suffix == suffixes.end()) return std::nullopt;
  const auto factor = static_cast<std::uint64_t>(*number);
  if (factor > size_max / suffix->factor) return std::nullopt;
  return factor * suffix->factor;
}

bool is_endless(std::string_view path) {
  return path == "/dev/zero" || path == "/dev/urandom" || path == "/dev/random";
}

std::span<const TextProgram> writers() { return writer_rows; }

}  // namespace ddptwin::model::text
