#include "case_nodes.hpp"

#include <fmt/format.h>

#include <boost/json.hpp>

#include "objects/codec.hpp"
#include "recording.hpp"

namespace ddptwin::golden {
namespace {

namespace json = boost::json;

constexpr const char* standing_label = "golden/standing";

// The default size, overridden.
NodeOptions node_of(const json::object& argument) {
  NodeOptions node;
  node.name = text_member(argument, "name");
  node.address = "192.168.0.9";
  node.kubelet = false;
  if (const Json* labels = argument.if_contains("labels"))
    for (const auto& member : labels->as_object())
      node.labels.emplace(member.key(), member.value().as_string());
  if (const Json* amounts = argument.if_contains("allocatable"))
    for (const auto& member : amounts->as_object())
      if (const auto quantity = from_json<Quantity>(member.value()))
        node.capacity.emplace(member.key(), *quantity);
  if (const Json* taints = argument.if_contains("taints"))
    if (const auto list = from_json<std::vector<Taint>>(*taints)) node.taints = *list;
  if (const Json* off = argument.if_contains("unschedulable")) node.unschedulable = off->as_bool();
  return node;
}

}  // namespace

void make_standing_nodes(World& world) {
  for (int i = 0; i < 4; ++i) {
    NodeOptions node;
    node.name = fmt::format("node-{}", i);
    node.labels = {{standing_label, "true"}};
    node.kubelet = false;
    DDPTWIN_ASSERT(world.add_node(node).has_value());
  }
}

bool is_standing(const Object& node) { return node.metadata.labels->contains(standing_label); }

Status add_node(World& world, const json::object& argument) {
  NodeOptions node = node_of(argument);
  node.is_known = false;
  TRY_VOID(world.add_node(node));
  const Json* beats = argument.if_contains("heartbeat");
  if (beats != nullptr && !beats->as_bool()) world.silence_node(node.name);
  return {};
}

Status bring_up(World& world, const std::string& name, std::string_view actor) {
  TRY_VOID(world.hear_node(name));
  const ObjectPtr object = world.find(Node::info(), "", name);
  if (!object) return fail(Reason::bad_input, "nodeUp: there is no node " + name);
  auto node = std::static_pointer_cast<Node>(object->clone());
  for (Condition& condition : node->status.conditions.edit()) {
    if (condition.type_ == "NetworkUnavailable") continue;
    condition.lastHeartbeatTime = condition.lastTransitionTime = world.loop().now();
  }
  TRY_VOID(world.call(api::update(node, "status"), actor));
  return {};
}

}  // namespace ddptwin::golden
