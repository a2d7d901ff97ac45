#include "scenario/doctor.hpp"

#include <fmt/format.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <array>
#include <boost/asio/io_context.hpp>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <sstream>
#include <string_view>
#include <thread>

#include "core/real_loop.hpp"
#include "runtime/images/image.hpp"
#include "runtime/process/process_runtime.hpp"
#include "scenario/language/scenario_parser.hpp"
#include "scenario/run.hpp"
#include "scenario/run/images.hpp"
#include "scenario/run/real_cluster.hpp"
#include "scenario/run/result.hpp"

namespace ddptwin::scenario {
namespace {

namespace fs = std::filesystem;

Ability has(std::string what, std::string told) {
  return {Ability::Kind::has, std::move(what), std::move(told)};
}
Ability lacks(std::string what, std::string told) {
  return {Ability::Kind::lacks, std::move(what), std::move(told)};
}

Ability machine() {
  utsname kernel{};
  ::uname(&kernel);
  const double pages = static_cast<double>(::sysconf(_SC_PHYS_PAGES));
  const double gib = pages * static_cast<double>(::sysconf(_SC_PAGE_SIZE)) / (1U << 30U);
  return has("machine", fmt::format("{} {} {}, {} CPUs, {:.1f} GiB", kernel.sysname, kernel.release,
                                    kernel.machine, std::thread::hardware_concurrency(), gib));
}

// What a command prints, without its last line's end; none if it ends with anything but 0.
std::optional<std::string> output_of(const std::string& command) {
  const auto close = [](std::FILE* file) { ::pclose(file); };
  std::unique_ptr<std::FILE, decltype(close)> pipe(
      ::popen((command + " 2>/dev/null").c_str(), "re"), close);
  if (!pipe) return std::nullopt;
  std::string text;
  std::array<char, 4096> part{};
  while (const std::size_t size = std::fread(part.data(), 1, part.size(), pipe.get()))
    text.append(part.data(), size);
  if (::pclose(pipe.release()) != 0) return std::nullopt;
  while (text.ends_with('\n')) text.pop_back();
  return text;
}

// Where a shell of a pod finds the program.
std::optional<std::string> path_of(std::string_view program) {
  std::istringstream folders{std::string(default_path)};
  for (std::string folder; std::getline(folders, folder, ':');) {
    const std::string file = fmt::format("{}/{}", folder, program);
    if (::access(file.c_str(), X_OK) == 0 && !fs::is_directory(file)) return file;
  }
  return std::nullopt;
}

// The cluster's tree, namespaces and network, and what the kernel lets be done to links.
bool examine_sandboxes(std::vector<Ability>& abilities) {
  boost::asio::io_context io{1};
  RealLoop loop(io);
  const auto runtime = ProcessRuntime::start(loop, {});
  if (!runtime) {
    abilities.push_back(lacks("sandboxes", runtime.error().text()));
    return false;
  }
  abilities.push_back(has(
      "sandboxes", ::geteuid() == 0 ? "run by root: the files of the host keep their owners"
                                    : "run by a user: in pods that user is root, and the host's "
                                      "files are nobody's"));
  for (const std::string& note : (*runtime)->host_notes())
    abilities.push_back({Ability::Kind::note, "folders", note});
  const Status links = can_cut_links(**runtime);
  abilities.push_back(
      links ? has("links", "nf_tables: links drop and reset, nodes are lost")
            : lacks("links", links.error().text() + "; such faults act in virtual time alone"));
  return true;
}

// One pod that asks the cluster's DNS.
constexpr const char* one_pod = R"(apiVersion: ddptwin.dev/v1alpha1
kind: Scenario
metadata: {name: doctor}
spec:
  modes: [real]
  images:
  - {name: busybox}
  expect:
  - eventually: {of: pod/doctor, log: ^served$}
  timeout: 30s
---
apiVersion: v1
kind: Pod
metadata: {name: doctor}
spec:
  restartPolicy: Never
  containers:
  - name: doctor
    image: busybox
    command: [sh, -c, 'getent hosts kube-dns.kube-system.svc.cluster.local && echo served']
)";

Ability examine_pod() {
  const KindRegistry kinds;
  auto scenario = parse_scenario("doctor.yaml", kinds,
                                 [](const std::string&) -> Result<std::string> { return one_pod; });
  if (!scenario) return lacks("pods", scenario.error().text());
  describe_plain_images(*scenario);
  std::ostringstream unread;
  RunOptions options;
  options.quiet = true;
  const auto result = run_scenario(*scenario, options, unread);
  if (!result) return lacks("pods", result.error().text());
  if (!result->passed())
    return lacks("pods", result->ends.empty() ? "none began" : result->ends.front());
  return has("pods", "one was run, and asked the cluster's DNS");
}

// Programs of the host, which pods run as their own.
struct Program {
  std::string_view name, use, package;
};
constexpr std::array programs{
    Program{"bash", "scripts that ask for it", "bash"},
    Program{"nslookup", "scripts and init containers that wait for a name", "dnsutils"},
    Program{"python3", "Python", "python3"},
    Program{"torchrun", "torchrun of this machine", "python3-torch"}};

void examine_programs(std::vector<Ability>& abilities) {
  for (const Program& program : programs) {
    const auto path = path_of(program.name);
    const std::string name(program.name);
    abilities.push_back(path ? has(name, *path)
                             : lacks(name, fmt::format("for {}: apt-get install {}", program.use,
                                                       program.package)));
  }
  const std::string import =
      fmt::format("PATH={} ", default_path) +
      "timeout 60 python3 -c 'import torch, torch.distributed as d; print(torch.__version__ + "
      "(\", Gloo\" if d.is_gloo_available() else \"\") + (\", NCCL\" if d.is_nccl_available() else "
      "\"\"))'";
  const auto torch = output_of(import);
  abilities.push_back(
      torch ? has("torch", *torch)
            : lacks("torch",
                    "for training scripts in Python: apt-get install python3-torch, or --python "
                    "with a virtual environment"));
}

void examine_workers(std::vector<Ability>& abilities) {
  std::error_code error;
  const fs::path self = fs::read_symlink("/proc/self/exe", error).parent_path();
  const bool worker = fs::exists(self / "ddptwin-worker", error);
  abilities.push_back(worker ? has("worker", "ddptwin-worker (libtorch, Gloo)")
                             : lacks("worker", "ddptwin-worker is not beside this program"));
  const auto cards = output_of("nvidia-smi -L");
  if (!cards || cards->empty()) {
    abilities.push_back(lacks("GPUs",
                              "none: no CUDA and no NCCL in pods; virtual runs count the "
                              "modelled cards"));
    return;
  }
  std::istringstream lines(*cards);
  for (std::string card; std::getline(lines, card);) abilities.push_back(has("GPUs", card));
}

}  // namespace

Diagnosis examine_host() {
  Diagnosis diagnosis;
  diagnosis.abilities.push_back(machine());
  if (examine_sandboxes(diagnosis.abilities)) {
    Ability pod = examine_pod();
    diagnosis.runs_pods = pod.kind == Ability::Kind::has;
    diagnosis.abilities.push_back(std::move(pod));
  }
  examine_programs(diagnosis.abilities);
  examine_workers(diagnosis.abilities);
  return diagnosis;
}

}  // namespace ddptwin::scenario
