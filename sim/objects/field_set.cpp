#include "objects/field_set.hpp"

#include <algorithm>
#include <array>
#include <boost/json.hpp>
#include <optional>

#include "objects/json_text.hpp"

namespace ddptwin {
namespace {

namespace json = boost::json;

// By PathElement::Kind.
constexpr std::array<char, 4> wire_letters{'f', 'k', 'v', 'i'};

bool is_decimal_digit(char c) { return c >= '0' && c <= '9'; }

// The digits that stand around a place of a text, but for those in front of `from`.
std::string_view digits_at(std::string_view text, std::size_t from, std::size_t place) {
  std::size_t begin = place, end = place;
  while (begin > from && is_decimal_digit(text[begin - 1])) --begin;
  while (end < text.size() && is_decimal_digit(text[end])) ++end;
  return text.substr(begin, end - begin);
}

// Two JSON texts: numbers that stand at the same place of both by their size, all else by its
// characters.
std::strong_ordering compare_json(std::string_view a, std::string_view b) {
  const std::size_t size = std::min(a.size(), b.size());
  std::size_t at = 0;
  bool in_text = false;
  for (; at < size && a[at] == b[at]; ++at)
    if (a[at] == '"' && (at == 0 || a[at - 1] != '\\')) in_text = !in_text;
  if (!in_text) {
    const std::string_view left = digits_at(a, 0, at), right = digits_at(b, 0, at);
    if (!left.empty() && !right.empty() && left.size() != right.size())
      return left.size() <=> right.size();
  }
  return a.compare(b) <=> 0;
}

template <class Set>
auto place_of(Set& below, const PathElement& step) {
  return std::lower_bound(below.begin(), below.end(), step,
                          [](const FieldSet::Branch& branch, const PathElement& wanted) {
                            return branch.first < wanted;
                          });
}

void collect_paths(const FieldSet& set, FieldPathTo& path, std::vector<FieldPathTo>& out) {
  for (const auto& [step, inner] : set.below) {
    path.push_back(step);
    if (inner.itself) out.push_back(path);
    path.pop_back();
  }
  for (const auto& [step, inner] : set.below) {
    path.push_back(step);
    collect_paths(inner, path, out);
    path.pop_back();
  }
}

void add_branch(FieldSet& set, const PathElement& step, FieldSet inner) {
  if (!inner.empty()) set.below.emplace_back(step, std::move(inner));
}

}  // namespace

std::strong_ordering PathElement::operator<=>(const PathElement& other) const {
  if (kind != other.kind) return kind <=> other.kind;
  return kind == Kind::field ? text.compare(other.text) <=> 0 : compare_json(text, other.text);
}

std::string PathElement::shown() const {
  switch (kind) {
    case Kind::field:
      return "." + text;
    case Kind::index:
      return "[" + text + "]";
    case Kind::value:
      return "[=" + text + "]";
    case Kind::key:
      break;
  }
  std::string out = "[";
  const Json keys = json::parse(text);
  for (const auto& member : keys.as_object())
    out += (out.size() > 1 ? "," : "") + std::string(member.key()) + "=" +
           json::serialize(member.value());
  return out + "]";
}

std::string PathElement::wire() const {
  return std::string{wire_letters[static_cast<std::size_t>(kind)], ':'} + text;
}

std::optional<PathElement> PathElement::read(std::string_view wire) {
  const auto letter =
      std::find(wire_letters.begin(), wire_letters.end(), wire.empty() ? '\0' : wire[0]);
  if (wire.size() < 2 || wire[1] != ':' || letter == wire_letters.end()) return std::nullopt;
  PathElement out{static_cast<Kind>(letter - wire_letters.begin()), std::string(wire.substr(2))};
  if (out.kind == Kind::field) return out;
  boost::system::error_code broken;
  const Json value = json::parse(out.text, broken);
  if (broken || (out.kind == Kind::key && !value.is_object())) return std::nullopt;
  return out;
}

std::string shown(const FieldPathTo& path) {
  std::string out;
  for (const PathElement& step : path) out += step.shown();
  return out;
}

const FieldSet* FieldSet::find(const PathElement& step) const {
  const auto at = place_of(below, step);
  return at != below.end() && at->first == step ? &at->second : nullptr;
}

bool FieldSet::has(const PathElement& step) const {
  const FieldSet* found = find(step);
  return found != nullptr && found->itself;
}

FieldSet& FieldSet::descend(const PathElement& step) {
  auto at = place_of(below, step);
  if (at == below.end() || at->first != step) at = below.emplace(at, step, FieldSet());
  return at->second;
}

void FieldSet::insert(const FieldPathTo& path) {
  FieldSet* at = this;
  for (const PathElement& step : path) at = &at->descend(step);
  at->itself = true;
}

std::vector<FieldPathTo> FieldSet::paths() const {
  std::vector<FieldPathTo> out;
  FieldPathTo path;
  collect_paths(*this, path, out);
  return out;
}

FieldSet FieldSet::united(const FieldSet& other) const {
  FieldSet out{itself || other.itself, {}};
  auto a = below.begin();
  auto b = other.below.begin();
  while (a != below.end() || b != other.below.end()) {
    if (b == other.below.end() || (a != below.end() && a->first < b->first)) {
      out.below.push_back(*a++);
    } else if (a == below.end() || b->first < a->first) {
      out.below.push_back(*b++);
    } else {
      out.below.emplace_back(a->first, a->second.united(b->second));
      ++a, ++b;
    }
  }
  return out;
}

FieldSet FieldSet::common(const FieldSet& other) const {
  FieldSet out{itself && other.itself, {}};
  for (const auto& [step, inner] : below)
    if (const FieldSet* theirs = other.find(step)) add_branch(out, step, inner.common(*theirs));
  return out;
}

FieldSet FieldSet::without(const FieldSet& other) const {
  FieldSet out{itself && !other.itself, {}};
  for (const auto& [step, inner] : below) {
    const FieldSet* theirs = other.find(step);
    add_branch(out, step, theirs != nullptr ? inner.without(*theirs) : inner);
  }
  return out;
}

FieldSet FieldSet::excluding(const FieldSet& other) const {
  FieldSet out{itself && !other.itself, {}};
  for (const auto& [step, inner] : below) {
    const FieldSet* theirs = other.find(step);
    if (theirs == nullptr)
      out.below.emplace_back(step, inner);
    else if (!theirs->itself)
      add_branch(out, step, inner.excluding(*theirs));
  }
  return out;
}

Json FieldSet::wire() const {
  json::object out;
  for (const auto& [step, inner] : below) {
    Json value = inner.wire();
    if (inner.itself && !inner.below.empty()) {
      json::object with_itself{{".", json::object()}};
      for (auto& member : value.get_object()) with_itself[member.key()] = member.value();
      value = std::move(with_itself);
    }
    out[step.wire()] = std::move(value);
  }
  return out;
}

FieldSet FieldSet::read(const Json& wire) {
  FieldSet out;
  if (!wire.is_object()) return out;
  for (const auto& member : wire.get_object()) {
    const auto step = PathElement::read(member.key());
    if (!step) continue;
    FieldSet inner = read(member.value());
    const json::object* said = member.value().if_object();
    inner.itself = said == nullptr || said->empty() || said->contains(".");
    if (!inner.empty()) out.descend(*step) = std::move(inner);
  }
  return out;
}

}  // namespace ddptwin
