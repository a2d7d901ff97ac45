// `ddptwin env`: which variables a pod's containers would get, and which rule put each there.
// Nothing is started: the controllers run in virtual time until the pods are made.
#pragma once

#include <string>
#include <vector>

#include "scenario/language/scenario.hpp"

namespace ddptwin::scenario {

struct ExplainedVariable {
  std::string name{};
  std::string value{};
  std::string rule{};  // "manifest: env[0]", "pytorchjob: rank of the replica", "image: ENV"
};
struct ExplainedContainer {
  std::string pod{};  // "pod/mnist-worker-0": names.hpp
  std::string container{};
  bool init = false;
  std::vector<ExplainedVariable> variables{};  // in the order of their names
  std::vector<std::string> notes{};            // what comes of them, as the systems know it
  std::string error{};  // why the kubelet would not make it (CreateContainerConfigError)
};

// Of the pods that the manifests lead to, and those that the objects of `apply` steps do. `python`:
// a virtual environment for every image, or empty. Without `show_secrets` what comes from a Secret
// is masked, also where another variable's $(NAME) takes it in.
std::vector<ExplainedContainer> explain_environment(const Scenario& scenario,
                                                    const std::string& python, bool show_secrets);

std::string environment_text(const std::vector<ExplainedContainer>& containers);
boost::json::value environment_json(const std::vector<ExplainedContainer>& containers);

}  // namespace ddptwin::scenario
