// What a shell does itself with its variables and names: export, local, readonly, declare, let;
// command -v, type.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "runtime/model/shell/arithmetic.hpp"
#include "runtime/model/shell/builtins.hpp"
#include "runtime/model/shell/interpreter.hpp"

namespace ddptwin::model::shell {
namespace {

constexpr std::array<std::string_view, 21> keywords{
    "!",   "[[",       "]]", "case", "coproc", "do",   "done", "elif",  "else",  "esac", "fi",
    "for", "function", "if", "in",   "select", "then", "time", "until", "while", "{"};

}  // namespace

// True: it is never to change again, which is said; dash ends then.
bool Interpreter::refuses(const std::string& name, const std::string& who) {
  if (!variables_.is_readonly(name)) return false;
  complain(who + variables_.why_readonly(name));
  return true;
}

// export, local, readonly and declare: [-OPTIONS] NAME... or NAME=value...
void Interpreter::declare(const Strings& words, const Done& done) {
  const std::string& by = words.front();
  const bool declares = by == "declare" || by == "typeset";
  if (by == "local" && scope_.calls == 0) return misused(words, "not in a function", done);
  std::string options;
  std::size_t first = 1;
  for (; first < words.size() && words[first].size() > 1 && words[first].starts_with('-'); ++first)
    options += words[first];
  const auto has = [&options](char option) { return options.find(option) != options.npos; };
  // declare -p, export -p: nothing but the names would be told.
  int status = 0;
  for (std::size_t i = first; i < words.size(); ++i) {
    const std::string& text = words[i];
    const std::size_t equals = text.find('=');
    const std::string name = text.substr(0, equals);
    const bool assigns = equals != text.npos;
    if (by == "export" && has('n')) {
      variables_.unexport(name);
      continue;
    }
    if (assigns && refuses(name, is_bash() ? "" : by + ": ")) {
      if (!is_bash()) return leave(misused_code);
      if (scope_.exits_on_error) return leave(1);  // whoever asks
      status = 1;
      continue;
    }
    const bool local = by == "local" || (declares && scope_.calls > 0 && !has('g'));
    if (local) variables_.local(text, !is_bash());
    if (by == "export" || has('x')) variables_.export_variable(local ? name : text);
    const bool set = local || by == "export" || has('x');
    if (!set && assigns) variables_.set(name, text.substr(equals + 1));
    if (!assigns && has('a') && !variables_.elements(name)) variables_.set_elements(name, {});
    if (by == "readonly" || has('r')) variables_.make_readonly(name);
  }
  done(status);
}

void Interpreter::let(const Strings& words, const Done& done) {
  std::int64_t last = 0;
  for (std::size_t i = 1; i < words.size(); ++i) {
    const auto value = arithmetic(words[i], variables_);
    if (!value) {
      complain("let: " + value.error().message);
      return done(1);
    }
    last = *value;
  }
  if (words.size() == 1) complain("let: expression expected");
  done(last != 0 ? 0 : 1);
}

// "keyword", "function", "builtin", "file"; empty: there is no such command.
std::string_view Interpreter::kind_of(const std::string& name) const {
  if (std::find(keywords.begin(), keywords.end(), name) != keywords.end()) return "keyword";
  if (scope_.functions.contains(name)) return "function";
  if (BuiltIns::row(name, scope_.dialect) != nullptr) return "builtin";
  return has_program(name, process_) ? "file" : "";
}

// command -v NAME...: whether there is such a command, and where.
void Interpreter::look_for(const Strings& words, const Done& done) {
  if (words.size() < 2) return done(0);
  if (words[1] == "-V") {
    Strings names{"type"};
    names.insert(names.end(), words.begin() + 2, words.end());
    return tell_kinds(names, done);
  }
  // dash looks at the first alone.
  const std::size_t size = is_bash() ? words.size() : std::min<std::size_t>(3, words.size());
  bool any = false;
  for (std::size_t i = 2; i < size; ++i) {
    const std::string_view kind = kind_of(words[i]);
    if (!kind.empty()) process_.print(kind == "file" ? path_of_program(words[i]) : words[i]);
    any = any || !kind.empty();
  }
  done(any ? 0 : is_bash() ? 1 : not_found_code);
}

// type NAME...; bash's -t, -p and -P.
void Interpreter::tell_kinds(const Strings& words, const Done& done) {
  const std::string option =
      is_bash() && words.size() > 1 && words[1].starts_with('-') ? words[1] : "";
  int status = 0;
  for (std::size_t i = option.empty() ? 1 : 2; i < words.size(); ++i) {
    const std::string& name = words[i];
    std::string_view kind = kind_of(name);
    if (option == "-P") kind = has_program(name, process_) ? "file" : "";
    if (kind.empty()) status = is_bash() ? 1 : not_found_code;
    if (option == "-t") {
      if (!kind.empty()) process_.print(std::string(kind));
    } else if (option == "-p" || option == "-P") {
      if (kind == "file") process_.print(path_of_program(name));
    } else if (kind.empty()) {
      if (is_bash()) complain(fmt::format("type: {}: not found", name));
      if (!is_bash()) process_.print(name + ": not found");
    } else if (kind == "file") {
      process_.print(fmt::format("{} is {}", name, path_of_program(name)));
    } else {
      const bool special = !is_bash() && kind == "builtin" && is_special(name);
      const std::string_view shell = kind == "function" && is_bash() ? "" : "shell ";
      process_.print(fmt::format("{} is a {}{}{}", name, special ? "special " : "", shell, kind));
    }
  }
  done(status);
}

}  // namespace ddptwin::model::shell
