// What faults do to a world: its processes are ended and begun.
#include <algorithm>
#include <set>

#include "scenario/world/first_objects.hpp"
#include "scenario/world/world_parts.hpp"

namespace ddptwin {

std::vector<World::Remembered> World::remembered() const {
  std::vector<Remembered> out;
  std::set<std::string, std::less<>> there;
  for (const KindInfo* kind : parts_->kinds.all())
    for (const auto& [key, object] : parts_->store.objects(*kind)) {
      there.insert(key_of(object->metadata));
      there.insert(object->metadata.uid.str());
    }
  const auto add = [&](std::string_view process, std::string_view part,
                       std::vector<std::string> keys) {
    std::sort(keys.begin(), keys.end());
    keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
    for (std::string& key : keys) {
      const bool is_gone = !there.contains(key);
      out.push_back({std::string(process), std::string(part), std::move(key), is_gone});
    }
  };
  for (const Parts::Hosted& hosted : parts_->controllers) {
    std::vector<std::string> keys;
    for (auto& one : hosted.host->remembered()) keys.push_back(std::move(one.key));
    add(hosted.actor, hosted.controller->name(), std::move(keys));
  }
  parts_->each_manager_part(
      [&](const auto& part) { add(manager_actor, manager_actor, part.remembered()); });
  for (const Parts::Scheduling& one : parts_->schedulers)
    if (one.process) add(one.actor, one.actor, one.process->remembered());
  for (const auto& one : parts_->kubelets) add("kubelet", one->node_name(), one->remembered());
  return out;
}

bool World::crash_controller(std::string_view process) {
  bool found = false;
  for (Parts::Hosted& hosted : parts_->controllers) {
    if (hosted.second != 0 || !hosted.is(process)) continue;
    hosted.host->crash();
    found = true;
  }
  if (process == manager_actor) parts_->each_manager_part([](auto& part) { part.crash(); });
  return found;
}

bool World::start_controller(std::string_view process) {
  bool found = false;
  for (Parts::Hosted& hosted : parts_->controllers) {
    if (hosted.second != 0 || !hosted.is(process)) continue;
    if (!hosted.host->running()) hosted.host->start();
    found = true;
    // They end with the whole process only, whose return is told by its controllers' names.
    if (hosted.is(manager_actor))
      parts_->each_manager_part([](auto& part) {
        if (!part.running()) part.start();
      });
  }
  return found;
}

int World::begin_second_controller(std::string_view process) {
  std::vector<Parts::Hosted*> firsts;
  for (Parts::Hosted& hosted : parts_->controllers)
    if (hosted.second == 0 && hosted.is(process)) firsts.push_back(&hosted);
  if (firsts.empty()) return 0;
  const int number = ++parts_->seconds;
  api::SharedInformers* shared =
      firsts.front()->own_informers ? nullptr : &parts_->new_manager_informers();
  for (const Parts::Hosted* first : firsts) {
    // Each has memory and chance of its own; what both share is the cluster.
    const Random chance = parts_->random.split(first->controller->name())
                              .split("second")
                              .split(parts_->controllers.size());
    Parts::Hosted& hosted = parts_->add_controller(first->actor, first->make, shared, chance);
    hosted.second = number;
    hosted.host->start();
  }
  return number;
}

void World::end_second_controller(int second) {
  // What it has posted may still come back to it: it stays, without life.
  for (Parts::Hosted& hosted : parts_->controllers)
    if (second != 0 && hosted.second == second) hosted.host->crash();
}

void World::stop_scheduler() {
  for (auto& one : parts_->schedulers) one.process.reset();
}

void World::start_scheduler() {
  for (auto& one : parts_->schedulers) {
    if (one.process) continue;
    one.process = one.make(parts_->loop, *one.client, parts_->trace);
    one.process->start();
  }
}

void World::silence_node(const std::string& node) {
  const ObjectPtr object = find(Node::info(), "", node);
  const Time now = parts_->loop.now();
  const Time made = object ? object->metadata.creationTimestamp.value_or(now) : now;
  parts_->heartbeats.stop(node, NodeHeartbeats::last_of(made, now));
}

Status World::hear_node(const std::string& node) {
  parts_->heartbeats.resume(node);
  const ObjectPtr object = find(Node::info(), "", node);
  if (!object) {
    for (NodeOptions options : parts_->options.nodes) {
      options.is_known = false;
      if (options.name == node) return add_node(options);
    }
    return {};
  }
  auto ready = std::static_pointer_cast<Node>(object->clone());
  if (!make_healthy(*ready, parts_->loop.now())) return {};
  TRY_VOID(call(api::update(ready, "status"), "kubelet"));
  return {};
}

bool World::shut_down_kubelet(std::string_view node, std::int64_t grace) {
  kubelet::Kubelet* found = parts_->kubelet_of(node);
  if (found != nullptr) found->shut_down(grace);
  return found != nullptr;
}

bool World::stop_kubelet(std::string_view node) {
  kubelet::Kubelet* found = parts_->kubelet_of(node);
  if (found != nullptr) found->stop();
  return found != nullptr;
}

bool World::start_kubelet(std::string_view node) {
  kubelet::Kubelet* found = parts_->kubelet_of(node);
  if (found != nullptr) found->start();
  return found != nullptr;
}

void World::restart_kubelets() {
  for (auto& kubelet : parts_->kubelets) kubelet->restart();
}

}  // namespace ddptwin
