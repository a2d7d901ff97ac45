// Walks a script's tree within a process. What has to be waited for is continued by a callback, so
// each part takes what comes after it: `done`, with the status.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "runtime/model/commands.hpp"
#include "runtime/model/program.hpp"
#include "runtime/model/shell/jobs.hpp"
#include "runtime/model/shell/scope.hpp"
#include "runtime/model/shell/script.hpp"
#include "runtime/model/shell/streams.hpp"

namespace ddptwin::model::shell {

constexpr int not_found_code = 127, not_modelled_code = 126, misused_code = 2;

struct ReadOrder;

class Interpreter {
 public:
  using Done = std::function<void(int)>;

  Interpreter(Process& process, Scope scope, CommandContext context);

  // Runs `node`, and ends the process. `tested`: as in Place.
  void start(const Node& node, bool tested);
  // As Program::signal() has it.
  bool signal(int number);
  // False: it is no child of this shell's.
  bool child_exited(ProcessId child, const ExitStatus& status);
  // What runs in the shell's place; null: the shell itself does.
  Program* successor() const { return successor_.get(); }

 private:
  using Strings = std::vector<std::string>;
  using Then = std::function<void()>;

  // Where a command stands. `last`: nothing of the script comes after it, so that it may take the
  // shell's place. `tested`: somebody asks for its status, so that `set -e` does not (POSIX, set).
  struct Place {
    bool last;
    bool tested;
  };
  enum class Leave : std::uint8_t { no, break_, continue_, return_ };
  struct Pipe;
  struct Outlet;
  // The streams of a forked shell that are not this one's.
  struct Forked {
    std::optional<Spawn::Stream> output{};
    std::shared_ptr<Input> input{};
  };
  friend struct BuiltIns;

  // The tree: interpreter.cpp.
  void run(const Node& node, Place place, Done done);
  void go_on(const Node& node, Place place, Done done);
  void perform(const Node& node, Place place, Done done);
  void list(const Node& node, std::size_t index, Place place, Done done);
  void case_of(const Node& node, Place place, const Done& done);
  void match(const Node& node, Place place, const Done& done);
  void judge_number(const Node& node, Place place, const Done& done);
  void evaluate(const Word& word, std::function<void(std::optional<bool>)> then);
  Done left_by(Done done);
  bool leaves();
  void loop(const Node& node, int result, Place place, Done done);
  void count(const Node& node, int result, Place place, Done done);
  void over(const Node& node, std::shared_ptr<Strings> words, std::size_t index, int result,
            Place place, Done done);
  void finish(int status, const Done& done);
  void see_to_traps(int status, const Done& done);
  Done ended(Place place, Done done);
  void keep_statuses(const std::vector<int>& statuses);
  Done alone(Done done);
  void leave(int status);
  void complain(const std::string& message);
  void give_up(const Error& error);
  void give_up(const std::string& message, int code_of_bash = 1);
  bool is_bash() const { return scope_.dialect == Dialect::bash; }
  Status redirect_all(const Node& node);
  bool redirected(const Node& node);
  // Of the shell's own errors.
  int error_code() const { return is_bash() ? 1 : misused_code; }

  // Commands: commands.cpp.
  void command(const Node& node, Place place, Done done);
  void assign(const Node& node, std::size_t index, bool stays, Then then);
  Status assign(const Assignment& one, bool stays);
  void execute(const Node& node, Strings words, Place place, Done done);
  void call(const Node& body, Strings words, Place place, Done done);
  Result<const Node*> take_script(const std::string& text);
  void evaluate(const Strings& words, Place place, const Done& done);
  void source(Strings words, Place place, const Done& done);
  void in_place(Strings argv, Environment env, Result<std::unique_ptr<Program>> program,
                bool replaces, const Done& done);
  void child(Strings argv, Environment env, Result<std::unique_ptr<Program>> program, Done done);
  void cannot_run(const std::string& name, const Error& error, const Done& done);

  // What the shell does itself: builtins.cpp. `words` begin with its name.
  void misused(const Strings& words, const std::string& message, const Done& done);
  // A builtin's text on its stdout: its exit code.
  int wrote(const std::string& name, const std::string& text);
  void succeed(const Strings& words, const Done& done);
  void fail_once(const Strings& words, const Done& done);
  void exit_or_return(const Strings& words, const Done& done);
  void break_or_continue(const Strings& words, const Done& done);
  void echo(const Strings& words, const Done& done);
  void print_formatted(const Strings& words, const Done& done);
  void test(const Strings& words, const Done& done);
  void change_folder(const Strings& words, const Done& done);
  void print_folder(const Strings& words, const Done& done);
  void set(const Strings& words, const Done& done);
  void shift(const Strings& words, const Done& done);
  void unset(const Strings& words, const Done& done);
  void declare(const Strings& words, const Done& done);
  bool refuses(const std::string& name, const std::string& who);
  void look_for(const Strings& words, const Done& done);
  void tell_kinds(const Strings& words, const Done& done);
  std::string_view kind_of(const std::string& name) const;
  void let(const Strings& words, const Done& done);
  void read(const Strings& words, const Done& done);
  void read_line(const ReadOrder& order, const Done& done);
  void take_line(const ReadOrder& order, int status, const Done& done);
  void read_lines(const Strings& words, const Done& done);
  void until_there_is_more(std::optional<Duration> patience, Then then, Then late);
  void trap(const Strings& words, const Done& done);
  void list_jobs(const Strings& words, const Done& done);
  void wait(const Strings& words, const Done& done);
  void wait_for_all(const Done& done);
  void wait_for_any(const Done& done);
  void wait_for(const Strings& words, std::size_t index, const Done& done);
  void until_a_job_ends(Then then, const Done& interrupted);
  void kill(const Strings& words, const Done& done);

  // Other processes: processes.cpp.
  ProcessId fork(Scope scope, const Node& node, bool tested, Forked streams);
  void forked(Scope scope, const Node& node, bool tested, Forked streams, Done done);
  void background(const Node& node, const Done& done);
  std::vector<const Piece*> outputs_of(const std::vector<Word>& words) const;
  void add_outputs_of(const std::vector<Redirection>& redirections,
                      std::vector<const Piece*>& all) const;
  void with_outputs(std::vector<const Piece*> pieces, std::size_t index, Then then);
  void pipe(const Node& node, Place place, Done done);
  static const Node* tee_of(const Redirection& redirection);
  Status begin_command(const Redirection& redirection);
  Outlet outlet_of(const Node& node, std::size_t index, const std::shared_ptr<Pipe>& pipe);
  void begin(const Node& node, std::size_t index, std::shared_ptr<Input> input, bool tested,
             const std::shared_ptr<Pipe>& pipe);
  void work_out(const Node& node, std::size_t index, std::string input, bool tested,
                const std::shared_ptr<Pipe>& pipe);
  void end_of_one(const std::shared_ptr<Pipe>& pipe);
  int status_of(const Pipe& pipe) const;

  Process& process_;
  Scope scope_;
  ScopeVariables variables_;
  CommandContext context_;
  bool forked_;
  const Node* root_ = nullptr;
  Streams own_streams_;  // those of the script as a whole
  std::unique_ptr<Program> successor_{};

  Leave leave_ = Leave::no;  // by break, continue or return
  int leaves_loops_ = 1;     // how many of them
  int return_status_ = 0;
  int nested_ = 0;         // commands since the last that began anew
  int output_status_ = 0;  // of the last $( )

  std::map<ProcessId, Done> waiting_{};  // for children, what comes then
  std::set<ProcessId> beside_{};         // children that nobody waits for
  Then reading_{};                       // what comes when there is more to read
  Jobs jobs_{};
  Then job_ended_{};
  Done interrupted_{};  // of a wait
  Traps traps_{};
  int ends_by_ = 0;                          // bash: the signal that does, not yet seen to
  int traps_within_ = 0;                     // each other
  std::optional<int> status_before_trap_{};  // what `exit` alone ends with there
};

}  // namespace ddptwin::model::shell
