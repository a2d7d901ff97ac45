#include "runtime/model/starts.hpp"

#include <algorithm>
#include <utility>

namespace ddptwin::model {
namespace {

// How many starts of a node share how many CPUs: a start takes the one over the other of its time.
struct Shares {
  std::int64_t starting = 1, cpus = 1;
};
Shares shares_of(const Process& process, std::size_t starting) {
  const auto cpus = static_cast<std::int64_t>(std::max(process.cpus(), 1));
  return {std::max(static_cast<std::int64_t>(starting), cpus), cpus};
}

}  // namespace

void Starts::begin(Process& process, Duration work, Callback done) {
  Node& node = nodes_[process.node()];
  settle(node);
  node.push_back({&process, work, process.now(), 0, std::move(done)});
  arm(node, process.node());
}

void Starts::ended(const Process& process) {
  const auto found = nodes_.find(process.node());
  if (found == nodes_.end()) return;
  Node& node = found->second;
  const auto one = std::find_if(node.begin(), node.end(),
                                [&](const One& each) { return each.process == &process; });
  if (one == node.end()) return;
  settle(node);
  node.erase(one);
  arm(node, found->first);
}

void Starts::settle(Node& node) {
  for (One& one : node) {
    const Shares shares = shares_of(*one.process, node.size());
    const Time now = one.process->now();
    one.left =
        std::max(one.left - (now - one.since) * shares.cpus / shares.starting, Duration::zero());
    one.since = now;
  }
}

void Starts::arm(Node& node, const std::string& name) {
  for (One& one : node) {
    const Shares shares = shares_of(*one.process, node.size());
    one.process->cancel(one.timer);
    one.timer = one.process->work(one.left * shares.starting / shares.cpus,
                                  [this, name, id = one.process->id()] { finish(name, id); });
  }
}

void Starts::finish(const std::string& name, ProcessId id) {
  Node& node = nodes_[name];
  const auto one = std::find_if(node.begin(), node.end(),
                                [id](const One& each) { return each.process->id() == id; });
  if (one == node.end()) return;
  settle(node);
  Callback done = std::move(one->done);
  node.erase(one);
  arm(node, name);
  done();
}

}  // namespace ddptwin::model
