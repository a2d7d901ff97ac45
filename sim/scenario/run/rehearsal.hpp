// Which pods do these objects make, and who puts what into them? The one answer to it, for `ddptwin
// env`, the checks of images and of what can be modelled, and what stands in for what is not here:
// the control plane is run in virtual time on what a scenario applies, and nobody looks into a
// template of his own accord (docs/decisions/0010).
//
// Nothing is started. Where one pod waits for another to be ready (StatefulSet, JobSet's
// startupPolicy), that other is Running and Ready at once; where a job waits for another's end, the
// pods that run to an end have ended well. What is made by the clock (the Jobs of a CronJob) is
// made once, at once. Steps that apply and patch are done in their order, each when it is quiet,
// without their triggers. Objects that the API refuses make no pods.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "scenario/language/scenario.hpp"

namespace ddptwin::scenario {

struct RehearsedPod {
  std::shared_ptr<const Pod> pod{};  // as it was made
  // What was applied, and whose it is in the end; null: nobody's who was.
  const Manifest* of = nullptr;
  std::vector<ObjectPtr> owners{};  // the pod's own, that one's, ...: as they were then
};

// A variable that somebody else than its user gave a container.
struct PutVariable {
  std::string rule{};                     // "ddpset: spec.port", "job: create_pod"
  std::optional<std::string> replaced{};  // what the container had before, where it had it
};
// By the variable's name.
using PutVariables = std::map<std::string, PutVariable, std::less<>>;

class Rehearsal {
 public:
  // The scenario outlives it, and has passed its preflight, or will.
  explicit Rehearsal(const Scenario& scenario);
  ~Rehearsal();

  // From beginning to end. `at_quiet` is called when all that has been applied so far has led to
  // the pods it leads to, and then after each further step.
  void play(const std::function<void()>& at_quiet = {});

  const World& world() const;
  // In the order in which they were made; those that are gone again are among them.
  const std::vector<RehearsedPod>& pods() const;
  // Of a container, or init container, of one of them. A variable is followed from the pod through
  // its owners to what was applied: whose template does not have it yet was written by who put it
  // there. The words are those of the rule that wrote it (controller::Rule::variables).
  PutVariables put_into(const RehearsedPod& pod, const Container& container) const;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

// Where no object is a workload nothing has to be run: its pods are those that are applied.
std::vector<RehearsedPod> rehearse(const Scenario& scenario);

// How much alike a container and one of a template are that have the same name: of several
// templates a pod is made from the one that is most like it.
int likeness(const boost::json::object& of_template, const boost::json::object& container);

}  // namespace ddptwin::scenario
