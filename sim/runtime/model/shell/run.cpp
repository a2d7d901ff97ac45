#include "runtime/model/shell/run.hpp"

#include <optional>
#include <utility>

#include "runtime/model/shell/interpreter.hpp"

namespace ddptwin::model::shell {
namespace {

// The process is the shell's until a program takes its place (exec); what happens to it is that
// program's from then on, but for the children that the shell left.
class ShellProgram final : public Program {
 public:
  ShellProgram(Scope scope, const Node& node, CommandContext context, bool tested)
      : scope_(std::move(scope)), node_(node), context_(context), tested_(tested) {}

  void start(Process& process) override {
    interpreter_.emplace(process, std::move(scope_), context_);
    interpreter_->start(node_, tested_);
  }
  bool signal(Process& process, int number) override {
    if (!interpreter_) return false;  // it has not begun
    return successor() ? successor()->signal(process, number) : interpreter_->signal(number);
  }
  void child_exited(Process& process, ProcessId child, const ExitStatus& status) override {
    if (!interpreter_->child_exited(child, status) && successor())
      successor()->child_exited(process, child, status);
  }
  void stopped(Process& process) override {
    if (successor()) successor()->stopped(process);
  }
  void continued(Process& process) override {
    if (successor()) successor()->continued(process);
  }
  void ended(Process& process, const ExitStatus& status) override {
    if (successor()) successor()->ended(process, status);
  }

 private:
  Program* successor() const { return interpreter_ ? interpreter_->successor() : nullptr; }

  Scope scope_;
  const Node& node_;
  CommandContext context_;
  bool tested_;
  std::optional<Interpreter> interpreter_{};
};

}  // namespace

std::unique_ptr<Program> make_run(Scope scope, const Node& node, CommandContext context,
                                  bool tested) {
  return std::make_unique<ShellProgram>(std::move(scope), node, context, tested);
}

}  // namespace ddptwin::model::shell
