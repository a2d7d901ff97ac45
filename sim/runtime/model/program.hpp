// What runs in a modelled container: programs as state machines, and the process that each of them
// is. A program reads no clock, chance, file or network but through its Process.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/loop.hpp"
#include "core/random.hpp"
#include "core/result.hpp"
#include "runtime/model/blank.hpp"
#include "runtime/model/input.hpp"
#include "runtime/model/profile.hpp"
#include "runtime/model/timers.hpp"

namespace ddptwin::model {

class Process;
class Network;
enum class Connect : std::uint8_t;
struct Resolved;
struct Workload;

// Of one runtime; never used twice. 0 is no process.
using ProcessId = std::uint32_t;
// In the order in which they were set; names are unique.
using Environment = std::vector<std::pair<std::string, std::string>>;

struct ExitStatus {
  int code = 0;
  int signal = 0;  // not 0: ended by it, and `code` says nothing
  bool out_of_memory = false;
  // As a container's status shows it: 128 + n for a signal (spec/kubernetes.md §2.3).
  int shown() const { return signal != 0 ? 128 + signal : code; }
  friend bool operator==(const ExitStatus&, const ExitStatus&) = default;
};

// A state machine in a process. All calls come from the loop, on the lane of the process's pod;
// none comes after ended(). The program itself is destroyed somewhat later than that.
class Program {
 public:
  virtual ~Program() = default;
  // The process exists. Everything else follows from its timers, answers and signals.
  virtual void start(Process& process) = 0;
  // A signal other than SIGKILL, SIGSTOP and SIGCONT. False: no handler is installed, and the
  // default action follows (process 1 of a container then ignores it).
  virtual bool signal(Process& /*process*/, int /*number*/) { return false; }
  // False: it counts as a later process than the container's first, which has no default actions
  // for signals (the built-in worker, forked from a zygote: process/README.md).
  virtual bool is_first_process() const { return true; }
  // A child that it spawned has ended.
  virtual void child_exited(Process& /*process*/, ProcessId /*child*/, const ExitStatus&) {}
  // SIGSTOP and SIGCONT: nothing is called in between; these are for what others know of it.
  virtual void stopped(Process& /*process*/) {}
  virtual void continued(Process& /*process*/) {}
  // The process has ended, by itself or not: its sockets are closed. To be used for what outlives
  // it.
  virtual void ended(Process& /*process*/, const ExitStatus&) {}
};

// Where what a process prints goes.
struct Sink {
  enum class To : std::uint8_t { log, nothing, text, pipe };
  To to = To::log;
  bool standard_error = false;               // log: as which of the container's streams
  std::shared_ptr<std::string> text{};       // text: what somebody reads, $( ), a pipe or an exec
  std::vector<std::string> files{};          // appended to besides, absolute paths
  std::shared_ptr<const Input::End> pipe{};  // pipe: somebody reads it while it is written
};

struct Spawn {
  std::vector<std::string> argv{};
  Environment env{};
  bool new_session = false;  // torchrun 2.x: outlives its parent's end (ddp-semantics §9.5)
  // How its lines appear: behind a prefix, or not at all (ddp-semantics §4), and where. Without a
  // sink they go where its parent's go.
  struct Stream {
    std::string prefix{};
    bool shown = true;
    std::shared_ptr<const Sink> sink{};
  };
  Stream output{};
  Stream error_output{};
  std::unique_ptr<Program> program{};  // null: the one that argv names
  std::shared_ptr<Input> input{};      // null: its parent's
};

// The profile and constants that a runtime was made with.
struct Model {
  const TorchProfile* torch = &torch_2;
  const Timing* timing = &host_timing;
  int cpus = 2;  // of a node of which nobody says more, as os.cpu_count() does (ddp-semantics §0)
};

// One process of a container: what its program may ask for. Owned by the runtime; an id can be kept
// longer than a reference. The first process of a container is its process 1: its end is the
// container's, and takes all others with it.
class Process final : public Timers {
 public:
  // How the runtime keeps processes; process.cpp and model_runtime.cpp know it.
  struct State;
  explicit Process(std::unique_ptr<State> state);
  ~Process() override;
  Process(const Process&) = delete;

  ProcessId id() const;
  bool alive() const;
  bool is_stopped() const;
  int pid() const;  // as its own PID namespace counts: 1 for the first
  const std::vector<std::string>& argv() const;
  const Environment& environment() const;
  std::string_view env(std::string_view name) const;  // empty: unset or empty
  void set_variable(const std::string& name, std::string value);
  const std::string& hostname() const;
  std::string fqdn() const;       // what socket.getfqdn() says: the first name of /etc/hosts
  const std::string& ip() const;  // of the pod
  const std::string& node() const;
  int cpus() const;  // of the node, as os.cpu_count() says: no quota is looked at
  const std::string& working_directory() const;
  void change_directory(const std::string& path);     // whether there is one is not asked
  bool may_have_folder(std::string_view path) const;  // Files::may_have_folder()
  bool has_folder(std::string_view path) const;       // Files::has_folder()
  const Workload* workload() const;  // what the user said of the image's script; null: nothing

  const Model& model() const;
  Loop& loop();
  Lane lane() const;
  Time now() const;
  // A stream of its own. Never two draws in one expression: compilers order them differently.
  Random& random();
  const Random& random() const;

  // A line on stdout or stderr, without its end.
  void print(std::string line);
  void print_error(std::string line);
  // Text on stdout as it stands: what ends no line waits for more, whoever prints that. The error
  // is that of a file that it goes to.
  Status write(std::string_view text);
  // The same on stdout. False: somebody reads it, and it is too much, or no zeros.
  Result<bool> write_blank(std::uint64_t bytes, bool are_zeros);
  // False: nobody reads the lines of steps in this run, so they need not be made.
  bool prints_steps() const;
  // Null: there is nothing to read, as from /dev/null.
  const std::shared_ptr<Input>& input() const;
  // Called once what it reads has changed; not after its end. There has to be some.
  void when_input_changes(Callback callback);

  // The process ends; nothing of its program is called after ended().
  void exit(int code);
  // It ends by a signal of its own (abort, a segmentation fault).
  void die(int signal);

  // Runs the callback after that much time, or when the process goes on if it is stopped then: a
  // sleep and a timeout go by the clock (nanosleep(2), restart_syscall(2)). Not after its end.
  TimerId after(Duration delay, Callback callback) override;
  // The same for what keeps the processor busy: time in which the process is stopped does not
  // count.
  TimerId work(Duration time, Callback callback);
  void cancel(TimerId timer) override;

  // Anonymous memory, kept for ever. Over the container's limit the process is killed: false, and
  // it has ended.
  bool allocate(std::uint64_t bytes);

  // Children. The environment is the child's whole; a command that cannot be started is an error
  // in the words of exec.
  Result<ProcessId> spawn(Spawn spawn);
  // False: no such child, or it has ended.
  bool kill(ProcessId child, int number);
  // kill(2): by its number within the container. 0 as `number` only asks.
  bool signal_pid(int pid, int number);
  std::vector<ProcessId> group() const;  // all of its process group, itself the last
  // To all of its process group, itself the last (kill(2) with 0).
  void signal_group(int number);
  bool is_alive(ProcessId child) const;
  int pid_of(ProcessId child) const;  // as pid(); 0: no such child

  // Files by path in the container. Errors carry errno in `code` and the words of Python's
  // OSError: "[Errno 2] No such file or directory: '/x'".
  Result<std::string> read_file(std::string_view path) const;
  // At once and whole, as by a rename.
  Status write_file(std::string_view path, std::string content);
  Status append_file(std::string_view path, std::string_view content);
  Status append_blank(std::string_view path, Blank blank);
  // Where any folder may be, as those that a described script writes to, the file's is there.
  void make_room(std::string_view path);
  Status make_folder(std::string_view path);  // and those above it
  // Absolute, without `.` and `..`.
  std::string path_of(std::string_view path) const;
  bool file_exists(std::string_view path) const;
  bool is_empty_file(std::string_view path) const;  // or not there
  void remove_file(std::string_view path);
  // With everything below it. False: there was none, or it cannot be written.
  bool remove_folder(std::string_view path);

  // getaddrinfo() of IPv4 addresses: /etc/hosts, then the search domains of resolv.conf
  // (resolver.hpp). An address answers itself, at once.
  void lookup(std::string name, UniqueFunction<void(const Resolved&)> done);
  Network& network();
  // One connection attempt from this pod; the answer comes in the process's own time and not after
  // its end (network.hpp).
  void connect(const std::string& address, std::uint16_t port, Duration patience,
               UniqueFunction<void(Connect)> done);
  // For the trace: a connection to that address failed, because that process ended or stands still,
  // or, where that is 0, by a fault of the link, if there is one. What the container does from then
  // on, until a connection is made again, is told to follow from it.
  void connection_broke(const std::string& address, ProcessId peer, std::string_view how) const;

  State& state() { return *state_; }
  const State& state() const { return *state_; }

 private:
  void connected(const std::string& address, Connect outcome) const;
  Status emit(const Spawn::Stream& stream, bool standard_error, std::string text);

  std::unique_ptr<State> state_;
};

}  // namespace ddptwin::model
