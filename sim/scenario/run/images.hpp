// Which images a run knows: those of the scenario, and a few that everybody has.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "scenario/language/known_images.hpp"

namespace ddptwin::scenario {

// A probe or a hook that runs a command in a container.
struct ExecUse {
  std::string where{};
  std::vector<std::string> command{};
};

struct VariableUse {
  std::optional<std::string> value{};  // nothing: nobody knows it before the run
  std::string where{};
};

// By the variable's name.
using VariableUses = std::map<std::string, VariableUse, std::less<>>;

// An image that containers of pods are to run, once for all that are made from one template.
struct ImageUse {
  std::string object{};     // what was applied, whose pods they are: "pytorchjob/mnist"
  std::string container{};  // its name
  ContainerRole role = ContainerRole::training;
  // As the API shows them: the spec of such a pod, and the container in it.
  std::shared_ptr<const boost::json::object> pod_spec{};
  std::shared_ptr<const boost::json::object> value{};
  std::string namespace_{};
  std::string image{};
  std::string where{};  // file, line and field of who says it, in whatever manifest
  std::vector<std::string> command{}, args{};  // of the container
  std::vector<ExecUse> execs{};
  VariableUses variables{};  // those of the job's system among them
};
// Of the pods that the scenario's objects make (rehearsal.hpp), and of workloads that make none as
// things are. Worked out once, by describe_plain_images(), for who asks again.
std::vector<ImageUse> image_uses(const Scenario& scenario);

// Describes what has no description as the host's own tools, for which something stands in where
// they lack it: of plain manifests, whose user has said nothing about images, and of scenarios that
// say `standIns: true`, in which so it is of described images without a model.
void describe_plain_images(Scenario& scenario);

// All images that a run knows, those that no registry has among them. `python`: a virtual
// environment for every one of them, or empty.
std::vector<NamedImage> images_of(const Scenario& scenario, const std::string& python);

// A record of a part of an image or of a manifest that a run takes otherwise than it is written.
// `actor` is a literal.
void write_note(Trace& trace, std::string_view actor, const std::string& subject,
                const std::string& text);

// A record for each of the scenario's own notes, for each part of a Dockerfile and of a manifest
// that has no effect in that mode, and in virtual time for each start script of a described image:
// which of its commands are what the description is of, and which are done at once.
void write_notes(Trace& trace, const std::vector<NamedImage>& images, const Scenario& scenario,
                 Mode mode);

}  // namespace ddptwin::scenario
