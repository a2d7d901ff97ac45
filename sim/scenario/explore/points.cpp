#include "scenario/explore/points.hpp"

#include <array>

namespace ddptwin::scenario {
namespace {

// The user is not hit.
bool is_target(const Census::Process& process) { return process.first != "user"; }

Fault fault_of(FaultKind kind) {
  Fault fault;
  fault.kind = kind;
  return fault;
}

void add_nth(Fault fault, std::int64_t count, std::vector<Fault>& to) {
  for (std::int64_t n = 1; n <= count; ++n) {
    fault.nth = n;
    to.push_back(fault);
  }
}

void add_steps(Fault fault, std::int64_t count, std::vector<Fault>& to) {
  fault.nth.reset();
  for (std::int64_t n = 1; n <= count; ++n) {
    fault.step = n;
    to.push_back(fault);
  }
}

void add_calls(const FaultRow& row, const Census& census, std::vector<Fault>& to) {
  for (const auto& [process, count] : census.calls) {
    if (!is_target(process)) continue;
    Fault fault = fault_of(row.kind);
    fault.of = name_of(process);
    add_nth(std::move(fault), count, to);
  }
}

void add_events(const FaultRow& row, const Census& census, std::vector<Fault>& to) {
  for (const auto& [key, count] : census.events) {
    const auto& [process, kind] = key;
    if (!is_target(process)) continue;
    Fault fault = fault_of(row.kind);
    fault.of = name_of(process);
    fault.object_kind = kind;
    add_nth(std::move(fault), count, to);
  }
}

void add_writes(const FaultRow& row, const Census& census, std::vector<Fault>& to) {
  for (const auto& [process, count] : census.writes) {
    if (!is_writer(row, process, census)) continue;
    Fault fault = fault_of(row.kind);
    if (row.writer != Writer::scheduler) fault.of = process.second;
    add_nth(std::move(fault), count, to);
  }
}

void add_starts(const FaultRow& row, const Census& census, std::vector<Fault>& to) {
  for (const auto& [key, count] : census.starts) {
    Fault fault = fault_of(row.kind);
    fault.of = key.first;
    fault.container = key.second;
    add_nth(std::move(fault), count, to);
  }
  for (const auto& [pod, last] : census.steps) {
    Fault fault = fault_of(row.kind);
    fault.of = pod;
    add_steps(std::move(fault), last, to);
  }
}

void add_links(const FaultRow& row, const Census& census, std::vector<Fault>& to) {
  for (const auto& [pod, last] : census.steps) {
    for (const auto& [other, unused] : census.steps) {
      if (other <= pod) continue;
      Fault fault = fault_of(row.kind);
      fault.of = pod;
      fault.to = other;
      add_steps(std::move(fault), last, to);
    }
  }
}

void add_questions(const FaultRow& row, const Census& census, std::vector<Fault>& to) {
  for (const auto& [name, count] : census.questions) {
    Fault fault = fault_of(row.kind);
    fault.of = name;
    if (name.back() != '.') fault.of += '.';  // that name and no longer one
    if (row.kind == FaultKind::dns_wrong) fault.address = "192.0.2.1";  // nobody's (RFC 5737)
    add_nth(std::move(fault), count, to);
  }
}

}  // namespace

std::string name_of(const Census::Process& process) {
  if (!process.second.empty()) return process.second;
  // The kubelets' common view of the cluster, beside the kubelets.
  return process.first == "kubelet" ? "kubelet/" : process.first;
}

std::vector<Fault> every_point(const Census& census, std::span<const FaultRow* const> kinds) {
  using Add = void (*)(const FaultRow&, const Census&, std::vector<Fault>&);
  constexpr std::array<Add, 6> adders{&add_calls,  &add_events,    &add_writes,
                                      &add_starts, &add_questions, &add_links};
  std::vector<Fault> points;
  for (const FaultRow* row : kinds)
    adders[static_cast<std::size_t>(row->counts)](*row, census, points);
  return points;
}

}  // namespace ddptwin::scenario
