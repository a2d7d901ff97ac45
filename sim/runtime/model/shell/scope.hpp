// What a shell has besides its process: options, functions, arguments, and its variables.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/time.hpp"
#include "runtime/model/program.hpp"
#include "runtime/model/shell/script.hpp"
#include "runtime/model/shell/words.hpp"

namespace ddptwin::model::shell {

// What a shell that is forked begins with, too.
struct Scope {
  std::vector<std::shared_ptr<const Node>> scripts{};  // all whose nodes may still be run
  std::map<std::string, const Node*> taken{};      // of them: what came up in a run, by its text
  std::map<std::string, const Node*> functions{};  // their bodies
  std::string name = "sh";                         // $0
  Time begun{};                                    // of $SECONDS
  std::vector<std::string> arguments{};            // $1, $2, ...
  Environment own{};                               // variables that are not exported
  std::map<std::string, std::vector<std::string>, std::less<>> arrays{};  // bash's
  std::set<std::string> exported{};  // names that will be once they are set
  std::set<std::string, std::less<>> readonly{};
  Dialect dialect = Dialect::dash;
  bool exits_on_error = false, unset_is_an_error = false, pipe_fails = false;  // -e, -u, pipefail
  bool exports_all = false;                                                    // -a
  int status = 0;                                                              // $?
  int pid = 0;                                                                 // $$; 0: its own
  int last_job = 0;                                                            // $!; 0: none
  std::vector<int> jobs{};  // of the shell it was forked from, those that ran then
  int loops = 0;            // one within the other; in dash's ( ) too, which `break` then ends
  int calls = 0;            // of functions within each other
  int sourced = 0;          // files likewise
  int evals = 0;            // and texts
};

// As `set` and a shell's own command line take them: -a, -e and -u alone and together with others,
// -o NAME; what else there is changes no status. With `arguments`, what stands behind them is $1,
// $2. Reason::invalid: the option that this shell does not have.
Status set_options(Scope& scope, const std::vector<std::string>& words, bool arguments);

// Where it stands already, or behind the others.
void put(Environment& to, const std::string& name, std::string value);

// A variable is either exported, and then in the process's environment, or the shell's own.
class ScopeVariables final : public Variables {
 public:
  ScopeVariables(Scope& scope, Process& process);

  std::optional<std::string> value(std::string_view name) const override;
  void set(const std::string& name, std::string value) override;
  std::optional<std::vector<std::string>> elements(const std::string& name) const override;
  const std::vector<std::string>& arguments() const override { return scope_.arguments; }
  const std::string& output_of(const Piece& piece) override;
  bool unset_is_an_error() const override { return scope_.unset_is_an_error; }
  Dialect dialect() const override { return scope_.dialect; }

  void set_output(const Piece& piece, std::string text, int status) {
    outputs_[&piece] = {std::move(text), status};
  }
  void set_elements(const std::string& name, std::vector<std::string> elements);
  Status set_element(const std::string& name, std::int64_t index, std::string value) override;
  bool is_readonly(std::string_view name) const { return scope_.readonly.contains(name); }
  // What a shell says of one who would change it.
  std::string why_readonly(const std::string& name) const;
  void make_readonly(const std::string& name) { scope_.readonly.insert(name); }
  void unset(const std::string& name);
  void unexport(const std::string& name);
  // NAME or NAME=value.
  void export_variable(const std::string& text);

  // What a function, or a command with assignments before it, changes for its own time only.
  void begin_locals() { locals_.emplace_back(); }
  void end_locals();
  void forget_locals() { locals_.clear(); }
  // NAME or NAME=value, until the locals end. `keeps`: NAME alone has the value from outside, as
  // dash has it; bash unsets it.
  void local(const std::string& text, bool keeps);
  void export_locally(const std::string& name, std::string value);

 private:
  struct Before {
    std::string name;
    std::optional<std::string> value;
    bool exported;
    std::optional<std::vector<std::string>> elements;  // of an array
    bool readonly;
  };

  bool is_exported(const std::string& name) const;  // or will be, once it is set
  void remember(const std::string& name);

  std::optional<std::string> made_up(std::string_view name) const;

  Scope& scope_;
  Process& process_;
  Environment& environment_;
  std::vector<std::vector<Before>> locals_{};
  std::map<const Piece*, std::pair<std::string, int>> outputs_{};  // only looked up
};

}  // namespace ddptwin::model::shell
