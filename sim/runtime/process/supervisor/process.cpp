#include "runtime/process/supervisor/process.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/capability.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "runtime/process/start_error.hpp"
#include "runtime/process/wire.hpp"

namespace ddptwin::sandbox {
namespace {

[[noreturn]] void give_up(int status, ChildReport::Kind kind, std::string message) {
  const std::string bytes = encode(ChildReport{kind, std::move(message)});
  static_cast<void>(!::write(status, bytes.data(), bytes.size()));
  ::_exit(1);
}

Status join(const std::vector<int>& namespaces) {
  for (const int fd : namespaces) {
    if (::setns(fd, 0) != 0) return system_error("join a namespace");
  }
  return {};
}

// What containerd leaves a container by default.
constexpr std::array kept_capabilities{
    CAP_CHOWN,   CAP_DAC_OVERRIDE, CAP_FSETID,           CAP_FOWNER,
    CAP_MKNOD,   CAP_NET_RAW,      CAP_SETGID,           CAP_SETUID,
    CAP_SETFCAP, CAP_SETPCAP,      CAP_NET_BIND_SERVICE, CAP_SYS_CHROOT,
    CAP_KILL,    CAP_AUDIT_WRITE};

// exec gives root what is in its bounding set and no more.
void drop_capabilities() {
  for (int capability = 0; ::prctl(PR_CAPBSET_READ, capability) >= 0; ++capability) {
    const bool kept = std::find(kept_capabilities.begin(), kept_capabilities.end(), capability) !=
                      kept_capabilities.end();
    if (!kept) ::prctl(PR_CAPBSET_DROP, capability);
  }
}

// exec gives every handler its default back; what is ignored or blocked would stay so.
void reset_signals() {
  for (const int number : {SIGPIPE, SIGCHLD, SIGHUP}) ::signal(number, SIG_DFL);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

void set_limits(const Program& program) {
  rlimit files{};
  ::getrlimit(RLIMIT_NOFILE, &files);
  if (program.open_files > 0) {
    files.rlim_max = std::min<rlim_t>(files.rlim_max, program.open_files);
  }
  files.rlim_cur = files.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &files);
  const rlimit no_core{0, 0};
  ::setrlimit(RLIMIT_CORE, &no_core);
}

void set_standard(const Program& program) {
  const int null = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  for (int i = 0; i < 3; ++i) ::dup2(program.standard[i] >= 0 ? program.standard[i] : null, i);
}

std::string_view variable(const std::vector<std::string>& env, std::string_view name) {
  for (const std::string& entry : env) {
    if (entry.starts_with(name) && entry[name.size()] == '=') {
      return std::string_view(entry).substr(name.size() + 1);
    }
  }
  return {};
}

std::string go_error(int error) {
  std::string text = std::strerror(error);
  std::transform(text.begin(), text.begin() + 1, text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

struct Found {
  std::string path;
  std::string error;
};

Found find_program(const Program& program) {
  const std::string& name = program.argv.front();
  struct stat info {};
  if (name.find('/') != std::string::npos) {
    if (::stat(name.c_str(), &info) != 0) {
      return {{}, fmt::format("stat {}: {}", name, go_error(errno))};
    }
    if (S_ISDIR(info.st_mode)) return {{}, "is a directory"};
    if (::access(name.c_str(), X_OK) != 0) return {{}, go_error(errno)};
    return {name, {}};
  }
  const std::string_view path = variable(program.env, "PATH");
  for (std::size_t start = 0; start <= path.size();) {
    const std::size_t end = std::min(path.find(':', start), path.size());
    const std::string folder(path.substr(start, end - start));
    const std::string candidate = (folder.empty() ? "." : folder) + "/" + name;
    if (::stat(candidate.c_str(), &info) == 0 && S_ISREG(info.st_mode) &&
        ::access(candidate.c_str(), X_OK) == 0) {
      return {candidate, {}};
    }
    start = end + 1;
  }
  return {{}, std::string(not_in_path)};
}

std::vector<char*> pointers(const std::vector<std::string>& texts) {
  std::vector<char*> out;
  for (const std::string& text : texts) out.push_back(const_cast<char*>(text.c_str()));
  out.push_back(nullptr);
  return out;
}

[[noreturn]] void execute(const Program& program, int status) {
  using Kind = ChildReport::Kind;
  if (program.argv.empty()) {
    give_up(status, Kind::program_failed, "no command specified");
  }
  ::umask(022);
  if (::chdir(program.cwd.empty() ? "/" : program.cwd.c_str()) != 0) {
    const std::string error = fmt::format("chdir to cwd (\"{}\") set in config.json failed: {}",
                                          program.cwd, go_error(errno));
    give_up(status, Kind::program_failed, cannot_execute(program.argv.front(), error));
  }
  set_standard(program);
  set_limits(program);
  const Found found = find_program(program);
  if (found.path.empty()) {
    give_up(status, Kind::program_failed, cannot_execute(program.argv.front(), found.error));
  }
  drop_capabilities();
  reset_signals();
  // Many pods share few processors here: long slices, no preemption at every wake-up.
  const sched_param none{};
  ::sched_setscheduler(0, SCHED_BATCH, &none);
  ::execve(found.path.c_str(), pointers(program.argv).data(), pointers(program.env).data());
  give_up(status, Kind::program_failed, cannot_execute(program.argv.front(), go_error(errno)));
}

}  // namespace

void hold_namespaces() {
  ::close_range(0, ~0U, 0);
  reset_signals();
  ::signal(SIGCHLD, SIG_IGN);  // the kernel then reaps
  for (;;) ::pause();
}

void become_container(const ContainerStart& start) {
  using Kind = ChildReport::Kind;
  ::setsid();
  if (Status joined = join(start.namespaces); !joined) {
    give_up(start.status, Kind::setup_failed, joined.error().text());
  }
  ::sethostname(start.hostname.c_str(), start.hostname.size());
  if (Status entered = enter_root(start.root); !entered) {
    give_up(start.status, Kind::setup_failed, entered.error().text());
  }
  if (!start.hold) execute(start.program, start.status);
  const std::string bytes = encode(ChildReport{Kind::holding, {}});
  static_cast<void>(!::write(start.status, bytes.data(), bytes.size()));
  hold_namespaces();
}

void become_command(const ExecStart& start) {
  ::setsid();
  if (Status joined = join(start.namespaces); !joined) {
    give_up(start.status, ChildReport::Kind::setup_failed, joined.error().text());
  }
  execute(start.program, start.status);
}

}  // namespace ddptwin::sandbox
