#include "program.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <string_view>

#include "zygote.hpp"

namespace ddptwin::workers {
namespace {

constexpr const char* torch_program = "ddptwin-worker";
constexpr const char* gloo_program = "ddptwin-worker-gloo";

int refuse(const std::string& why) {
  std::fprintf(stderr, "%s: %s\n", torch_program, why.c_str());
  return 2;
}

// Comes back only if it cannot.
int run_file(const std::string& file, const std::vector<std::string>& arguments) {
  std::vector<char*> argv;
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  ::execv(file.c_str(), argv.data());
  return refuse("cannot run " + file + ": " + std::strerror(errno));
}

// The other engine is another program: it lies beside this one.
int run_other(Engine engine, const std::vector<std::string>& arguments) {
  std::error_code error;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", error);
  const char* name = engine == Engine::gloo ? gloo_program : torch_program;
  return run_file((self.parent_path() / name).string(), arguments);
}

int run_forked(const Program& program, const std::vector<std::string>& arguments) {
  const Parsed parsed = parse_options({arguments.begin() + 1, arguments.end()});
  // CUDA does not survive a fork, and a warm libtorch has already seen that there is none.
  if (parsed.options.backend == Backend::nccl) return run_file("/proc/self/exe", arguments);
  return run_program(program, arguments);
}

}  // namespace

int run_program(const Program& program, const std::vector<std::string>& arguments) {
  const Parsed parsed = parse_options({arguments.begin() + 1, arguments.end()});
  const bool is_torch = program.engine == Engine::torch;
  if (!parsed.error.empty()) return refuse(parsed.error);
  if (parsed.help) {
    std::fputs(help_text(is_torch ? torch_program : gloo_program).c_str(), stdout);
    return std::fflush(stdout);
  }
  if (parsed.version) {
    std::printf("%s %s\n%s\n", is_torch ? torch_program : gloo_program, DDPTWIN_VERSION,
                program.version.c_str());
    return std::fflush(stdout);
  }
  if (parsed.options.zygote) {
    if (!program.warm_up)
      return refuse("--zygote is for the torch engine: the other starts in 2 ms");
    program.warm_up();
    return serve_zygote(*parsed.options.zygote, [&program](const std::vector<std::string>& forked) {
      return run_forked(program, forked);
    });
  }
  if (parsed.options.engine.value_or(program.engine) != program.engine) {
    return run_other(*parsed.options.engine, arguments);
  }
  return run_rank(parsed.options, program.engineering);
}

}  // namespace ddptwin::workers
