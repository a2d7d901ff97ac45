#include "shorthands.hpp"

#include <algorithm>
#include <array>
#include <fstream>
#include <iterator>

#include "objects/patch.hpp"
#include "objects/yaml.hpp"

namespace ddptwin::conformance {

namespace json = boost::json;

void merge(json::object& to, const json::value& patch) {
  to = std::move(apply_merge_patch(to, patch)->as_object());
}

namespace {

json::array variables_of(const json::value& said) {
  json::array env;
  for (const auto& variable : said.as_object())
    env.push_back(json::object{{"name", variable.key()}, {"value", variable.value()}});
  return env;
}

// `set`: a DDPSet of four pods with these fields of its spec; `env`, `container` and `pod` are
// further ones of its template.
json::object ddpset_of(const json::object& said, std::string_view name) {
  json::object pod{{"terminationGracePeriodSeconds", 1}};
  json::array env;
  json::object container{{"name", "train"}, {"image", "train"}};
  json::object spec{{"replicas", 4}};
  for (const auto& member : said) {
    const std::string_view key = member.key();
    if (key == "env")
      env = variables_of(member.value());
    else if (key == "pod")
      merge(pod, member.value());
    else if (key == "container")
      merge(container, member.value());
    else
      spec[key] = member.value();
  }
  container["env"] = std::move(env);
  pod["containers"] = json::array{std::move(container)};
  spec["template"] = json::object{{"spec", std::move(pod)}};
  return {{"apiVersion", "platform.ddptwin.dev/v1alpha1"},
          {"kind", "DDPSet"},
          {"metadata", json::object{{"name", name}}},
          {"spec", std::move(spec)}};
}

// One group of a PyTorchTrainingJob. `sh` is its command as a shell's script; `env`, `container`
// and `pod` are further fields, `before` and `beside` further containers.
void fill_group(json::object& group, const json::object& said) {
  json::object pod{{"terminationGracePeriodSeconds", 1}};
  json::object container{{"name", "pytorch"},
                         {"image", "train"},
                         {"command", json::array{"python"}},
                         {"args", json::array{"train.py"}}};
  json::array before, beside;
  for (const auto& member : said) {
    const std::string_view key = member.key();
    const json::value& value = member.value();
    if (key == "sh") {
      container["command"] = json::array{"sh", "-c", value};
      container.erase("args");
    } else if (key == "env") {
      container["env"] = variables_of(value);
    } else if (key == "container") {
      merge(container, value);
    } else if (key == "pod") {
      merge(pod, value);
    } else if (key == "before") {
      before = value.as_array();
    } else if (key == "beside") {
      beside = value.as_array();
    } else {
      merge(group, json::object{{key, value}});
    }
  }
  json::array containers = std::move(before);
  containers.push_back(std::move(container));
  containers.insert(containers.end(), beside.begin(), beside.end());
  pod["containers"] = std::move(containers);
  group["template"] = json::object{{"spec", std::move(pod)}};
}

bool is_of_a_group(std::string_view key) {
  constexpr std::array<std::string_view, 9> keys{
      "type", "replicas", "restartPolicy", "sh", "env", "container", "pod", "before", "beside"};
  return std::find(keys.begin(), keys.end(), key) != keys.end();
}

// `job`: a PyTorchTrainingJob of one group, four workers under OnFailure, or of `groups`; what is
// not a group's is a field of the spec.
json::object training_job_of(const json::object& said, std::string_view name) {
  json::object common, spec;
  for (const auto& member : said)
    if (is_of_a_group(member.key()))
      common[member.key()] = member.value();
    else if (member.key() != "groups")
      spec[member.key()] = member.value();
  json::array groups;
  const json::value* own = said.if_contains("groups");
  const json::array listed = own != nullptr ? own->as_array() : json::array{json::object()};
  for (const json::value& one : listed) {
    json::object all = common;
    for (const auto& member : one.as_object()) all[member.key()] = member.value();
    json::object group{{"type", "worker"}, {"replicas", 4}, {"restartPolicy", "OnFailure"}};
    fill_group(group, all);
    groups.push_back(std::move(group));
  }
  spec["replicaSpecs"] = std::move(groups);
  return {{"apiVersion", "batch.tensorstack.dev/v1beta1"},
          {"kind", "PyTorchTrainingJob"},
          {"metadata", json::object{{"name", name}}},
          {"spec", std::move(spec)}};
}

// `task`: a DDPTask of two workers with these fields; `env` is a map.
json::object ddptask_of(const json::object& said, std::string_view name) {
  json::object spec{{"workers", 2}, {"image", "train"}, {"entrypoint", "python train.py"}};
  for (const auto& member : said)
    if (std::string_view(member.key()) == "env")
      spec["env"] = variables_of(member.value());
    else if (member.value().is_null())
      spec.erase(member.key());
    else
      spec[member.key()] = member.value();
  return {{"apiVersion", "aistudio.twin/v1"},
          {"kind", "DDPTask"},
          {"metadata", json::object{{"name", name}}},
          {"spec", std::move(spec)}};
}

constexpr std::array shorthand_rows{Shorthand{"set", "train", &ddpset_of},
                                    Shorthand{"job", "j", &training_job_of},
                                    Shorthand{"task", "t", &ddptask_of}};

}  // namespace

namespace {

bool is_left_out(std::string_view line) {
  line.remove_prefix(std::min(line.find_first_not_of(" -"), line.size()));
  return line == "...";
}

// Its documents, without what the page leaves out. An item of a list that is left out leaves the
// rest of that item in its place.
std::vector<json::object> documents_of(const std::string& file) {
  std::ifstream in(file);
  std::string text;
  for (std::string line; std::getline(in, line);) {
    if (!is_left_out(line)) {
      text += line + "\n";
      continue;
    }
    const std::size_t dash = line.find('-');
    if (dash != line.npos) text += line.substr(0, dash) + "- name: pytorch\n";
  }
  const auto parsed = parse_yaml(text, file);
  if (!parsed) throw std::runtime_error(parsed.error().text());
  std::vector<json::object> all;
  for (const YamlDocument& document : *parsed) all.push_back(document.value.as_object());
  return all;
}

void lay_over(json::value& to, const json::value& from) {
  if (to.is_object() && from.is_object()) {
    for (const auto& member : from.get_object())
      if (json::value* old = to.get_object().if_contains(member.key()))
        lay_over(*old, member.value());
      else
        to.get_object()[member.key()] = member.value();
    return;
  }
  const bool items = to.is_array() && from.is_array() && !from.get_array().empty() &&
                     from.get_array().front().is_object();
  if (!items) {
    to = from;
    return;
  }
  for (std::size_t i = 0; i < from.get_array().size(); ++i)
    if (i < to.get_array().size())
      lay_over(to.get_array()[i], from.get_array()[i]);
    else
      to.get_array().push_back(from.get_array()[i]);
}

}  // namespace

json::object block_of_page(const std::string& folder, const std::string& file, int part) {
  json::value whole = documents_of(folder + "/01.yaml").front();
  lay_over(whole, documents_of(folder + "/" + file).at(static_cast<std::size_t>(part)));
  return whole.as_object();
}

std::span<const Shorthand> shorthands() { return shorthand_rows; }

}  // namespace ddptwin::conformance
