#include "symbols.hpp"

#include <fmt/format.h>

#include <boost/uuid/detail/sha1.hpp>
#include <regex>

#include "objects/apps_v1.hpp"
#include "objects/kinds.hpp"

namespace ddptwin::golden {
namespace {

namespace json = boost::json;

constexpr std::size_t uid_length = 36;
constexpr std::size_t prefix_length_max = 58, drawn_length = 5;

void replace_all(std::string& text, const std::string& from, const std::string& to) {
  for (std::size_t at = text.find(from); at != std::string::npos;
       at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
}

bool is_letter_or_digit(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}
bool continues_name(char c) { return is_letter_or_digit(c) || c == '-' || c == '.'; }
bool continues_address(char c) { return c == '.' || (c >= '0' && c <= '9'); }

// Replaces `from` where it is not part of something longer. A generated name may be the beginning
// of the name of what was made for it.
template <class Before, class After>
void replace_words(std::string& text, const std::string& from, const std::string& to, Before before,
                   After after) {
  for (std::size_t at = text.find(from); at != std::string::npos;) {
    const std::size_t end = at + from.size();
    const bool full_stop = end + 1 == text.size() && text[end] == '.';
    if ((at == 0 || !before(text[at - 1])) &&
        (end == text.size() || full_stop || !after(text[end]))) {
      text.replace(at, from.size(), to);
      at = text.find(from, at + to.size());
    } else {
      at = text.find(from, at + 1);
    }
  }
}

void replace_name(std::string& text, const std::string& from, const std::string& to) {
  replace_words(text, from, to, continues_name, is_letter_or_digit);
}
void replace_address(std::string& text, const std::string& from, const std::string& to) {
  replace_words(text, from, to, continues_address, continues_address);
}

template <class F>
Json map_strings(const Json& value, const F& f) {
  if (value.is_string()) return Json(f(std::string(value.get_string())));
  if (value.is_array()) {
    json::array out;
    for (const Json& element : value.get_array()) out.push_back(map_strings(element, f));
    return out;
  }
  if (value.is_object()) {
    json::object out;
    for (const auto& member : value.get_object())
      out.emplace(f(std::string(member.key())), map_strings(member.value(), f));
    return out;
  }
  return value;
}

// What JobSet tells a Job from others by.
std::string job_key_in_default(std::string_view job) {
  const std::string text = fmt::format("default/{}", job);
  boost::uuids::detail::sha1 sum;
  sum.process_bytes(text.data(), text.size());
  boost::uuids::detail::sha1::digest_type words;
  sum.get_digest(words);
  std::string hex;
  for (const unsigned int word : words) hex += fmt::format("{:08x}", word);
  return hex;
}

}  // namespace

void Symbols::learn(const Object& object) {
  const std::string& kind = object.kind().kind;
  const std::string name = object.metadata.name.str();
  std::string prefix = object.metadata.rest->generateName.str().substr(0, prefix_length_max);
  // A StatefulSet's pods have a generateName, too, and names that are not drawn.
  const bool is_drawn = name.starts_with(prefix) && name.size() == prefix.size() + drawn_length;
  if (!prefix.empty() && is_drawn && !names_.contains(name))
    names_[name] = symbolic(prefix) + "~" + std::to_string(++generated_[kind + "/" + prefix]);
  if (as<ControllerRevision>(object) != nullptr) learn_revision(object);
  // Recordings have it of the namespace that they show.
  if (const Text* key = object.metadata.label("jobset.sigs.k8s.io/job-key");
      key != nullptr && kind == "Job")
    names_.emplace(key->str(), job_key_in_default(name));
  const std::string space = object.metadata.namespace_.str();
  const std::string path =
      (space.empty() || space == namespace_ ? "" : space + "/") + name_of(object);
  if (!uids_.contains(object.metadata.uid.str())) {
    const int incarnation = ++incarnations_[object.kind().group + "/" + kind + "/" + path];
    uids_[object.metadata.uid.str()] =
        kind + "/" + path + (incarnation > 1 ? "#" + std::to_string(incarnation) : std::string());
  }
  const std::string known = uids_[object.metadata.uid.str()];
  if (const Pod* pod = as<Pod>(object);
      pod != nullptr && !pod->status.rest->podIP.empty() && !pod->spec->hostNetwork) {
    const std::string ip = pod->status.rest->podIP.str();
    const auto found = addresses_.find(ip);
    if (found == addresses_.end() || !found->second.starts_with("ip(" + known + ")")) {
      const int count = ++address_counts_[object.metadata.uid.str()];
      addresses_[ip] =
          "ip(" + known + ")" + (count > 1 ? "~" + std::to_string(count) : std::string());
    }
  }
  if (const Service* service = as<Service>(object); service != nullptr && space == namespace_ &&
                                                    !service->spec->clusterIP.empty() &&
                                                    service->spec->clusterIP != "None")
    addresses_[service->spec->clusterIP] = "ip(" + known + ")";
}

void Symbols::learn_revision(const Object& revision) {
  const std::string name = revision.metadata.name.str();
  const Text* hash = revision.metadata.label("controller.kubernetes.io/hash");
  if (hash == nullptr || !name.ends_with("-" + hash->str()) || names_.contains(name)) return;
  const std::string prefix = name.substr(0, name.size() - hash->size());
  const std::string number = std::to_string(++generated_["ControllerRevision/" + prefix]);
  names_[name] = symbolic(prefix) + "~rev" + number;
  names_.emplace(hash->str(), "~hash" + number);
}

std::string Symbols::name_of(const Object& object) const {
  std::string name = object.metadata.name.str();
  for (const auto& [generated, symbol] : names_) replace_name(name, generated, symbol);
  return name;
}

std::string Symbols::key_of(const Object& object) const {
  // A HorizontalPodAutoscaler is listed by its oldest version.
  const KindInfo& kind = object.kind();
  const std::string version =
      kind.kind == "HorizontalPodAutoscaler" ? "autoscaling/v1" : kind.api_version();
  const std::string space = object.metadata.namespace_.str();
  return version + "/" + kind.kind + "/" +
         (space.empty() || space == namespace_ ? "" : space + "/") + name_of(object);
}

std::string Symbols::symbolic(std::string text) const {
  if (text.size() >= uid_length)
    for (const auto& [uid, symbol] : uids_) replace_all(text, uid, "uid(" + symbol + ")");
  for (const auto& [name, symbol] : names_)
    if (text.size() >= name.size()) replace_name(text, name, symbol);
  if (!host_ip_.empty()) {
    for (const auto& [ip, symbol] : addresses_) replace_address(text, ip, symbol);
    replace_address(text, host_ip_, "<hostIP>");
  }
  replace_all(text, namespace_, "default");
  replace_in_snapshot(text);
  return text;
}

// An object in a text, as Trainer keeps a runtime: its time is that of a step there, too, and its
// version stands there without quotes.
void Symbols::replace_in_snapshot(std::string& text) const {
  if (!text.starts_with("apiVersion: ")) return;
  static const std::regex time(R"re(\n  creationTimestamp: "([^"]*)")re"),
      version(R"re(\n  resourceVersion: "([0-9]+)")re");
  std::smatch match;
  if (std::regex_search(text, match, time))
    if (const auto instant = parse_rfc3339(match[1].str()))
      text.replace(static_cast<std::size_t>(match.position(1)),
                   static_cast<std::size_t>(match.length(1)),
                   fmt::format("@{}", step_of(*instant)));
  text = std::regex_replace(text, version, "\n  resourceVersion: $1");
}

Json Symbols::symbolic(const Json& value) const {
  return map_strings(value, [this](std::string text) { return symbolic(std::move(text)); });
}

std::string Symbols::actual(std::string text) const {
  replace_all(text, "$(NS)", namespace_);
  if (text.find("uid(") != std::string::npos)
    for (const auto& [uid, symbol] : uids_) replace_all(text, "uid(" + symbol + ")", uid);
  if (text.find('~') != std::string::npos)
    for (const auto& [name, symbol] : names_) replace_all(text, symbol, name);
  static const std::regex now(R"(\$\(NOW(u?)([-+]\d+)?\))");
  for (std::smatch match; std::regex_search(text, match, now);) {
    const Time time =
        now_ + std::chrono::seconds(match[2].matched ? std::stoll(match[2].str()) : 0);
    const std::string shown =
        match[1].length() > 0 ? format_rfc3339_micro(time) : format_rfc3339(time);
    text = match.prefix().str() + shown + match.suffix().str();
  }
  static const std::regex pad(R"(\$\(PAD (\d+)\))");
  for (std::smatch match; std::regex_search(text, match, pad);)
    text =
        match.prefix().str() + std::string(std::stoul(match[1].str()), 'x') + match.suffix().str();
  return text;
}

Json Symbols::actual(const Json& value) const {
  return map_strings(value, [this](std::string text) { return actual(std::move(text)); });
}

int Symbols::step_of(Time time) const {
  int step = 0;
  for (std::size_t i = 0; i < step_begins_.size(); ++i)
    if (step_begins_[i].floor_seconds() <= time) step = static_cast<int>(i);
  return step;
}

Time Symbols::begin_of(int step) const {
  const auto at = static_cast<std::size_t>(step);
  return at < step_begins_.size() ? step_begins_[at] : step_begins_.back() + 3600s;
}

}  // namespace ddptwin::golden
