#include "runtime/model/shell/builtins.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <system_error>

#include "core/numbers.hpp"
#include "runtime/model/programs/small.hpp"
#include "runtime/model/shell/arithmetic.hpp"
#include "runtime/model/shell/fields.hpp"
#include "runtime/model/shell/formats.hpp"
#include "runtime/model/shell/interpreter.hpp"

namespace ddptwin::model::shell {
namespace {

using Strings = std::vector<std::string>;

// A shell does these itself too, and nobody here.
constexpr std::array<std::string_view, 6> not_modelled{"bg",   "fg",    "getopts",
                                                       "hash", "times", "time"};

std::string unknown_command(const Strings& argv) {
  if (argv.size() < 2 || !argv[1].starts_with('-')) return {};
  return argv[1] == "-v" || argv[1] == "-V" ? "" : "command with " + argv[1];
}

std::string unknown_trap(const Strings& argv) {
  const std::size_t first = argv.size() > 1 && argv[1] == "--" ? 2 : 1;
  if (argv.size() < first + 2 || argv[1] == "-p" || argv[1] == "-l")
    return "trap without an action and a signal";
  for (const std::string_view made_up : {"ERR", "DEBUG", "RETURN"})
    if (std::find(argv.begin() + 2, argv.end(), made_up) != argv.end())
      return fmt::format("trap for {}", made_up);
  return {};
}

std::string unknown_jobs(const Strings& argv) {
  return argv.size() == 2 && (argv[1] == "-p" || argv[1] == "-pr") ? "" : "jobs without -p";
}

std::string unknown_wait(const Strings& argv) {
  const bool one = argv.size() == 2 && argv[1] == "-n";
  return argv.size() > 1 && argv[1].starts_with('-') && !one ? "wait with " + argv[1] : "";
}

std::string unknown_unset(const Strings& argv) {
  const bool element = std::any_of(argv.begin(), argv.end(), [](const std::string& word) {
    return word.find('[') != word.npos;
  });
  return element ? "unset of an element of an array" : "";
}

// bash's options that are modelled: what has no effect here too.
std::string unknown_declaration(const Strings& argv) {
  for (std::size_t i = 1; i < argv.size() && argv[i].size() > 1 && argv[i].starts_with('-'); ++i) {
    const std::size_t at = argv[i].find_first_not_of("-agnrxI");
    if (at != std::string::npos) return fmt::format("{} with -{}", argv.front(), argv[i][at]);
    if (argv[i].find('n') != std::string::npos && argv.front() != "export")
      return argv.front() + " with -n";
  }
  return argv.size() == 1 && argv.front() != "local" ? argv.front() + " without a name" : "";
}

std::string unknown_type(const Strings& argv) {
  const bool option = argv.size() > 1 && argv[1].starts_with('-');
  const bool known = !option || argv[1] == "-t" || argv[1] == "-p" || argv[1] == "-P";
  return known ? "" : "type with " + argv[1];
}

std::string unknown_mapfile(const Strings& argv) {
  for (std::size_t i = 1; i < argv.size(); ++i)
    if (argv[i].starts_with('-') && argv[i] != "-t") return "mapfile with " + argv[i];
  return argv.size() > 3 ? "mapfile of two" : "";
}

std::string unknown_shopt(const Strings& argv) {
  return argv.size() > 2 && (argv[1] == "-s" || argv[1] == "-u") ? "" : "shopt without -s or -u";
}

std::string unknown_kill(const Strings& argv) {
  const bool known = argv.size() > 1 && argv[1] != "-l" && !argv.back().starts_with('%') &&
                     (argv.size() < 3 || !argv.back().starts_with('-'));
  return known ? "" : fmt::format("`{}`", fmt::join(argv, " "));
}

std::string unknown_printf(const Strings& argv) {
  const std::size_t format = argv.size() > 1 && argv[1] == "--" ? 2 : 1;
  if (argv.size() <= format || argv[format] == "$") return {};
  if (argv[1] == "-v" && (argv.size() < 4 || argv[3] == "$")) return {};
  if (argv[1] == "-v") return unknown_printf({"printf", argv[3]});
  const auto text = printf_text({argv[format]}, Dialect::dash);
  return text ? "" : text.error().message;
}

}  // namespace

struct BuiltIns::Row {
  // special: POSIX's special built-ins, and `local`, which dash counts among them; of_bash: dash
  // has none.
  enum class Kind : std::uint8_t { plain, special, of_bash };
  std::string_view name;
  Run run;
  Kind kind = Kind::plain;
  std::string (*unknown)(const Strings& argv) = nullptr;  // null: all of it is known
};

const BuiltIns::Row* BuiltIns::row(std::string_view name, Dialect dialect) {
  using I = Interpreter;
  using Kind = Row::Kind;
  static constexpr std::array rows{
      Row{":", &I::succeed, Kind::special},
      Row{"alias", &I::succeed},
      Row{"builtin", &I::succeed, Kind::of_bash},  // without a command
      Row{"[", &I::test, Kind::plain, &unknown_test},
      Row{"[[", &I::test, Kind::of_bash, &unknown_test},
      Row{"break", &I::break_or_continue, Kind::special},
      Row{"cd", &I::change_folder},
      Row{"command", &I::look_for, Kind::plain, &unknown_command},
      Row{"declare", &I::declare, Kind::of_bash, &unknown_declaration},
      Row{"continue", &I::break_or_continue, Kind::special},
      Row{"echo", &I::echo},
      Row{"eval", &I::succeed, Kind::special},  // Interpreter::evaluate
      Row{"exec", &I::succeed, Kind::special},  // without a command
      Row{"exit", &I::exit_or_return, Kind::special},
      Row{"export", &I::declare, Kind::special, &unknown_declaration},
      Row{"false", &I::fail_once},
      Row{"jobs", &I::list_jobs, Kind::plain, &unknown_jobs},
      Row{"kill", &I::kill, Kind::plain, &unknown_kill},
      Row{"let", &I::let, Kind::of_bash},
      Row{"local", &I::declare, Kind::special, &unknown_declaration},
      Row{"mapfile", &I::read_lines, Kind::of_bash, &unknown_mapfile},
      Row{"printf", &I::print_formatted, Kind::plain, &unknown_printf},
      Row{"pwd", &I::print_folder},
      Row{"read", &I::read, Kind::plain, &unknown_read},
      Row{"readarray", &I::read_lines, Kind::of_bash, &unknown_mapfile},
      Row{"readonly", &I::declare, Kind::special, &unknown_declaration},
      Row{"return", &I::exit_or_return, Kind::special},
      Row{"set", &I::set, Kind::special},
      Row{"shift", &I::shift, Kind::special},
      Row{"shopt", &I::succeed, Kind::of_bash, &unknown_shopt},
      Row{"test", &I::test, Kind::plain, &unknown_test},
      Row{"trap", &I::trap, Kind::special, &unknown_trap},
      Row{"true", &I::succeed},
      Row{"type", &I::tell_kinds, Kind::plain, &unknown_type},
      Row{"typeset", &I::declare, Kind::of_bash, &unknown_declaration},
      Row{"ulimit", &I::succeed},
      Row{"umask", &I::succeed},
      Row{"unset", &I::unset, Kind::special, &unknown_unset},
      Row{"wait", &I::wait, Kind::plain, &unknown_wait}};
  const auto found =
      std::find_if(rows.begin(), rows.end(), [name](const Row& one) { return one.name == name; });
  if (found == rows.end() || (found->kind == Kind::of_bash && dialect != Dialect::bash))
    return nullptr;
  return &*found;
}

BuiltIns::Run BuiltIns::find(std::string_view name, Dialect dialect) {
  const Row* found = row(name, dialect);
  return found == nullptr ? nullptr : found->run;
}

bool is_special(std::string_view name) {
  const BuiltIns::Row* found = BuiltIns::row(name, Dialect::dash);
  return found != nullptr && found->kind == BuiltIns::Row::Kind::special;
}

std::string unknown_of(const Strings& argv, Dialect dialect) {
  const auto refused = std::find(not_modelled.begin(), not_modelled.end(), argv.front());
  if (refused != not_modelled.end()) return argv.front();
  const BuiltIns::Row* found = BuiltIns::row(argv.front(), dialect);
  return found == nullptr || found->unknown == nullptr ? "" : found->unknown(argv);
}

std::vector<std::pair<std::string, std::string>> unwrap(Strings& argv) {
  std::vector<std::pair<std::string, std::string>> variables;
  for (;;) {
    const bool env = argv.front() == "env", nohup = argv.front() == "nohup";
    std::size_t command = 1;
    while (env && command < argv.size() && !argv[command].starts_with('-') &&
           argv[command].find('=') != std::string::npos)
      ++command;
    if ((!env && !nohup) || command >= argv.size() || argv[command].starts_with('-'))
      return variables;
    for (std::size_t i = 1; i < command; ++i) {
      const std::size_t equals = argv[i].find('=');
      variables.emplace_back(argv[i].substr(0, equals), argv[i].substr(equals + 1));
    }
    argv.erase(argv.begin(), argv.begin() + static_cast<std::ptrdiff_t>(command));
  }
}

void Interpreter::succeed(const Strings&, const Done& done) { done(0); }
void Interpreter::fail_once(const Strings&, const Done& done) { done(1); }

void Interpreter::misused(const Strings& words, const std::string& message, const Done& done) {
  const std::string text = fmt::format("{}: {}", words[0], message);
  if (!is_bash() && is_special(words[0])) return give_up(text);
  complain(text);
  done(error_code());
}

void Interpreter::exit_or_return(const Strings& words, const Done& done) {
  constexpr int byte = 256;
  // In a trap dash takes what was before it, bash only where it is the end's.
  const bool of_trap = status_before_trap_ && (!is_bash() || traps_within_ == 0);
  std::optional<int> code = words.size() > 1 ? whole_number<int>(words[1])
                            : of_trap        ? *status_before_trap_
                                             : scope_.status;
  if (is_bash() && code) code = (*code % byte + byte) % byte;
  const bool wrong = !code || *code < 0;
  if (wrong && !is_bash()) return misused(words, "Illegal number: " + words[1], done);
  if (wrong) complain(fmt::format("{}: {}: numeric argument required", words[0], words[1]));
  const int status = wrong ? misused_code : *code;
  if (words[0] == "exit") return leave(status);
  if (is_bash() && scope_.calls == 0 && scope_.sourced == 0) {
    complain("return: can only `return' from a function");
    return done(misused_code);
  }
  leave_ = Leave::return_;
  return_status_ = status;
  done(status);
}

void Interpreter::break_or_continue(const Strings& words, const Done& done) {
  const std::optional<int> count = words.size() == 1 ? 1 : whole_number<int>(words[1]);
  if (!count || *count < 1) return misused(words, "Illegal number: " + words[1], done);
  if (scope_.loops == 0) return done(0);
  leave_ = words[0] == "break" ? Leave::break_ : Leave::continue_;
  leaves_loops_ = std::min(*count, scope_.loops);
  done(0);
}

void Interpreter::echo(const Strings& words, const Done& done) {
  done(wrote(words[0], echo_text({words.begin() + 1, words.end()}, scope_.dialect)));
}

// dash says no more of what went wrong.
int Interpreter::wrote(const std::string& name, const std::string& text) {
  const Status written = process_.write(text);
  if (written) return 0;
  const std::string why = std::generic_category().message(written.error().code);
  complain(is_bash() ? fmt::format("{}: write error: {}", name, why)
                     : fmt::format("{0}: {0}: I/O error", name));
  return 1;
}

void Interpreter::print_formatted(const Strings& words, const Done& done) {
  const bool keeps = is_bash() && words.size() > 3 && words[1] == "-v";
  const auto text = printf_text({words.begin() + (keeps ? 3 : 1), words.end()}, scope_.dialect);
  if (!text) return cannot_run(words[0], unknown(text.error().message), done);
  if (!keeps) return done(wrote(words[0], *text));
  variables_.set(words[2], *text);
  done(0);
}

// In bash's [[ ]] numbers are expressions, and -v asks for a variable.
void Interpreter::test(const Strings& words, const Done& done) {
  Strings operands = words;
  std::size_t first = 1;
  while (first < operands.size() && operands[first] == "!") ++first;
  const std::size_t size = operands.size() - (words[0] == "test" ? 0 : 1) - first;
  if (is_bash() && size == 2 && operands[first] == "-v") {
    const bool negated = first % 2 == 0;
    return done(variables_.value(operands[first + 1]).has_value() != negated ? 0 : 1);
  }
  if (words[0] == "[[" && size == 3 && compares_numbers(operands[first + 1])) {
    for (const std::size_t at : {first, first + 2}) {
      const auto value = arithmetic(operands[at], variables_);
      if (!value && value.error().code != 1) return give_up(value.error());
      if (!value) {
        complain("[[: " + value.error().message);
        return done(1);
      }
      operands[at] = std::to_string(*value);
    }
  }
  done(test_status(process_, operands, scope_.name, is_bash()));
}

void Interpreter::change_folder(const Strings& words, const Done& done) {
  std::size_t at = 1;
  while (at < words.size() && (words[at] == "-P" || words[at] == "-L" || words[at] == "--")) ++at;
  const std::string to = at < words.size() ? words[at] : variables_.value("HOME").value_or("");
  if (to.empty()) return done(0);
  const bool back = to == "-";
  const std::string before = process_.working_directory();
  const std::string there = back ? variables_.value("OLDPWD").value_or(before) : to;
  if (!process_.may_have_folder(there)) {
    complain(is_bash() ? fmt::format("cd: {}: No such file or directory", there)
                       : fmt::format("cd: can't cd to {}", there));
    return done(error_code());
  }
  process_.change_directory(there);
  variables_.set("OLDPWD", before);
  variables_.set("PWD", process_.working_directory());
  if (back) process_.print(process_.working_directory());
  done(0);
}

void Interpreter::print_folder(const Strings&, const Done& done) {
  process_.print(process_.working_directory());
  done(0);
}

void Interpreter::set(const Strings& words, const Done& done) {
  const Status taken = set_options(scope_, {words.begin() + 1, words.end()}, true);
  if (!taken) return misused(words, taken.error().message, done);
  done(0);
}

void Interpreter::shift(const Strings& words, const Done& done) {
  const std::optional<int> count = words.size() == 1 ? 1 : whole_number<int>(words[1]);
  if (!count || *count < 0) return misused(words, "Illegal number: " + words[1], done);
  const auto most = static_cast<std::ptrdiff_t>(scope_.arguments.size());
  if (*count > most && is_bash()) return done(1);
  if (*count > most) return misused(words, "can't shift that many", done);
  scope_.arguments.erase(scope_.arguments.begin(), scope_.arguments.begin() + *count);
  done(0);
}

void Interpreter::unset(const Strings& words, const Done& done) {
  const bool functions = words.size() > 1 && words[1] == "-f";
  for (std::size_t i = 1; i < words.size(); ++i) {
    if (functions) {
      scope_.functions.erase(words[i]);
    } else if (variables_.is_readonly(words[i])) {
      if (!is_bash()) return give_up("unset: " + variables_.why_readonly(words[i]));
      complain(fmt::format("unset: {}: cannot unset: readonly variable", words[i]));
      return done(1);
    } else {
      variables_.unset(words[i]);
    }
  }
  done(0);
}

// trap ACTION SIGNAL...; - for what is done without one, nothing to ignore it.
void Interpreter::trap(const Strings& words, const Done& done) {
  // What is written out has more; of `trap $X` nothing may be left.
  if (words.size() < 3) return done(words.size() == 1 ? 0 : misused_code);
  const std::size_t first = words[1] == "--" ? 2 : 1;
  const std::string& text = words[first];
  const Node* action = nullptr;
  if (text != "-" && !text.empty()) {
    const auto script = take_script(text);
    if (!script) return cannot_run("trap", script.error(), done);
    action = *script;
  }
  int status = 0;
  for (std::size_t i = first + 1; i < words.size(); ++i) {
    const std::optional<int> number = signal_of(words[i], is_bash());
    if (!number) {
      complain(fmt::format("trap: {}: bad trap", words[i]));
      status = 1;
      break;
    }
    if (text == "-") {
      traps_.reset(*number);
    } else {
      traps_.set(*number, action);
    }
  }
  done(status);
}

void Interpreter::wait(const Strings& words, const Done& done) {
  if (words.size() == 1) return wait_for_all(done);
  if (words[1] == "-n" && is_bash()) return wait_for_any(done);
  wait_for(words, 1, done);
}

void Interpreter::wait_for_all(const Done& done) {
  if (jobs_.all_ended(is_bash())) return done(0);
  until_a_job_ends([this, done] { wait_for_all(done); }, done);
}

// jobs -p. A shell that is forked for it, kill $(jobs -p), knows those of the one it comes from.
void Interpreter::list_jobs(const Strings&, const Done& done) {
  std::vector<int> all = jobs_.running();
  if (forked_ && all.empty()) all = scope_.jobs;
  for (const int pid : all) process_.print(std::to_string(pid));
  done(0);
}

// bash's -n: the next that ends, or has ended and has not been asked for.
void Interpreter::wait_for_any(const Done& done) {
  const auto seen = jobs_.next();
  if (seen.state == Jobs::State::running)
    return until_a_job_ends([this, done] { wait_for_any(done); }, done);
  done(seen.state == Jobs::State::none ? not_found_code : seen.status);
}

// One after the other; the status is the last one's.
void Interpreter::wait_for(const Strings& words, std::size_t index, const Done& done) {
  const std::optional<int> pid = whole_number<int>(words[index]);
  if (!pid) return misused(words, "Illegal number: " + words[index], done);
  const Jobs::Seen seen = jobs_.ask(*pid);
  if (seen.state == Jobs::State::running)
    return until_a_job_ends([this, words, index, done] { wait_for(words, index, done); }, done);
  if (index + 1 < words.size()) return wait_for(words, index + 1, done);
  done(seen.state == Jobs::State::none ? not_found_code : seen.status);
}

// A trapped signal ends the waiting (POSIX, wait).
void Interpreter::until_a_job_ends(Then then, const Done& interrupted) {
  job_ended_ = [this, then = std::move(then)] {
    interrupted_ = nullptr;
    then();
  };
  interrupted_ = [this, interrupted](int code) {
    job_ended_ = nullptr;
    interrupted(code);
  };
}

void Interpreter::kill(const Strings& words, const Done& done) {
  if (words.size() < 2) {
    complain("kill: usage: kill [-s sigspec | -n signum | -sigspec] pid | jobspec ... or kill -l");
    return done(misused_code);
  }
  const bool long_names = is_bash();
  std::size_t first = 1;
  std::optional<int> number = SIGTERM;
  if (words[1] == "-s" && words.size() > 2) {
    number = signal_of(words[2], long_names);
    first = 3;
  } else if (words[1].starts_with('-')) {
    if (words[1] != "--") number = signal_of(std::string_view(words[1]).substr(1), long_names);
    first = 2;
  }
  if (!number) return misused(words, "Illegal option " + words[1], done);
  int status = 0;
  for (std::size_t i = first; i < words.size(); ++i) {
    const std::optional<int> pid = whole_number<int>(words[i]);
    if (!pid || *pid < 0) return misused(words, "Illegal number: " + words[i], done);
    if (*pid == 0) {
      process_.signal_group(*number);
      continue;
    }
    if (process_.signal_pid(*pid, *number)) continue;
    complain("kill: No such process");
    status = 1;
  }
  if (process_.alive()) done(status);
}

}  // namespace ddptwin::model::shell
