// How a rank dies. A worker stands for a Python script, so what goes wrong in it is an exception
// that carries the name Python would print; main writes "TYPE: message" to stderr and exits 1.
// Source of types and texts: spec/ddp-semantics.md §3, §9.2.
#pragma once

#include <stdexcept>
#include <string>
#include <utility>

namespace ddptwin::workers {

class PythonError : public std::runtime_error {
 public:
  PythonError(std::string type, const std::string& message)
      : std::runtime_error(message), type_(std::move(type)) {}
  const std::string& type() const { return type_; }

 private:
  std::string type_;  // "RuntimeError", "ValueError", "TimeoutError", ...
};

// Thrown by a collective once the group stands: a peer died, hung, or disagrees (§3.1, §3.2). Apart
// from the others because --peer-loss-code says how the rank exits after it.
class CollectiveError : public PythonError {
 public:
  using PythonError::PythonError;
};

}  // namespace ddptwin::workers
