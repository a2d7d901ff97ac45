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

Status read_lines(const YamlNode& node, model::Prints::Lines& to) {
  TRY(const auto nodes, node.as_list());
  to.emplace();
  for (const YamlNode& line : nodes) {
    TRY(to->emplace_back(), line.as_any_scalar());
  }
  return {};
}

Status read_text_lines(const YamlNode& node, std::vector<std::string>& to) {
  model::Prints::Lines lines;
  TRY_VOID(read_lines(node, lines));
  to = std::move(*lines);
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
    CheckpointField{"size", "a quantity", "of the file; default: next to nothing",
                    [](const YamlNode& node, model::Workload& to, const ParseContext&) -> Status {
                      TRY(to.checkpoint_bytes, bytes(node));
                      return {};
                    }},
};

using WritesField = Field<model::Writes, ParseContext>;
constexpr std::array writes_fields{
    WritesField{"path", "an absolute path", "the file, with {rank} filled in",
                [](const YamlNode& node, model::Writes& to, const ParseContext&) -> Status {
                  TRY(to.path, node.as_text());
                  if (!to.path.starts_with('/')) return node.must_be("an absolute path");
                  return {};
                },
                true},
    WritesField{"size", "a quantity", "how much",
                [](const YamlNode& node, model::Writes& to, const ParseContext&) -> Status {
                  TRY(to.bytes, bytes(node));
                  return {};
                },
                true},
    WritesField{"every", "a number of steps",
                "so much more at the end of each so many; default: once, before init_process_group",
                [](const YamlNode& node, model::Writes& to, const ParseContext&) -> Status {
                  TRY(to.every, number_between(node, 1, steps_max));
                  return {};
                }},
    WritesField{"rank", "a number", "only this rank; default: every rank",
                [](const YamlNode& node, model::Writes& to, const ParseContext&) -> Status {
                  TRY(const std::int64_t rank, number_between(node, 0, rank_max));
                  to.rank = static_cast<int>(rank);
                  return {};
                }},
};

Status read_writes(const YamlNode& node, std::vector<model::Writes>& to,
                   const ParseContext& context) {
  TRY(const auto nodes, node.as_list());
  for (const YamlNode& one : nodes)
    TRY_VOID(read_fields(one, writes_fields, to.emplace_back(), context));
  return {};
}

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
    FailField{"within", "true or false",
              "in the middle of that step, before its all-reduce; default: false",
              [](const YamlNode& node, model::Workload& to, const ParseContext&) -> Status {
                TRY(to.fail_within_step, node.as_bool());
                return {};
              }},
    FailField{"says", "a list of texts",
              "its last words on standard error, as those of prints; default: one line of the "
              "model's own",
              [](const YamlNode& node, model::Workload& to, const ParseContext&) {
                return read_text_lines(node, to.fail_says);
              }},
    FailField{"once", "true or false",
              "not again in the same pod, or where the checkpoint lies; default: false",
              [](const YamlNode& node, model::Workload& to, const ParseContext&) -> Status {
                TRY(to.fail_once, node.as_bool());
                return {};
              }},
};

struct NumberedShare {
  std::int64_t rank = 0;
  model::RankShare share{};
};
using ShareField = Field<NumberedShare, ParseContext>;
constexpr std::array share_fields{
    ShareField{"rank", "a number", "which one it is",
               [](const YamlNode& node, NumberedShare& to, const ParseContext&) -> Status {
                 TRY(to.rank, number_between(node, 0, rank_max));
                 return {};
               },
               true},
    ShareField{"start", "a duration", "it comes later, or sooner",
               [](const YamlNode& node, NumberedShare& to, const ParseContext&) -> Status {
                 TRY(to.share.start, node.as_duration());
                 return {};
               }},
    ShareField{"stepTime", "a duration", "it is slower, or faster",
               [](const YamlNode& node, NumberedShare& to, const ParseContext&) -> Status {
                 TRY(to.share.step_time, node.as_duration());
                 return {};
               }},
    ShareField{"steps", "a number", "it has fewer batches, or more",
               [](const YamlNode& node, NumberedShare& to, const ParseContext&) -> Status {
                 TRY(to.share.steps, number_between(node, 0, steps_max));
                 return {};
               }},
};

Status read_shares(const YamlNode& node, std::map<int, model::RankShare>& to,
                   const ParseContext& context) {
  TRY(const auto nodes, node.as_list());
  for (const YamlNode& one : nodes) {
    NumberedShare read;
    TRY_VOID(read_fields(one, share_fields, read, context));
    if (!to.emplace(static_cast<int>(read.rank), read.share).second)
      return one.fail_at("rank", fmt::format("rank {} is there twice", read.rank));
  }
  return {};
}

using TermField = Field<model::TermHandler, ParseContext>;
constexpr std::array term_fields{
    TermField{"code", "an exit code", "default: 143",
              [](const YamlNode& node, model::TermHandler& to, const ParseContext&) -> Status {
                TRY(to.code, exit_code(node));
                return {};
              }},
    TermField{"save", "true or false", "it writes the checkpoint first; default: false",
              [](const YamlNode& node, model::TermHandler& to, const ParseContext&) -> Status {
                TRY(to.save, node.as_bool());
                return {};
              }},
    TermField{"atOnce", "true or false", "by os._exit; default: false",
              [](const YamlNode& node, model::TermHandler& to, const ParseContext&) -> Status {
                TRY(to.at_once, node.as_bool());
                return {};
              }},
    TermField{"says", "a list of texts", "its lines, as those of prints",
              [](const YamlNode& node, model::TermHandler& to, const ParseContext&) {
                return read_text_lines(node, to.says);
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

struct PortProtocolRow {
  std::string_view name;
  model::PortAnswers::To to;
};
constexpr std::array port_protocols{
    PortProtocolRow{"http", model::PortAnswers::To::http},
    PortProtocolRow{"grpc", model::PortAnswers::To::grpc},
    PortProtocolRow{"tcp", model::PortAnswers::To::nobody},
};

using PortField = Field<model::ListeningPort, ParseContext>;
constexpr std::array port_fields{
    PortField{"port", "a port", "on all addresses of the pod",
              [](const YamlNode& node, model::ListeningPort& to, const ParseContext&) -> Status {
                TRY(const std::int64_t number, number_between(node, 1, 65535));
                to.port = static_cast<std::uint16_t>(number);
                return {};
              },
              true},
    PortField{"protocol", "http, grpc or tcp",
              "what it answers: only these requests, and with tcp none; default: http and grpc",
              [](const YamlNode& node, model::ListeningPort& to, const ParseContext&) -> Status {
                TRY(const std::string name, node.as_text());
                for (const PortProtocolRow& row : port_protocols)
                  if (row.name == name) return to.answers.to = row.to, Status();
                return node.must_be("http, grpc or tcp");
              }},
    PortField{"status", "a number, or UNKNOWN, SERVING, NOT_SERVING or SERVICE_UNKNOWN",
              "the status of HTTP, or of gRPC's health; default: 200, SERVING",
              [](const YamlNode& node, model::ListeningPort& to, const ParseContext&) -> Status {
                TRY(const std::string text, node.as_any_scalar());
                for (const ServingStatus& row : serving_statuses)
                  if (row.name == text) return to.answers.serving = row.status, Status();
                constexpr std::int64_t least = 100, most = 599;
                const auto number = number_between(node, least, most);
                if (!number)
                  return node.must_be(
                      "a status of HTTP, or one of gRPC's health: UNKNOWN, SERVING, NOT_SERVING, "
                      "SERVICE_UNKNOWN");
                to.answers.http_status = static_cast<int>(*number);
                return {};
              }},
    PortField{"delay", "a duration", "before it answers; default: none",
              [](const YamlNode& node, model::ListeningPort& to, const ParseContext&) -> Status {
                TRY(to.answers.delay, node.as_duration());
                return {};
              }},
};

Result<model::ListeningPort> listening_port(const YamlNode& node, const ParseContext& context) {
  model::ListeningPort port;
  if (node.value().is_object()) {
    TRY_VOID(read_fields(node, port_fields, port, context));
    return port;
  }
  constexpr std::int64_t most = 65535;
  TRY(const std::int64_t number, number_between(node, 1, most));
  port.port = static_cast<std::uint16_t>(number);
  return port;
}

constexpr std::array model_fields{
    ModelField{"start", "a duration",
               "from the start of the container to init_process_group; default: what Python needs "
               "to import torch",
               [](const YamlNode& node, model::Workload& to, const ParseContext&) -> Status {
                 TRY(to.start, node.as_duration());
                 return {};
               }},
    ModelField{
        "ddp", "true or false",
        "whether it wraps its model in DistributedDataParallel, which PyTorch 2.x needs 1.2 s "
        "more for at the start, 0.2 s at the end and 91 MiB; default: true",
        [](const YamlNode& node, model::Workload& to, const ParseContext&) -> Status {
          TRY(to.ddp, node.as_bool());
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
    ModelField{"backend", "gloo or nccl",
               "of its process group; nccl needs a container with nvidia.com/gpu among its limits; "
               "default: the one that its command or its script's text names, as far as the model "
               "reads it, else gloo",
               [](const YamlNode& node, model::Workload& to, const ParseContext&) -> Status {
                 TRY(const std::string name, node.as_text());
                 const model::BackendRow* row = model::backend_named(name);
                 if (row == nullptr) return node.must_be("gloo or nccl");
                 to.backend = row->backend;
                 return {};
               }},
    ModelField{
        "destroys", "true or false",
        "whether it calls destroy_process_group() after its last step; NCCL warns where not; "
        "default: true",
        [](const YamlNode& node, model::Workload& to, const ParseContext&) -> Status {
          TRY(to.destroys, node.as_bool());
          return {};
        }},
    ModelField{"timeout", "a duration",
               "of init_process_group; default: PyTorch's, 30m, and of NCCL 10m since 2.x",
               [](const YamlNode& node, model::Workload& to, const ParseContext&) -> Status {
                 TRY(const Duration timeout, node.as_duration());
                 to.timeout = timeout;
                 if (timeout == Duration::zero()) return node.must_be("longer than nothing");
                 return {};
               }},
    ModelField{"checkpoint", "a map", "what it goes on from when it is started again",
               [](const YamlNode& node, model::Workload& to, const ParseContext& context) {
                 return read_fields(node, checkpoint_fields, to, context);
               }},
    ModelField{"writes", "a list of maps",
               "files that each rank fills beside its checkpoint, against the limits of emptyDirs "
               "and of ephemeral-storage",
               [](const YamlNode& node, model::Workload& to, const ParseContext& context) {
                 return read_writes(node, to.writes, context);
               }},
    ModelField{"memory", "a quantity", "of one rank, beside the interpreter's own; default: 0",
               [](const YamlNode& node, model::Workload& to, const ParseContext&) -> Status {
                 TRY(to.memory, bytes(node));
                 return {};
               }},
    ModelField{
        "listens", "a list of ports or maps",
        "TCP ports that are open from init_process_group on (metrics, health), as probes find "
        "them; "
        "a number answers every HTTP request with 200, and that of gRPC's health with SERVING",
        [](const YamlNode& node, model::Workload& to, const ParseContext& context) -> Status {
          TRY(const auto nodes, node.as_list());
          for (const YamlNode& one : nodes) {
            TRY(const model::ListeningPort port, listening_port(one, context));
            to.listens.push_back(port);
          }
          return {};
        }},
    ModelField{"serves", "true or false",
               "it is no rank: it listens, and stays until its container is ended; default: false",
               [](const YamlNode& node, model::Workload& to, const ParseContext&) -> Status {
                 TRY(to.serves, node.as_bool());
                 return {};
               }},
    ModelField{"ranks", "a list of maps", "what single ranks do otherwise",
               [](const YamlNode& node, model::Workload& to, const ParseContext& context) {
                 return read_shares(node, to.ranks, context);
               }},
    ModelField{"join", "true or false",
               "DDP's Join around its loop: who has no more steps goes along with the others; "
               "default: false",
               [](const YamlNode& node, model::Workload& to, const ParseContext&) -> Status {
                 TRY(to.joins, node.as_bool());
                 return {};
               }},
    ModelField{"onSigterm", "a map",
               "a handler of its own, which runs when neither init_process_group nor a collective "
               "does; default: none",
               [](const YamlNode& node, model::Workload& to, const ParseContext& context) {
                 return read_fields(node, term_fields, to.on_term.emplace(), context);
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
               "its lines, with {rank}, {world_size}, {step} and {steps} filled in; of each moment "
               "that is not named, that of ddptwin-worker, and of an empty list none",
               [](const YamlNode& node, model::Workload& to, const ParseContext& context) {
                 return read_fields(node, prints_fields, to.prints, context);
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
      reference_of("checkpoint", "", checkpoint_fields),
      reference_of("fail", "", fail_fields),
      reference_of("listens", "A map instead of a port.", port_fields),
      reference_of("onSigterm", "", term_fields),
      reference_of("prints", "", prints_fields),
      reference_of("ranks", "", share_fields),
      reference_of("writes", "", writes_fields)};
}

}  // namespace ddptwin::scenario
