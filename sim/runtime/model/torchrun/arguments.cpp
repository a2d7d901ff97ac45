#include "runtime/model/torchrun/arguments.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>

#include "core/numbers.hpp"
#include "runtime/model/torchrun/torchrun.hpp"

namespace ddptwin::torchrun {
namespace {

using enum OptionKind;

// spec/ddp-semantics.md §4.1 and §9.5, first row; the order is that of run.py, which decides which
// wrong value is complained of first.
constexpr std::array rows{
    OptionRow{"nnodes", 0, text, "1:1"},
    OptionRow{"nproc_per_node", 0, text, "1"},
    OptionRow{"rdzv_backend", 0, text, "static"},
    OptionRow{"rdzv_endpoint", 0, text, ""},
    OptionRow{"rdzv_id", 0, text, "none"},
    OptionRow{"rdzv_conf", 0, text, ""},
    OptionRow{"standalone", 0, flag, "0"},
    OptionRow{"max_restarts", 0, integer, "0"},
    OptionRow{"monitor_interval", 0, number, ""},  // the profile's
    OptionRow{"start_method", 0, start_method, "spawn"},
    OptionRow{"event_log_handler", 0, text, "null", true, true},
    OptionRow{"role", 0, text, "default"},
    OptionRow{"module", 'm', flag, "0"},
    OptionRow{"no_python", 0, flag, "0"},
    OptionRow{"run_path", 0, flag, "0"},
    OptionRow{"log_dir", 0, text, ""},
    OptionRow{"redirects", 'r', text, "0"},
    OptionRow{"tee", 't', text, "0"},
    OptionRow{"log_line_prefix_template", 0, text, "", true, true},
    OptionRow{"local_ranks_filter", 0, text, "", true, true},
    OptionRow{"duplicate_stdout_filters", 0, text, "", true, true},
    OptionRow{"duplicate_stderr_filters", 0, text, "", true, true},
    OptionRow{"node_rank", 0, integer, "0"},
    OptionRow{"master_addr", 0, text, "127.0.0.1"},
    OptionRow{"master_port", 0, integer, ""},  // absent: 29500, and in 2.x perhaps c10d
    OptionRow{"local_addr", 0, text, "", true, true},
    OptionRow{"logs_specs", 0, text, "", false, true},
    OptionRow{"numa_binding", 0, text, "", false, true},
    OptionRow{"signals_to_handle", 0, text, "SIGTERM,SIGINT,SIGHUP,SIGQUIT", true, true},
    OptionRow{"shutdown_timeout", 0, integer, "", true, true},  // the profile's
    OptionRow{"virtual_local_rank", 0, flag, "0", true, true},
};

std::string environment_name(std::string_view name) {
  std::string out = "PET_";
  for (const char c : name) out += static_cast<char>(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c);
  return out;
}

std::string dashed(std::string_view name) {
  std::string out = "--" + std::string(name);
  std::replace(out.begin(), out.end(), '_', '-');
  return out;
}

// One way to write an option.
struct Spelling {
  std::string text{};
  const OptionRow* row = nullptr;
};

class Parser {
 public:
  Parser(const Profile& profile, const std::string& program)
      : profile_(profile), program_(program) {
    for (const OptionRow& row : rows) {
      if (row.only_2 && !profile.later_options) continue;
      known_.push_back(&row);
      const std::string plain = "--" + std::string(row.name);
      if (profile.dashed_options && dashed(row.name) != plain)
        spellings_.push_back({dashed(row.name), &row});
      spellings_.push_back({plain, &row});
    }
  }

  Checked<Arguments> parse(const std::vector<std::string>& arguments,
                           const StringMap& environment) {
    if (auto read = defaults(environment); !read) return tl::make_unexpected(read.error());
    std::size_t at = 0;
    while (at < arguments.size()) {
      const std::string& word = arguments[at];
      if (word.size() < 2 || word[0] != '-') break;  // "-" alone is a positional
      ++at;
      if (word == "--") break;
      if (word == "-h" || word == "--help") return tl::make_unexpected(Refusal{0, {usage()}});
      if (auto taken = take(word, arguments, at); !taken) return tl::make_unexpected(taken.error());
    }
    if (at == arguments.size())
      return complain(
          "the following arguments are required: training_script, training_script_args");
    out_.script = arguments[at];
    out_.script_arguments.assign(arguments.begin() + static_cast<std::ptrdiff_t>(at) + 1,
                                 arguments.end());
    if (!unknown_.empty()) {
      return complain("unrecognized arguments: " + fmt::format("{}", fmt::join(unknown_, " ")));
    }
    return std::move(out_);
  }

 private:
  std::string usage() const { return "usage: " + program_ + " [-h] training_script ..."; }
  tl::unexpected<Refusal> complain(const std::string& message) const {
    return tl::make_unexpected(Refusal{2, {usage(), program_ + ": error: " + message}});
  }

  // Flags are read while the parser is built, so before any argument is looked at (§9.5).
  Checked<void> defaults(const StringMap& environment) {
    for (const OptionRow* row : known_) {
      std::string value(row->initial);
      const auto given = environment.find(environment_name(row->name));
      if (row->from_environment && given != environment.end()) value = given->second;
      if (row->kind == flag) {
        const auto number = python_int(value);
        if (!number)
          return tl::make_unexpected(uncaught(
              "ValueError: invalid literal for int() with base 10: " + python_repr(value)));
        value = *number != 0 ? "1" : "0";
      } else if (row->from_environment && given != environment.end()) {
        from_environment_.push_back(row);
      }
      out_.values.insert_or_assign(std::string(row->name), value);
    }
    return {};
  }

  Checked<void> take(const std::string& word, const std::vector<std::string>& arguments,
                     std::size_t& at) {
    const auto equals = word.find('=');
    std::string name = word.substr(0, equals);
    std::optional<std::string> value{};
    if (equals != std::string::npos) value = word.substr(equals + 1);
    const OptionRow* row = nullptr;
    if (word[1] != '-') {
      row = by_letter(word[1]);
      value.reset();
      if (row != nullptr && word.size() > 2 && row->kind != flag)
        value = word.substr(word[2] == '=' ? 3 : 2);
    } else {
      auto found = by_name(name);
      if (!found) return tl::make_unexpected(found.error());
      row = *found;
    }
    if (row == nullptr) {
      unknown_.push_back(word);
      return {};
    }
    return assign(*row, std::move(value), arguments, at);
  }

  Checked<void> assign(const OptionRow& row, std::optional<std::string> value,
                       const std::vector<std::string>& arguments, std::size_t& at) {
    out_.given.emplace(row.name);
    if (row.kind == flag) {
      if (value)
        return complain(fmt::format("argument {}: ignored explicit argument {}", shown(row),
                                    python_repr(*value)));
      out_.values.insert_or_assign(std::string(row.name), "1");
      return {};
    }
    if (!value) {
      // A word that begins with a dash is an option, unless it is a negative number.
      if (at == arguments.size() ||
          (arguments[at].size() > 1 && arguments[at][0] == '-' && !python_int(arguments[at])))
        return complain(fmt::format("argument {}: expected one argument", shown(row)));
      value = arguments[at++];
    }
    std::erase(from_environment_, &row);
    if (auto checked = check(row, *value); !checked) return checked;
    out_.values.insert_or_assign(std::string(row.name), *value);
    return {};
  }

  Checked<void> check(const OptionRow& row, const std::string& value) const {
    const auto wrong = [&](std::string_view type) {
      return complain(
          fmt::format("argument {}: invalid {} value: {}", shown(row), type, python_repr(value)));
    };
    if (row.kind == integer && !python_int(value)) return wrong("int");
    if (row.kind == number) {
      const std::optional<double> parsed = python_float(value);
      if (!parsed || !std::isfinite(*parsed)) return wrong("float");
    }
    if (row.kind == start_method && value != "spawn" && value != "fork" && value != "forkserver")
      return complain(
          fmt::format("argument {}: invalid choice: {} (choose from 'spawn', 'fork', 'forkserver')",
                      shown(row), python_repr(value)));
    return {};
  }

 public:
  // Defaults that are text are converted once the command line has been read.
  Checked<void> check_environment(const Arguments& arguments) const {
    for (const OptionRow* row : from_environment_) {
      if (row->kind == start_method) continue;  // argparse does not hold a default to the choices
      if (auto checked = check(*row, arguments[row->name]); !checked) return checked;
    }
    return {};
  }

 private:
  const OptionRow* by_letter(char letter) const {
    for (const OptionRow* row : known_)
      if (row->letter == letter) return row;
    return nullptr;
  }

  // The whole name, or the only one that begins so (argparse's allow_abbrev).
  Checked<const OptionRow*> by_name(const std::string& name) const {
    std::vector<std::string> matches{};
    const OptionRow* row = nullptr;
    for (const Spelling& spelling : spellings_) {
      if (spelling.text == name) return spelling.row;
      if (!spelling.text.starts_with(name)) continue;
      matches.push_back(spelling.text);
      row = spelling.row;
    }
    if (matches.size() > 1)
      return complain(
          fmt::format("ambiguous option: {} could match {}", name, fmt::join(matches, ", ")));
    return row;
  }

  // "--node-rank/--node_rank"
  std::string shown(const OptionRow& row) const {
    std::string out = row.letter != 0 ? fmt::format("-{}/", row.letter) : std::string{};
    const std::string plain = "--" + std::string(row.name);
    if (profile_.dashed_options && dashed(row.name) != plain) out += dashed(row.name) + "/";
    return out + plain;
  }

  const Profile& profile_;
  const std::string& program_;
  std::vector<const OptionRow*> known_{};
  std::vector<Spelling> spellings_{};
  std::vector<const OptionRow*> from_environment_{};
  std::vector<std::string> unknown_{};
  Arguments out_{};
};

// What Python's int() and float() have in common: blanks around, a sign, underscores between
// digits.
template <class Number>
std::optional<Number> number_of(std::string_view source) {
  constexpr std::string_view blanks = " \t\n\r\f\v";
  const auto first = source.find_first_not_of(blanks);
  if (first == std::string_view::npos) return std::nullopt;
  source = source.substr(first, source.find_last_not_of(blanks) - first + 1);
  if (source.starts_with("+-")) return std::nullopt;
  if (source.starts_with('+')) source.remove_prefix(1);
  const auto is_digit = [&](std::size_t i) {
    return i < source.size() && source[i] >= '0' && source[i] <= '9';
  };
  std::string digits{};
  for (std::size_t i = 0; i < source.size(); ++i) {
    if (source[i] != '_')
      digits += source[i];
    else if (i == 0 || !is_digit(i - 1) || !is_digit(i + 1))
      return std::nullopt;
  }
  return whole_number<Number>(digits);
}

}  // namespace

std::span<const OptionRow> option_rows() { return rows; }

std::string python_repr(std::string_view source) {
  const char quote =
      source.find('\'') != std::string_view::npos && source.find('"') == std::string_view::npos
          ? '"'
          : '\'';
  std::string out(1, quote);
  for (const char c : source) {
    if (c == quote || c == '\\') out += '\\';
    if (c == '\n')
      out += "\\n";
    else
      out += c;
  }
  return out + quote;
}

std::optional<std::int64_t> python_int(std::string_view source) {
  return number_of<std::int64_t>(source);
}

std::optional<double> python_float(std::string_view source) { return number_of<double>(source); }

Checked<Arguments> parse_arguments(const Profile& profile, const std::string& program,
                                   const std::vector<std::string>& arguments,
                                   const StringMap& environment) {
  Parser parser(profile, program);
  auto parsed = parser.parse(arguments, environment);
  if (!parsed) return parsed;
  if (auto checked = parser.check_environment(*parsed); !checked)
    return tl::make_unexpected(checked.error());
  return parsed;
}

std::optional<LaunchedScript> script_of(const Launch& launch) {
  const auto parsed =
      parse_arguments(profile_of(model::torch_2), launch.program, launch.arguments, {});
  if (!parsed) return std::nullopt;
  LaunchedScript found{{}, parsed->script, parsed->given.contains("module")};
  for (const OptionRow& row : rows) {
    const bool of_script =
        row.name == "module" || row.name == "no_python" || row.name == "run_path";
    if (row.only_2 || of_script || !parsed->given.contains(row.name)) continue;
    found.options.push_back("--" + std::string(row.name));
    if (row.kind != flag) found.options.back() += "=" + (*parsed)[row.name];
  }
  return found;
}

}  // namespace ddptwin::torchrun
