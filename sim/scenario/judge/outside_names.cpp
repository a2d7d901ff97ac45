#include "scenario/judge/outside_names.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "scenario/words/names.hpp"

namespace ddptwin::scenario {
namespace {

constexpr std::size_t told_max = 3;  // of those who asked for one name

// The name of a question ("example.org. A"), as a file would spell it.
std::string name_in(std::string_view question) {
  std::string name(question.substr(0, question.find(' ')));
  if (name.ends_with('.')) name.pop_back();
  std::transform(name.begin(), name.end(), name.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return name;
}

std::string_view client_of(const Record& record) {
  for (const auto& [name, value] : record.values)
    if (name == "client") return value;
  return {};
}

}  // namespace

bool OutsideNames::is_outside(std::string_view name) const {
  const std::size_t dot = name.rfind('.');
  if (dot == std::string_view::npos || scenario_.outside_names.contains(name)) return false;
  if (name.ends_with("." + scenario_.domain) || name.ends_with(".arpa")) return false;
  // "master.default" and "master.default.svc" are short for names of the cluster.
  const std::string_view last = name.substr(dot + 1);
  return last != "svc" && !observer_.objects(Namespace::info()).contains(last) &&
         last != scenario_.namespace_;
}

void OutsideNames::on_record(const Record& record) {
  if (record.kind != RecordKind::dns || record.text != "NXDOMAIN") return;
  const std::string name = name_in(record.subject);
  if (!is_outside(name)) return;
  const std::string_view client = client_of(record);
  std::string by(client);
  for (const auto& [key, seen] : observer_.objects(Pod::info()))
    if (!seen.gone && !client.empty() && as<Pod>(*seen.last)->status.rest->podIP == client)
      by = pod_name(key);
  asked_[name].insert(std::move(by));
}

std::vector<std::string> OutsideNames::notes() const {
  std::vector<std::string> notes;
  for (const auto& [name, by] : asked_) {
    std::vector<std::string> told(
        by.begin(),
        std::next(by.begin(), static_cast<std::ptrdiff_t>(std::min(by.size(), told_max))));
    if (by.size() > told_max) told.push_back(fmt::format("{} more", by.size() - told_max));
    notes.push_back(
        fmt::format("{} asked for {}, and got NXDOMAIN: the twin has no names outside the cluster "
                    "but those that spec.cluster.outsideNames gives addresses",
                    fmt::join(told, ", "), name));
  }
  return notes;
}

}  // namespace ddptwin::scenario
