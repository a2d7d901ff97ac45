// The taints by which the node lifecycle controller says what is the matter with a node
// (spec/kubernetes.md §2.12).
#pragma once

#include <string_view>
#include <vector>

#include "objects/core_v1.hpp"

namespace ddptwin::node_lifecycle {

inline constexpr std::string_view not_ready_taint = "node.kubernetes.io/not-ready";
inline constexpr std::string_view unreachable_taint = "node.kubernetes.io/unreachable";

// Of condition Ready: nobody has said anything counts as unknown.
enum class Readiness : std::uint8_t { ready, not_ready, unknown };
Readiness readiness_of(const Node& node);

// Makes those NoSchedule taints that are this controller's follow the node's conditions and
// spec.unschedulable: what is missing is appended in the order of the conditions, the cordon's
// last. Whether anything was to do. Source: [G:node-pressure-taints], [G:node-cordon-taint].
bool mirror_no_schedule(Node& node, Time now);

// The NoExecute taint that a node of that readiness bears; empty: none.
std::string_view no_execute_key(Readiness readiness);
bool has_no_execute(const Node& node, std::string_view key);
// Puts the NoExecute taint of that key, which may be none, in the place of the other one. Whether
// anything was to do.
bool put_no_execute(Node& node, std::string_view key, Time now);

// What the controller writes of a node whose kubelet is silent: the four conditions that kubelets
// post are Unknown, those that were never posted too.
// Precondition: its readiness is not unknown, or one of the four is not.
void make_unknown(Node& node, Time now);
bool is_all_unknown(const Node& node);

// The labels that old clients look for, beside those that the kubelet has put. Whether any was
// missing. Source: reconcileNodeLabels upstream.
bool mirror_labels(Node& node);

}  // namespace ddptwin::node_lifecycle
