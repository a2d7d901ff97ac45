#include "faults.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "error.hpp"

namespace ddptwin::workers {
namespace {

// True for the first caller only.
bool leave_mark(const std::string& file) {
  const int fd = ::open(file.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
  if (fd < 0) {
    if (errno == EEXIST) return false;
    throw PythonError("OSError", "cannot leave the mark " + file + ": " + std::strerror(errno));
  }
  ::fsync(fd);
  ::close(fd);
  return true;
}

void fail(const Options& options) {
  switch (options.fail_with) {
    case FailureMode::exit:
      ::_exit(options.fail_code);
    case FailureMode::abort:
      std::abort();
    case FailureMode::segv:
      std::signal(SIGSEGV, SIG_DFL);
      std::raise(SIGSEGV);
      ::_exit(139);  // a process 1 without a handler survives its own signals
    case FailureMode::hang:
      for (;;) ::pause();
  }
}

}  // namespace

std::string failure_mark(const Options& options, int rank) {
  return options.checkpoint + ".failed-rank-" + std::to_string(rank);
}

void fail_if_due(const Options& options, int rank, std::int64_t step) {
  if (step != options.fail_at_step || options.fail_rank.value_or(rank) != rank) return;
  if (options.fail_once && !leave_mark(failure_mark(options, rank))) return;
  std::printf("failing rank %d at step %lld\n", rank, static_cast<long long>(step));
  std::fflush(nullptr);
  fail(options);
}

void allocate_if_due(const Options& options, int rank, std::int64_t step) {
  if (options.allocate == 0 || step != options.allocate_at_step) return;
  if (options.allocate_rank.value_or(rank) != rank) return;
  std::printf("allocating %llu bytes rank %d\n", static_cast<unsigned long long>(options.allocate),
              rank);
  std::fflush(nullptr);
  auto* memory = static_cast<volatile char*>(std::malloc(options.allocate));
  if (memory == nullptr) {
    throw PythonError("RuntimeError",
                      "DefaultCPUAllocator: can't allocate memory: you tried to allocate " +
                          std::to_string(options.allocate) +
                          " bytes. Error code 12 (Cannot allocate memory)");
  }
  const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  for (std::uint64_t at = 0; at < options.allocate; at += page) memory[at] = 1;
}

}  // namespace ddptwin::workers
