#include "compare.hpp"

#include <algorithm>
#include <array>
#include <regex>

namespace ddptwin::golden {
namespace {

namespace json = boost::json;

// What a run cannot repeat, and what stands for it in a pattern.
struct Wildcard {
  std::string_view token;
  std::string_view pattern;
};
constexpr std::array wildcards{
    Wildcard{"<dump>", ".*"},
    Wildcard{"<diff>", ".*"},
    Wildcard{"<rv>", "[0-9]+"},
    Wildcard{"<uid>", "[-0-9a-f]{36}|uid\\([^)]*\\)"},
    Wildcard{"<ip>", "[0-9.]+|ip\\([^)]*\\)"},
    Wildcard{"<d>", "[0-9a-zµ.]+"},
    Wildcard{"<continue>", ".*"},
    Wildcard{"<age>", "[0-9a-z]+"},
    Wildcard{"<random>", "[0-9a-z]+"},
    Wildcard{"~?", "(~[0-9]+|[0-9a-z]{5})"},
};

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (std::string_view("\\^$.|?*+()[]{}").find(c) != std::string_view::npos) out.push_back('\\');
    out.push_back(c);
  }
  return out;
}

// Endpoints and their slices are made by controllers whose races no recording pins: how often each
// was made anew is not compared.
std::string without_racy_incarnations(const std::string& text) {
  static const std::regex incarnation(R"((uid\((?:Endpoints|EndpointSlice)/[^)#]*)#\d+\))");
  return std::regex_replace(text, incarnation, "$1)");
}

std::string shown(const Json* value) {
  if (value == nullptr) return "(absent)";
  std::string text = json::serialize(*value);
  constexpr std::size_t shown_max = 400;
  return text.size() > shown_max ? text.substr(0, shown_max) + "..." : text;
}

Mismatch differ(const std::string& path, const Json* expected, const Json* actual) {
  return {path.empty() ? "(whole)" : path, shown(expected), shown(actual)};
}

struct StepTime {
  int step = 0;
  Duration offset{};
};

std::optional<StepTime> step_time(const std::string& text) {
  static const std::regex form(R"(@(\d+)(?:([+-]\d+)s)?)");
  std::smatch match;
  if (!std::regex_match(text, match, form)) return std::nullopt;
  return StepTime{std::stoi(match[1].str()),
                  std::chrono::seconds(match[2].matched ? std::stoll(match[2].str()) : 0)};
}

// A recorded instant is known to its step; the wire keeps whole seconds.
bool within(const Symbols& symbols, const StepTime& expected, Time actual) {
  const Time from = (symbols.begin_of(expected.step) + expected.offset).floor_seconds() - 1s;
  const Time until = symbols.begin_of(expected.step + 1) + expected.offset + 1s;
  return actual <= until && (actual >= from || expected.step == 0);
}

std::optional<Mismatch> text_mismatch(const Symbols& symbols, const Json& expected,
                                      const Json& actual, const std::string& path) {
  const std::string want(expected.get_string());
  if (const auto time = step_time(want)) {
    const auto instant =
        actual.is_string() ? parse_rfc3339(std::string_view(actual.get_string())) : std::nullopt;
    if (instant && within(symbols, *time, *instant)) return std::nullopt;
    if (!instant) return differ(path, &expected, &actual);
    return Mismatch{
        path, want,
        "@" + std::to_string(symbols.step_of(*instant)) + " (" + format_rfc3339(*instant) + ")"};
  }
  if (actual.is_string() && want == "<random>") return std::nullopt;  // bytes of any length
  if (actual.is_string() && matches(want, std::string(actual.get_string()))) return std::nullopt;
  return differ(path, &expected, &actual);
}

// Upstream packs the addresses of an Endpoints by the ports that they have, and these by a hash of
// each (pkg/api/v1/endpoints), as it does with the ports of a slice: neither the order of subsets
// nor that of ports is decided.
Json in_one_order(const Json& packed) {
  Json sorted = packed;
  const auto by_text = [](const Json& a, const Json& b) {
    return json::serialize(a) < json::serialize(b);
  };
  if (!sorted.is_array()) return sorted;
  auto& list = sorted.get_array();
  const auto ports_of = [](const Json& subset) {
    const auto* object = subset.if_object();
    const Json* ports = object == nullptr ? nullptr : object->if_contains("ports");
    return ports == nullptr ? std::string() : json::serialize(*ports);
  };
  for (Json& subset : list)
    if (Json* ports = subset.is_object() ? subset.get_object().if_contains("ports") : nullptr;
        ports != nullptr && ports->is_array())
      std::sort(ports->get_array().begin(), ports->get_array().end(), by_text);
  std::stable_sort(list.begin(), list.end(), [&](const Json& a, const Json& b) {
    const std::string a_ports = ports_of(a), b_ports = ports_of(b);
    return a_ports != b_ports ? a_ports < b_ports : a_ports.empty() && by_text(a, b);
  });
  return sorted;
}

}  // namespace

bool matches(const std::string& expected, const std::string& actual) {
  const std::string want = without_racy_incarnations(expected),
                    have = without_racy_incarnations(actual);
  if (want == have) return true;
  std::string pattern;
  bool wild = false;
  for (std::size_t at = 0; at < want.size();) {
    const Wildcard* here = nullptr;
    for (const Wildcard& w : wildcards)
      if (want.compare(at, w.token.size(), w.token) == 0) here = &w;
    if (here != nullptr) {
      pattern += "(?:" + std::string(here->pattern) + ")";
      at += here->token.size();
      wild = true;
    } else {
      pattern += escaped(want.substr(at, 1));
      ++at;
    }
  }
  return wild && std::regex_match(have, std::regex(pattern));
}

std::optional<Mismatch> mismatch(const Symbols& symbols, const Json& expected, const Json& actual,
                                 const std::string& path) {
  if (expected.is_object()) {
    if (!actual.is_object()) return differ(path, &expected, &actual);
    const auto child = [&](std::string_view key) {
      return path.empty() ? std::string(key) : path + "." + std::string(key);
    };
    for (const auto& member : expected.get_object()) {
      const Json* found = actual.get_object().if_contains(member.key());
      if (found == nullptr) return differ(child(member.key()), &member.value(), nullptr);
      const bool is_packed =
          member.key() == "subsets" ||
          (member.key() == "ports" && expected.get_object().contains("addressType"));  // of a slice
      if (auto wrong = is_packed ? mismatch(symbols, in_one_order(member.value()),
                                            in_one_order(*found), child(member.key()))
                                 : mismatch(symbols, member.value(), *found, child(member.key())))
        return wrong;
    }
    for (const auto& member : actual.get_object())
      if (!expected.get_object().contains(member.key()))
        return differ(child(member.key()), nullptr, &member.value());
    return std::nullopt;
  }
  if (expected.is_array()) {
    if (!actual.is_array()) return differ(path, &expected, &actual);
    const auto &want = expected.get_array(), &have = actual.get_array();
    for (std::size_t i = 0; i < std::max(want.size(), have.size()); ++i) {
      const std::string at = path + "[" + std::to_string(i) + "]";
      if (i >= want.size()) return differ(at, nullptr, &have[i]);
      if (i >= have.size()) return differ(at, &want[i], nullptr);
      if (auto wrong = mismatch(symbols, want[i], have[i], at)) return wrong;
    }
    return std::nullopt;
  }
  if (expected.is_string()) return text_mismatch(symbols, expected, actual, path);
  const bool numbers = expected.is_number() && actual.is_number();
  const bool same =
      numbers ? expected.to_number<double>() == actual.to_number<double>() : expected == actual;
  return same ? std::nullopt : std::optional(differ(path, &expected, &actual));
}

}  // namespace ddptwin::golden
