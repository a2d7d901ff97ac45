// What runs to an end, and how it ended: jobs, by the rows of their systems (systems/system.hpp),
// and pods; what runs for ever, and whether it does.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "objects/core_v1.hpp"
#include "objects/object.hpp"

namespace ddptwin::scenario {

// A condition as an object tells of it.
struct ToldCondition {
  std::string_view type{};
  std::string_view status{};
  std::string_view reason{};
  std::string_view message{};
  bool holds() const { return status == "True"; }
};

// A kind of job. An object of it never leaves a condition of success or failure.
struct JobKind {
  const KindInfo& (*info)();
  std::vector<ToldCondition> (*conditions)(const Object&);  // they point into the object
  std::string_view success, failure;                        // types of conditions
  std::string_view suspended;                               // the condition while it is suspended
  std::span<const std::string_view> suspend;                // the field that suspends it
  // The pod whose failure failed it, by name, where it is one pod's; empty: others tell. Null: it
  // never is.
  std::string (*failed_by)(const Object&) = nullptr;
  // Why the success of one that has succeeded is none, by what its pods have printed; empty:
  // nothing says so. Null: nothing ever does.
  std::string (*doubt)(const Object&,
                       std::span<const std::vector<std::string>* const> logs) = nullptr;
};
std::span<const JobKind> job_kinds();
// Those that are True.
std::vector<ToldCondition> held_conditions(const JobKind& kind, const Object& object);
// Null: objects of that kind are no jobs.
const JobKind* job_kind(const KindInfo& kind);

// What is made again and again, whenever the clock says so.
struct MadeByTheClock {
  const KindInfo& (*info)();
  // Of the object as it stands; null: none for now.
  std::shared_ptr<Object> (*one)(const Object& maker);
  std::string_view controller;  // who makes them, as --controllers calls it
};

// A kind whose pods run for ever, or come again and again.
struct StandingKind {
  const KindInfo& (*info)();
  bool (*stands)(const Object&);       // all that it asks for is there, of its newest template
  std::string (*text)(const Object&);  // how much of it is there
  PodTemplateSpec& (*pods)(Object&);   // what they are made from, at spec.template, to be changed
  // What it is when it stands, in the words of an expectation.
  std::string_view good = "Ready with all replicas";
  // Null: it makes pods.
  const MadeByTheClock* makes = nullptr;
};
std::span<const StandingKind> standing_kinds();
const StandingKind* standing_kind(const KindInfo& kind);

// Objects of it are there for their pods: a job, or one that stands for ever.
bool is_workload(const KindInfo& kind);

enum class Outcome : std::uint8_t { open, succeeded, failed };

// By its conditions or its phase; of what is neither job nor pod, open.
Outcome outcome_of(const Object& object);
// It has; or it runs for ever, and does: a pod is Running and Ready, of a set all replicas are.
bool has_succeeded(const Object& object);
// A pod that is restarted for ever (restartPolicy Always), and who makes such pods.
bool runs_for_ever(const Object& object);
// The spec asks for it to be suspended.
bool is_suspended(const Object& object);

// Where it stands, in a few words: "Succeeded", "Failed: 1 Master replica failed", "Created,
// Running", "Pending", "2 of 3 replicas Ready".
std::string end_text(const Object& object);

}  // namespace ddptwin::scenario
