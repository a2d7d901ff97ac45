// ddptwin doctor: what this machine can do, and what follows where it cannot.
#include <fmt/format.h>

#include <array>
#include <iostream>

#include "commands.hpp"
#include "scenario/doctor.hpp"

namespace ddptwin {
namespace {

int doctor() {
  const scenario::Diagnosis diagnosis = scenario::examine_host();
  constexpr std::array marks{"yes", "no", "note"};
  for (const scenario::Ability& one : diagnosis.abilities)
    std::cout << fmt::format("{:<5} {:<10} {}\n", marks[static_cast<std::size_t>(one.kind)],
                             one.what, one.told);
  std::cout
      << (diagnosis.runs_pods
              ? "runs in real and in virtual time are possible here\n"
              : "runs in real time are not possible here; --mode virtual needs none of this\n");
  return diagnosis.runs_pods ? Exit::held : Exit::cannot;
}

}  // namespace

Command add_doctor(CLI::App& app) {
  CLI::App& command =
      *app.add_subcommand("doctor", "Tell what this machine can do for runs in real time");
  command.footer(
      "It starts a sandbox and a pod and looks for the programs that pods use. Exit status 3:\n"
      "no pod can run here, and the line says why.");
  return {&command, [] { return doctor(); }};
}

}  // namespace ddptwin
