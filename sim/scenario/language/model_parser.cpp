// images[].model: what a user's script does, in the words of its author.
#include <fmt/format.h>

#include <array>
#include <boost/json/value.hpp>

#include "objects/quantity.hpp"
#include "scenario/language/scenario_parser.hpp"

namespace ddptwin::scenario {
namespace {

using ModelField = Field<model::Workload, ParseContext>;

constexpr std::int64_t steps_max = 1'000'000'000;
constexpr std::int64_t rank_max = 1'000'000;

Result<std::int64_t> number_between(const YamlNode& node, std::int64_t least, std::int64_t most) {
  TRY(const std::int64_t number, node.as_integer());
  if (number < least || number > most) return node.must_be(fmt::format("{} to {}", least, most));
  return number;
}

Result<int> exit_code(const YamlNode& node) {
  TRY(const std::int64_t code, number_between(node, 0, exit_code_max));
  return static_cast<int>(code);
}

Result<std::uint64_t> bytes(const YamlNode& node) {
  TRY(const Quantity quantity, node.as_quantity());
  return static_cast<std::uint64_t>(quantity.value());
}

Status read_lines(const YamlNode& node, std::vector<std::string>& to) {
  TRY(const auto nodes, node.as_list());
  for (const YamlNode& line : nodes) {
    TRY(to.emplace_back(), line.as_any_scalar());
  }
  return {};
}

using CheckpointField = Field<model::Workload, ParseContext>;
constexpr std::array checkpoint_fields{
    CheckpointField{"path", "an absolute path", "the file, on a volume that outlives the pod",
                    [](const YamlNode& node, model::Workload& to, const ParseContext&) -> Status {
                      TRY(to.checkpoint, node.as_text());
                      if (!to.checkpoint.starts_with('/')) return node.must_be("an absolute path");
                      return {};
                    },
                    true},
    CheckpointField{"every", "a number of steps", "default: after the last step only",
                    [](const YamlNode& node, model::Workload& to, const ParseContext&) -> Status {
                      TRY(to.checkpoint_every, number_between(node, 1, steps_max));
                      return {};
                    }},
};

using FailField = Field<model::Workload, ParseContext>;
constexpr std::array fail_fields{
    FailField{"atStep", "a number", "after this step is done",
              [](const YamlNode& node, model::Workload& to, const ParseContext&) -> Status {
                TRY(to.fail_at_step, number_between(node, 0, steps_max));
                return {};
              },
              true},
    FailField{"code", "an exit code", "default: 1",
              [](const YamlNode& node, model::Workload& to, const ParseContext&) -> Status {
                TRY(to.fail_code, exit_code(node));
                return {};
              }},
    FailField{"rank", "a number", "only this rank; default: every rank",
              [](const YamlNode& node, model::Workload& to, const ParseContext&) -> Status {
                TRY(const std::int64_t rank, number_between(node, 0, rank_max));
                to.fail_rank = static_cast<int>(rank);
                return {};
              }},
    FailField{"once", "true or false",
              "not again in the same pod, or where the checkpoint lies; default: false",
              [](const YamlNode& node, model::Workload& to, const ParseContext&) -> Status {
                TRY(to.fail_once, node.as_bool());
                return {};
              }},
};

using PrintsField = Field<model::Prints, ParseContext>;
constexpr std::array prints_fields{
    PrintsField{"joined", "a list of texts", "once init_process_group is done",
                [](const YamlNode& node, model::Prints& to, const ParseContext&) {
                  return read_lines(node, to.joined);
                }},
    PrintsField{"step", "a list of texts",
                "at the end of each step; a scenario's `step: 5` looks for \"step 5\"",
                [](const YamlNode& node, model::Prints& to, const ParseContext&) {
                  return read_lines(node, to.step);
                }},
    PrintsField{"finished", "a list of texts", "after the last step",
                [](const YamlNode& node, model::Prints& to, const ParseContext&) {
                  return read_lines(node, to.finished);
                }},
};

constexpr std::array model_fields{
    ModelField{"start", "a duration",
               "from the start of the container to init_process_group; default: what Python needs "
               "to import torch",
               [](const YamlNode& node, model::Workload& to, const ParseContext&) -> Status {
                 TRY(to.start, node.as_duration());
                 return {};
               }},
    ModelField{"steps", "a number", "of the whole training; default: 20",
               [](const YamlNode& node, model::Workload& to, const ParseContext&) -> Status {
                 TRY(to.steps, number_between(node, 0, steps_max));
                 return {};
               }},
    ModelField{"stepTime", "a duration", "a step's own work, without all-reduce; default: 100ms",
               [](const YamlNode& node, model::Workload& to, const ParseContext&) -> Status {
                 TRY(to.step_time, node.as_duration());
                 return {};
               }},
    ModelField{"gradientBytes", "a quantity", "of one rank in one step; default: 25Mi",
               [](const YamlNode& node, model::Workload& to, const ParseContext&) -> Status {
                 TRY(to.gradient_bytes, bytes(node));
                 return {};
               }},
    ModelField{"timeout", "a duration", "of init_process_group; default: 30m, as PyTorch's",
               [](const YamlNode& node, model::Workload& to, const ParseContext&) -> Status {
                 TRY(to.timeout, node.as_duration());
                 if (to.timeout == Duration::zero()) return node.must_be("longer than nothing");
                 return {};
               }},
    ModelField{"checkpoint", "a map", "what it goes on from when it is started again",
               [](const YamlNode& node, model::Workload& to, const ParseContext& context) {
                 return read_fields(node, checkpoint_fields, to, context);
               }},
    ModelField{"memory", "a quantity", "of one rank, beside the interpreter's own; default: 0",
               [](const YamlNode& node, model::Workload& to, const ParseContext&) -> Status {
                 TRY(to.memory, bytes(node));
                 return {};
               }},
    ModelField{
        "listens", "a list of ports",
        "TCP ports that are open from init_process_group on (metrics, health), as probes find them",
        [](const YamlNode& node, model::Workload& to, const ParseContext&) -> Status {
          TRY(const auto nodes, node.as_list());
          for (const YamlNode& port : nodes) {
            TRY(const std::int64_t number, number_between(port, 1, 65535));
            to.listens.push_back(static_cast<std::uint16_t>(number));
          }
          return {};
        }},
    ModelField{"exitCode", "an exit code", "after the last step; default: 0",
               [](const YamlNode& node, model::Workload& to, const ParseContext&) -> Status {
                 TRY(to.exit_code, exit_code(node));
                 return {};
               }},
    ModelField{"fail", "a map", "a failure of its own",
               [](const YamlNode& node, model::Workload& to, const ParseContext& context) {
                 return read_fields(node, fail_fields, to, context);
               }},
    ModelField{"peerLossCode", "an exit code",
               "when a collective fails; default: 1, an uncaught exception",
               [](const YamlNode& node, model::Workload& to, const ParseContext&) -> Status {
                 TRY(to.peer_loss_code, exit_code(node));
                 return {};
               }},
    ModelField{"prints", "a map",
               "its lines, with {rank}, {world_size}, {step} and {steps} filled in; default: those "
               "of ddptwin-worker",
               [](const YamlNode& node, model::Workload& to, const ParseContext& context) {
                 return read_fields(node, prints_fields, to.prints.emplace(), context);
               }},
    ModelField{"launcher", "torchrun",
               "what the command starts the ranks with, where it is not torchrun by name; default: "
               "the command is the rank",
               [](const YamlNode& node, model::Workload& to, const ParseContext&) -> Status {
                 TRY(const std::string text, node.as_text());
                 if (text != "torchrun") return node.must_be("torchrun");
                 to.torchrun = true;
                 return {};
               }},
};

}  // namespace

Result<model::Workload> parse_model(const YamlNode& node, const ParseContext& context) {
  model::Workload workload;
  TRY_VOID(read_fields(node, model_fields, workload, context));
  return workload;
}

std::vector<ReferenceTable> model_tables() {
  return {
      reference_of("model",
                   "What a script that only a process can run does, for runs in virtual time: a "
                   "rank of a data-parallel training.",
                   model_fields),
      reference_of("checkpoint", "", checkpoint_fields), reference_of("fail", "", fail_fields),
      reference_of("prints", "", prints_fields)};
}

}  // namespace ddptwin::scenario
