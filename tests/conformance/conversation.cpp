#include "conversation.hpp"

#include <algorithm>
#include <array>
#include <boost/json.hpp>
#include <fstream>
#include <functional>
#include <map>
#include <sstream>

#include "controller/training_operator/cleanup.hpp"
#include "controller/training_operator/validation.hpp"
#include "controller/training_operator/webhook.hpp"
#include "fake_cluster.hpp"
#include "objects/codec.hpp"
#include "objects/patch.hpp"
#include "objects/pytorchjob_definition.hpp"
#include "objects/schema.hpp"
#include "objects/yaml.hpp"

namespace ddptwin::conformance {
namespace {

namespace json = boost::json;
namespace pj = controller::pytorchjob;

using Words = std::vector<std::string>;
using Lines = std::vector<std::string>;

Words split(const std::string& line) {
  std::istringstream in(line);
  Words words;
  for (std::string word; in >> word;) words.push_back(word);
  return words;
}

// "key=value" words behind the command.
std::map<std::string, std::string> options(const Words& words, std::size_t from) {
  std::map<std::string, std::string> found;
  for (std::size_t i = from; i < words.size(); ++i) {
    const std::size_t at = words[i].find('=');
    found[words[i].substr(0, at)] = at == std::string::npos ? "true" : words[i].substr(at + 1);
  }
  return found;
}

// YAML in one line, or an empty object.
Json flow(const std::string& text) {
  const auto documents = parse_yaml(text, "conversation");
  return documents && !documents->empty() ? documents->front().value : Json(json::object{});
}

struct Talk {
  explicit Talk(const pj::Profile& profile) : cluster(pj::Settings{.profile = profile}) {}
  FakeCluster cluster;
  std::string job = "j";
  Lines answer{};

  const pj::Settings& settings() const { return cluster.controller.settings(); }
  std::shared_ptr<const PyTorchJob> stored_job() const {
    return as<PyTorchJob>(cluster.stored(PyTorchJob::info(), job));
  }
  void configure(const std::function<void(pj::Settings&)>& change) {
    pj::Settings next = settings();
    change(next);
    cluster.controller = pj::PyTorchJobController(std::move(next));
  }
};

// A replica spec out of `master=2`, `policy=Never`, `master.policy=`, `containers=` ...
json::object replica(int replicas, const std::string& policy) {
  json::object spec;
  if (replicas >= 0) spec["replicas"] = replicas;
  if (!policy.empty()) spec["restartPolicy"] = policy;
  const json::object container{{"name", "pytorch"}, {"image", "train"}};
  spec["template"] = json::object{{"spec", json::object{{"containers", json::array{container}}}}};
  return spec;
}

// Where a short option of `job` goes in runPolicy, as YAML.
const std::map<std::string, std::string> run_policy_options{{"clean", "cleanPodPolicy"},
                                                            {"backoff", "backoffLimit"},
                                                            {"deadline", "activeDeadlineSeconds"},
                                                            {"ttl", "ttlSecondsAfterFinished"},
                                                            {"suspend", "suspend"},
                                                            {"managedBy", "managedBy"}};

json::object job_body(const std::map<std::string, std::string>& given, const std::string& name) {
  json::object specs, policy, spec;
  const auto get = [&](const std::string& key) {
    const auto found = given.find(key);
    return found != given.end() ? found->second : std::string();
  };
  for (const auto& [key, type] : {std::pair{"master", "Master"}, std::pair{"worker", "Worker"}}) {
    if (!given.contains(key)) continue;
    const std::string own = get(std::string(key) + ".policy");
    specs[type] =
        replica(get(key) == "nil" ? -1 : std::stoi(get(key)), own.empty() ? get("policy") : own);
  }
  for (const auto& [key, field] : run_policy_options)
    if (given.contains(key)) policy[field] = flow(get(key));
  if (!policy.empty()) spec["runPolicy"] = policy;
  if (given.contains("nproc")) spec["nprocPerNode"] = get("nproc");
  if (given.contains("elastic")) {
    json::object elastic;
    const std::string range = get("elastic");
    if (const std::size_t colon = range.find(':'); colon != std::string::npos) {
      elastic["minReplicas"] = std::stoi(range.substr(0, colon));
      elastic["maxReplicas"] = std::stoi(range.substr(colon + 1));
    }
    spec["elasticPolicy"] = elastic;
  }
  spec["pytorchReplicaSpecs"] = specs;
  return {{"apiVersion", "kubeflow.org/v1"},
          {"kind", "PyTorchJob"},
          {"metadata", json::object{{"name", name}}},
          {"spec", spec}};
}

std::shared_ptr<PyTorchJob> decode_job(Talk& talk, const Json& body) {
  auto decoded = decode_object(talk.cluster.registry(), body);
  if (!decoded) {
    talk.answer.push_back("refused: " + decoded.error().message);
    return nullptr;
  }
  return std::static_pointer_cast<PyTorchJob>(decoded->object);
}

// ---- commands ----

// What the API and the webhook say first; true: it may be stored.
bool admitted(Talk& talk, const Json& body, const PyTorchJob& job, const PyTorchJob* old) {
  const pj::Profile& profile = talk.settings().profile;
  const RawJson definition = pytorchjob_schema({.keyed_lists = profile.keyed_lists,
                                                .immutable_queue = profile.immutable_queue,
                                                .managed_by = profile.managed_by});
  const auto schema = Schema::compile(*definition.get());
  const Json before = old != nullptr ? encode(*old) : Json();
  for (const ErrorCause& cause :
       validate_schema(*schema, body, old != nullptr ? &before : nullptr)) {
    talk.answer.push_back("invalid: " + cause.field + ": " + cause.message);
    return false;
  }
  const pj::Review review = pj::review(job, nullptr, profile);
  for (const std::string& warning : review.warnings) talk.answer.push_back("warning: " + warning);
  if (review.refused) talk.answer.push_back("denied: " + review.refused->message);
  return !review.refused;
}

void store_job(Talk& talk, const Json& body) {
  const auto job = decode_job(talk, body);
  if (!job) return;
  talk.job = job->metadata.name;
  if (!admitted(talk, body, *job, talk.stored_job().get())) return;
  talk.cluster.put(job);
  for (const std::string& panic : talk.cluster.panics)
    talk.answer.push_back("panic in the watch handler: " + panic);
}

void cmd_job(Talk& talk, const Words& words, const std::string&) {
  const auto given = options(words, 1);
  store_job(talk, job_body(given, given.contains("name") ? given.at("name") : "j"));
}

// `new worker=1 {spec: ...}`: the short options of `job`, and a merge patch on what they make.
void cmd_new(Talk& talk, const Words&, const std::string& rest) {
  const std::size_t brace = rest.find('{');
  const auto given = options(split(rest.substr(0, brace)), 0);
  const std::string name = given.contains("name") ? given.at("name") : "j";
  store_job(talk, *apply_merge_patch(job_body(given, name), flow(rest.substr(brace))));
}

void cmd_edit(Talk& talk, const Words&, const std::string& rest) {
  Json body = encode(*talk.stored_job());
  body = *apply_merge_patch(body, flow(rest));
  store_job(talk, body);
}

void cmd_policy(Talk& talk, const Words& words, const std::string&) {
  json::object policy;
  for (const auto& [key, value] : options(words, 1))
    policy[run_policy_options.at(key)] = flow(value);
  cmd_edit(talk, words,
           json::serialize(json::object{{"spec", json::object{{"runPolicy", policy}}}}));
}

// `scale worker 3`: past the webhook, as the scale subresource does.
void cmd_scale(Talk& talk, const Words& words, const std::string&) {
  const std::string type = words.at(1) == "master" ? "Master" : "Worker";
  const json::object replicas{{"replicas", std::stoi(words.at(2))}};
  const json::object patch{
      {"spec", json::object{{"pytorchReplicaSpecs", json::object{{type, replicas}}}}}};
  const Json body = *apply_merge_patch(encode(*talk.stored_job()), patch);
  if (const auto job = decode_job(talk, body)) talk.cluster.put(job);
}

std::string pod_name(const Talk& talk, const std::string& word) {
  if (word.size() < 2 || (word[0] != 'M' && word[0] != 'W') || word[1] < '0' || word[1] > '9')
    return word;
  return talk.job + (word[0] == 'M' ? "-master-" : "-worker-") + word.substr(1);
}

ContainerStatus status_of(const std::string& container, const std::string& phase,
                          const std::map<std::string, std::string>& given) {
  ContainerStatus status;
  status.name = container;
  if (given.contains("restarts")) status.restartCount = std::stoi(given.at("restarts"));
  if (given.contains("waiting")) {
    status.state.waiting = ContainerStateWaiting{given.at("waiting"), "back-off"};
  } else if (given.contains("exit") || phase == "Succeeded") {
    ContainerStateTerminated& end = status.state.terminated.emplace();
    end.exitCode = given.contains("exit") ? std::stoi(given.at("exit")) : 0;
    end.reason = end.exitCode == 0 ? "Completed" : "Error";
  } else {
    status.state.running.emplace();
  }
  return status;
}

// `pod W0 Failed exit=137`: the kubelet's words. Options: exit, restarts, init-restarts, waiting,
// nostatus (evicted), unschedulable.
void cmd_pod(Talk& talk, const Words& words, const std::string&) {
  const auto before = as<Pod>(talk.cluster.stored(Pod::info(), pod_name(talk, words.at(1))));
  if (!before) {
    talk.answer.push_back("no such pod: " + words.at(1));
    return;
  }
  const auto given = options(words, 3);
  auto pod = std::make_shared<Pod>(*before);
  pod->status.phase = words.at(2);
  pod->status.containerStatuses = {};
  pod->status.initContainerStatuses = {};
  if (given.contains("init-restarts")) {
    ContainerStatus& init = pod->status.initContainerStatuses.edit().emplace_back();
    init.name = "init-pytorch";
    init.restartCount = std::stoi(given.at("init-restarts"));
  }
  if (given.contains("unschedulable")) {
    PodCondition scheduled;
    scheduled.type_ = "PodScheduled";
    scheduled.status = "False";
    scheduled.reason = "Unschedulable";
    scheduled.message = "0/1 nodes";
    pod->status.conditions.edit().push_back(scheduled);
  } else if (!given.contains("nostatus") &&
             (pod->status.phase != "Pending" || given.contains("restarts"))) {
    pod->status.containerStatuses.edit().push_back(
        status_of("pytorch", pod->status.phase.str(), given));
  }
  talk.cluster.put(pod);
}

void cmd_gone(Talk& talk, const Words& words, const std::string&) {
  for (std::size_t i = 1; i < words.size(); ++i)
    talk.cluster.drop(Pod::info(), pod_name(talk, words[i]));
}

void cmd_delete(Talk& talk, const Words& words, const std::string&) {
  for (std::size_t i = 1; i < words.size(); ++i)
    talk.cluster.request_deletion(Pod::info(), pod_name(talk, words[i]));
}

// `foreign j-worker-0`: somebody else's pod of that name.
void cmd_foreign(Talk& talk, const Words& words, const std::string&) {
  auto pod = std::make_shared<Pod>();
  pod->metadata.name = words.at(1);
  talk.cluster.put(pod);
}

// `relabel W1 0`: the pod now says that it is replica 0.
void cmd_relabel(Talk& talk, const Words& words, const std::string&) {
  const std::shared_ptr<Object> pod =
      talk.cluster.stored(Pod::info(), pod_name(talk, words.at(1)))->clone();
  pod->metadata.labels.edit()[std::string(pj::label::replica_index)] = words.at(2);
  talk.cluster.put(pod);
}

// ---- what is shown ----

constexpr std::array<std::pair<std::string_view, char>, 6> letters{{{"Created", 'C'},
                                                                    {"Running", 'R'},
                                                                    {"Restarting", 'X'},
                                                                    {"Succeeded", 'S'},
                                                                    {"Failed", 'F'},
                                                                    {"Suspended", 'U'}}};

std::string short_form(const JobCondition& condition) {
  for (const auto& [type, letter] : letters)
    if (type == condition.type_)
      return std::string(1, letter) + (condition.status == "True" ? "+" : "-");
  return condition.type_;
}

std::string since(const std::optional<Time>& time) {
  static const Time start = *parse_rfc3339("2026-01-01T00:00:00Z");
  return time ? "@" + std::to_string(static_cast<int>(seconds_of(*time - start))) : "nil";
}

std::string counters(const JobStatus& status) {
  if (!status.replicaStatuses) return " rs nil";
  std::string text = " rs";
  for (const auto& [type, c] : *status.replicaStatuses)
    text += " " + type.substr(0, 1) + "{" + std::to_string(c.active) + "," +
            std::to_string(c.succeeded) + "," + std::to_string(c.failed) + "}";
  return text;
}

void cmd_status(Talk& talk, const Words&, const std::string&) {
  const auto job = talk.stored_job();
  if (!job) return talk.answer.push_back("the job is gone");
  if (!job->status) return talk.answer.push_back("no status");
  std::string line = "status";
  for (const JobCondition& condition : job->status->conditions) line += " " + short_form(condition);
  line += counters(*job->status) + " start " + since(job->status->startTime) + " end " +
          since(job->status->completionTime);
  talk.answer.push_back(line);
}

void cmd_conditions(Talk& talk, const Words&, const std::string&) {
  const auto job = talk.stored_job();
  if (!job || !job->status) return talk.answer.push_back("no status");
  for (const JobCondition& c : job->status->conditions)
    talk.answer.push_back(short_form(c) + " " + c.reason + ": " + c.message + " (" +
                          since(c.lastUpdateTime) + " " + since(c.lastTransitionTime) + ")");
}

void cmd_objects(Talk& talk, const Words&, const std::string&) {
  std::string pods = "pods", services = "services";
  for (const ObjectPtr& object : talk.cluster.all(Pod::info())) {
    const auto pod = as<Pod>(object);
    pods += " " + pod->metadata.name + ":" + pod->status.phase +
            (pod->metadata.deletionTimestamp ? "(ending)" : "");
  }
  for (const ObjectPtr& object : talk.cluster.all(Service::info()))
    services += " " + object->metadata.name;
  talk.answer.push_back(pods);
  talk.answer.push_back(services);
  for (const ObjectPtr& object : talk.cluster.all(HorizontalPodAutoscaler::info())) {
    const auto scaler = as<HorizontalPodAutoscaler>(object);
    talk.answer.push_back("autoscaler " + scaler->metadata.name + " " +
                          std::to_string(scaler->spec.minReplicas.value_or(0)) + ".." +
                          std::to_string(scaler->spec.maxReplicas));
  }
}

void cmd_env(Talk& talk, const Words& words, const std::string&) {
  const auto pod = as<Pod>(talk.cluster.stored(Pod::info(), pod_name(talk, words.at(1))));
  if (!pod) return talk.answer.push_back("no such pod");
  for (const Container& container : pod->spec->containers) {
    std::string line = container.name + ":";
    for (const EnvVar& variable : container.env)
      line += " " + variable.name.str() + "=" + variable.value;
    talk.answer.push_back(line);
  }
}

void cmd_show(Talk& talk, const Words& words, const std::string&) {
  const auto pod = as<Pod>(talk.cluster.stored(Pod::info(), pod_name(talk, words.at(1))));
  if (!pod) return talk.answer.push_back("no such pod");
  const PodSpec& spec = *pod->spec;
  talk.answer.push_back("labels " + json::serialize(to_json(*pod->metadata.labels)));
  if (!pod->metadata.annotations->empty())
    talk.answer.push_back("annotations " + json::serialize(to_json(*pod->metadata.annotations)));
  for (const OwnerReference& owner : *pod->metadata.ownerReferences)
    talk.answer.push_back("owner " + owner.kind + " " + owner.name);
  for (const Container& container : spec.initContainers)
    talk.answer.push_back("init " + container.name + " " + container.image + " env " +
                          std::to_string(container.env.size()));
  for (const Container& container : spec.containers)
    talk.answer.push_back("container " + container.name + " " + container.image + " ports " +
                          json::serialize(to_json(container.ports)));
  talk.answer.push_back(
      "restartPolicy " + spec.restartPolicy +
      (spec.rest->schedulerName.empty() ? "" : " scheduler " + spec.rest->schedulerName));
}

void cmd_service(Talk& talk, const Words& words, const std::string&) {
  const auto service =
      as<Service>(talk.cluster.stored(Service::info(), pod_name(talk, words.at(1))));
  if (!service) return talk.answer.push_back("no such service");
  talk.answer.push_back("ports " + json::serialize(to_json(service->spec->ports)));
  talk.answer.push_back("selector " + json::serialize(to_json(service->spec->selector)));
  for (const OwnerReference& owner : *service->metadata.ownerReferences)
    talk.answer.push_back("owner " + owner.kind + " " + owner.name);
}

void cmd_pod_group(Talk& talk, const Words&, const std::string&) {
  const KindInfo* kind = pj::pod_group_kind(talk.cluster.registry(), talk.settings());
  const ObjectPtr group = kind != nullptr ? talk.cluster.stored(*kind, talk.job) : nullptr;
  if (!group) return talk.answer.push_back("no pod group");
  talk.answer.push_back(json::serialize(encode(*group).at("spec")));
}

// `phase Inqueue`: the gang scheduler's word on the group.
void cmd_phase(Talk& talk, const Words& words, const std::string&) {
  const KindInfo* kind = pj::pod_group_kind(talk.cluster.registry(), talk.settings());
  auto group =
      std::static_pointer_cast<GenericObject>(talk.cluster.stored(*kind, talk.job)->clone());
  json::object body = group->extra.get()->get_object();
  body["status"] = json::object{{"phase", words.at(1)}};
  group->extra = RawJson(std::move(body));
  talk.cluster.put(group);
}

void cmd_pass(Talk& talk, const Words&, const std::string&) {
  for (std::string& line : talk.cluster.pass(talk.job)) talk.answer.push_back(std::move(line));
  cmd_status(talk, {}, {});
}

// A pass of which only the status matters.
void cmd_quiet_pass(Talk& talk, const Words&, const std::string&) {
  (void)talk.cluster.pass(talk.job);
}

void cmd_wait(Talk& talk, const Words& words, const std::string&) {
  talk.cluster.now = talk.cluster.now + *parse_go_duration(words.at(1));
}

void cmd_gang(Talk& talk, const Words& words, const std::string&) {
  talk.configure([&](pj::Settings& s) { s.gang_scheduler = words.at(1); });
}

// `order worker-first master-first`: of the pods, of the status.
void cmd_order(Talk& talk, const Words& words, const std::string&) {
  const auto order = [](const std::string& word) {
    return word == "worker-first" ? pj::TypeOrder::worker_first : pj::TypeOrder::master_first;
  };
  talk.configure([&](pj::Settings& s) {
    s.pod_order = order(words.at(1));
    s.status_order = order(words.at(2));
  });
}

void cmd_expect(Talk& talk, const Words& words, const std::string&) {
  for (const std::string_view what : {"pods", "services"})
    talk.cluster.expectations.raise(pj::expectation_key("ns/" + talk.job, words.at(1), what), 1, 0,
                                    talk.cluster.now);
}

void cmd_observe(Talk& talk, const Words& words, const std::string&) {
  talk.cluster.expectations.lower(pj::expectation_key("ns/" + talk.job, words.at(1), words.at(2)),
                                  1, 0);
}

void cmd_validate(Talk& talk, const Words&, const std::string&) {
  const auto valid = pj::validate(*talk.stored_job());
  talk.answer.push_back(valid ? "valid" : valid.error().message);
}

using Handler = void (*)(Talk&, const Words&, const std::string& rest);
const std::map<std::string, Handler, std::less<>> commands{
    {"job", &cmd_job},
    {"new", &cmd_new},
    {"edit", &cmd_edit},
    {"policy", &cmd_policy},
    {"scale", &cmd_scale},
    {"pod", &cmd_pod},
    {"gone", &cmd_gone},
    {"delete", &cmd_delete},
    {"foreign", &cmd_foreign},
    {"relabel", &cmd_relabel},
    {"status", &cmd_status},
    {"conditions", &cmd_conditions},
    {"objects", &cmd_objects},
    {"env", &cmd_env},
    {"show", &cmd_show},
    {"service", &cmd_service},
    {"pod-group", &cmd_pod_group},
    {"phase", &cmd_phase},
    {"p", &cmd_pass},
    {"quiet", &cmd_quiet_pass},
    {"wait", &cmd_wait},
    {"gang", &cmd_gang},
    {"order", &cmd_order},
    {"expect", &cmd_expect},
    {"observe", &cmd_observe},
    {"validate", &cmd_validate},
    {"graceful", [](Talk& t, const Words&, const std::string&) { t.cluster.graceful = true; }},
    {"restart", [](Talk& t, const Words&, const std::string&) { t.cluster.restart_controller(); }},
};

// ---- files ----

struct Block {
  Lines comment{};
  std::string header{};
  Lines input{};
  Lines expected{};
};

std::vector<Block> read_blocks(std::istream& in) {
  std::vector<Block> blocks;
  Block block;
  bool answer = false;
  const auto finish = [&] {
    if (!block.header.empty()) blocks.push_back(std::move(block));
    block = Block();
    answer = false;
  };
  for (std::string line; std::getline(in, line);) {
    if (line.empty())
      finish();
    else if (line == "----")
      answer = true;
    else if (answer)
      block.expected.push_back(line);
    else if (line.starts_with("case "))
      block.header = line;
    else if (line.starts_with('#'))
      block.comment.push_back(line);
    else
      block.input.push_back(line);
  }
  finish();
  return blocks;
}

Lines run_block(const Block& block, const pj::Profile& profile, FileResult& result) {
  Talk talk(profile);
  for (const std::string& line : block.input) {
    const Words words = split(line);
    const auto command = commands.find(words.front());
    if (command == commands.end()) {
      talk.answer.push_back("unknown command: " + line);
      break;
    }
    const std::size_t space = line.find(' ');
    command->second(talk, words, space == std::string::npos ? "" : line.substr(space + 1));
  }
  result.rules.insert(talk.cluster.rules.begin(), talk.cluster.rules.end());
  return std::move(talk.answer);
}

std::string first_difference(const Lines& expected, const Lines& got) {
  for (std::size_t i = 0; i < std::max(expected.size(), got.size()); ++i) {
    const std::string want = i < expected.size() ? expected[i] : "(end)";
    const std::string have = i < got.size() ? got[i] : "(end)";
    if (want != have)
      return "line " + std::to_string(i + 1) + ": want `" + want + "`, got `" + have + "`";
  }
  return {};
}

std::vector<std::string> profiles_of(const Words& header) {
  std::vector<std::string> named(header.begin() + 2, header.end());
  if (named.empty())
    for (const pj::Profile& profile : pj::profiles()) named.emplace_back(profile.version);
  return named;
}

void run_all(Block& block, bool rewrite, FileResult& result) {
  const Words header = split(block.header);
  bool first = true;
  for (const std::string& name : profiles_of(header)) {
    const pj::Profile* profile = pj::find_profile(name);
    if (profile == nullptr) {
      result.verdicts.push_back({header.at(1), name, false, "no such profile"});
      continue;
    }
    const Lines got = run_block(block, *profile, result);
    if (rewrite && first) block.expected = got;
    first = false;
    std::string why = first_difference(block.expected, got);
    result.verdicts.push_back({header.at(1), name, why.empty(), std::move(why)});
  }
}

void write_blocks(const std::string& file, const std::vector<Block>& blocks) {
  std::ofstream out(file);
  bool first = true;
  for (const Block& block : blocks) {
    if (!first) out << "\n";
    first = false;
    for (const std::string& line : block.comment) out << line << "\n";
    out << block.header << "\n";
    for (const std::string& line : block.input) out << line << "\n";
    out << "----\n";
    for (const std::string& line : block.expected) out << line << "\n";
  }
}

}  // namespace

FileResult run_conversations(const std::string& file, bool rewrite) {
  FileResult result;
  std::ifstream in(file);
  if (!in) {
    result.verdicts.push_back({file, "", false, "cannot be read"});
    return result;
  }
  std::vector<Block> blocks = read_blocks(in);
  for (Block& block : blocks) run_all(block, rewrite, result);
  if (rewrite) write_blocks(file, blocks);
  return result;
}

}  // namespace ddptwin::conformance
