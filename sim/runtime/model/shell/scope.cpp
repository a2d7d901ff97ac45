#include "runtime/model/shell/scope.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "core/numbers.hpp"
#include "runtime/model/state.hpp"

namespace ddptwin::model::shell {
namespace {

const std::string* find(const Environment& in, std::string_view name) {
  for (const auto& [key, value] : in)
    if (key == name) return &value;
  return nullptr;
}

void erase(Environment& from, const std::string& name) {
  std::erase_if(from, [&name](const auto& variable) { return variable.first == name; });
}

}  // namespace

void put(Environment& to, const std::string& name, std::string value) {
  for (auto& [key, old] : to) {
    if (key != name) continue;
    old = std::move(value);
    return;
  }
  to.emplace_back(name, std::move(value));
}

Status set_options(Scope& scope, const std::vector<std::string>& words, bool arguments) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    const bool option = word.size() > 1 && (word.front() == '-' || word.front() == '+');
    if (!option || word == "--") {
      const auto from = static_cast<std::ptrdiff_t>(word == "--" ? i + 1 : i);
      if (arguments) scope.arguments.assign(words.begin() + from, words.end());
      return {};
    }
    const bool on = word.front() == '-';
    const bool named = word.ends_with('o') && i + 1 < words.size();
    const std::string name = named ? words[i + 1] : std::string();
    if (name == "pipefail" && scope.dialect == Dialect::dash)
      return fail(Reason::invalid, fmt::format("Illegal option {}o pipefail", word.front()));
    if (word.find('a') != word.npos || name == "allexport") scope.exports_all = on;
    if (word.find('e') != word.npos || name == "errexit") scope.exits_on_error = on;
    if (word.find('u') != word.npos || name == "nounset") scope.unset_is_an_error = on;
    if (name == "pipefail") scope.pipe_fails = on;
    if (named) ++i;
  }
  return {};
}

ScopeVariables::ScopeVariables(Scope& scope, Process& process)
    : scope_(scope), process_(process), environment_(process.state().env) {}

// bash's own (bash(1), Shell Variables), of which a script may make others.
std::optional<std::string> ScopeVariables::made_up(std::string_view name) const {
  const auto seconds = [](Duration time) {
    return std::to_string(std::chrono::floor<std::chrono::seconds>(time).count());
  };
  constexpr std::uint64_t random_max = 32767;
  if (scope_.dialect != Dialect::bash) return std::nullopt;
  if (name == "RANDOM") return std::to_string(process_.random().below(random_max + 1));
  if (name == "SECONDS") return seconds(process_.now() - scope_.begun);
  if (name == "EPOCHSECONDS") return seconds(process_.now().since_epoch());
  if (name == "UID" || name == "EUID") return "0";
  if (name == "BASHPID") return std::to_string(process_.pid());
  return std::nullopt;
}

std::optional<std::string> ScopeVariables::value(std::string_view name) const {
  if (name == "?") return std::to_string(scope_.status);
  if (name == "$") return std::to_string(scope_.pid);
  if (name == "!" && scope_.last_job != 0) return std::to_string(scope_.last_job);
  if (const auto number = whole_number<std::uint64_t>(name)) {
    if (*number == 0) return scope_.name;
    if (*number > scope_.arguments.size()) return std::nullopt;
    return scope_.arguments[*number - 1];
  }
  if (const auto array = scope_.arrays.find(name); array != scope_.arrays.end())
    return array->second.empty() ? std::nullopt : std::optional(array->second.front());
  if (const std::string* own = find(scope_.own, name)) return *own;
  if (const std::string* exported = find(environment_, name)) return *exported;
  return made_up(name);
}

void ScopeVariables::set(const std::string& name, std::string value) {
  constexpr std::size_t size_max = std::size_t{1} << 20U;
  if (value.size() > size_max) value.resize(size_max);  // a real shell is killed for it
  if (const auto array = scope_.arrays.find(name); array != scope_.arrays.end()) {
    if (array->second.empty()) array->second.emplace_back();
    array->second.front() = std::move(value);
    return;
  }
  const bool exported = scope_.exports_all || is_exported(name);
  if (exported) erase(scope_.own, name);
  put(exported ? environment_ : scope_.own, name, std::move(value));
}

std::optional<std::vector<std::string>> ScopeVariables::elements(const std::string& name) const {
  if (const auto array = scope_.arrays.find(name); array != scope_.arrays.end())
    return array->second;
  auto one = value(name);
  if (!one) return std::nullopt;
  return std::vector{std::move(*one)};
}

// No environment has arrays.
void ScopeVariables::set_elements(const std::string& name, std::vector<std::string> elements) {
  // A real shell is killed for more.
  constexpr std::size_t elements_max = 100'000, size_max = std::size_t{1} << 20U;
  std::size_t count = 0;
  for (std::size_t size = 0; count < std::min(elements.size(), elements_max); ++count) {
    size += elements[count].size();
    if (size > size_max) break;
  }
  elements.resize(count);
  erase(environment_, name);
  erase(scope_.own, name);
  scope_.arrays.insert_or_assign(name, std::move(elements));
}

// Elements are counted from the first: none is left out between two.
Status ScopeVariables::set_element(const std::string& name, std::int64_t index, std::string value) {
  std::vector<std::string> all = elements(name).value_or(std::vector<std::string>());
  const auto size = static_cast<std::int64_t>(all.size());
  if (index < 0) index += size;
  if (index < 0) return fail(Reason::invalid, fmt::format("{}: bad array subscript", name));
  if (index > size) return fail(unknown("an array with elements left out"));
  if (index == size) all.emplace_back();
  all[static_cast<std::size_t>(index)] = std::move(value);
  set_elements(name, std::move(all));
  return {};
}

std::string ScopeVariables::why_readonly(const std::string& name) const {
  return fmt::format("{}: {}", name,
                     scope_.dialect == Dialect::bash ? "readonly variable" : "is read only");
}

bool ScopeVariables::is_exported(const std::string& name) const {
  return find(environment_, name) != nullptr || scope_.exported.contains(name);
}

const std::string& ScopeVariables::output_of(const Piece& piece) {
  static const std::string nothing;
  const auto found = outputs_.find(&piece);
  if (found == outputs_.end()) return nothing;
  const auto& [text, status] = found->second;
  if (scope_.dialect == Dialect::bash) scope_.status = status;
  return text;
}

void ScopeVariables::unset(const std::string& name) {
  erase(environment_, name);
  erase(scope_.own, name);
  scope_.arrays.erase(name);
  scope_.exported.erase(name);
}

void ScopeVariables::unexport(const std::string& name) {
  const std::optional<std::string> now = value(name);
  if (!is_exported(name)) return;
  erase(environment_, name);
  scope_.exported.erase(name);
  if (now) put(scope_.own, name, *now);
}

void ScopeVariables::export_variable(const std::string& text) {
  const std::size_t equals = text.find('=');
  const std::string name = text.substr(0, equals);
  const std::optional<std::string> now =
      equals == text.npos ? value(name) : text.substr(equals + 1);
  scope_.exported.insert(name);
  if (now) set(name, *now);
}

void ScopeVariables::remember(const std::string& name) {
  if (locals_.empty()) return;  // of a function that a forked shell has left behind
  const auto array = scope_.arrays.find(name);
  locals_.back().push_back(
      {name, value(name), is_exported(name),
       array == scope_.arrays.end() ? std::nullopt : std::optional(array->second),
       is_readonly(name)});
}

void ScopeVariables::end_locals() {
  const std::vector<Before> before = std::move(locals_.back());
  locals_.pop_back();
  for (auto one = before.rbegin(); one != before.rend(); ++one) {
    const auto& [name, value, exported, elements, readonly] = *one;
    if (!readonly) scope_.readonly.erase(name);
    scope_.arrays.erase(name);
    if (elements) {
      set_elements(name, *elements);
      continue;
    }
    if (!value || !exported) erase(environment_, name);
    if (!value || exported) erase(scope_.own, name);
    if (value) put(exported ? environment_ : scope_.own, name, *value);
    if (exported) {
      scope_.exported.insert(name);
    } else {
      scope_.exported.erase(name);
    }
  }
}

void ScopeVariables::local(const std::string& text, bool keeps) {
  const std::size_t equals = text.find('=');
  const std::string name = text.substr(0, equals);
  remember(name);
  if (equals == text.npos && !keeps) unset(name);
  if (equals != text.npos) set(name, text.substr(equals + 1));
}

void ScopeVariables::export_locally(const std::string& name, std::string value) {
  remember(name);
  erase(scope_.own, name);
  scope_.arrays.erase(name);
  put(environment_, name, std::move(value));
}

}  // namespace ddptwin::model::shell
