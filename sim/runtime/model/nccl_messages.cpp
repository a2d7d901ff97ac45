#include "runtime/model/nccl_messages.hpp"

#include <fmt/format.h>

#include <chrono>

#include "runtime/model/messages.hpp"

namespace ddptwin::model {
namespace {

constexpr std::string_view unique_id_key = "/default_pg/0//cuda//0";

Error backend_error(Reason reason, std::string_view type, std::string text) {
  return Error{reason, std::string(type), std::move(text), nullptr, 0, {}};
}

// 2.x has a type of its own for what a backend says, 1.13 has not.
std::string_view type_of(const NcclProfile& nccl) {
  return nccl.names_group ? "torch.distributed.DistBackendError" : "RuntimeError";
}

std::int64_t in_milliseconds(Duration duration) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(duration).count();
}

// NCCLUtils.cpp, C10D_NCCL_CHECK.
Error nccl_error(const NcclProfile& nccl, std::string_view words, std::string_view detail,
                 std::string_view last) {
  return backend_error(
      Reason::io, type_of(nccl),
      fmt::format("NCCL error in: {}, {}, NCCL version {}\n{}\nLast error:\n{}",
                  nccl.names_group ? "/pytorch/torch/csrc/distributed/c10d/NCCLUtils.cpp:94"
                                   : "../torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp:1275",
                  words, nccl.version, detail, last));
}

Error unique_id_error(const TorchProfile& torch, int rank, std::string_view why) {
  return backend_error(
      Reason::timeout, type_of(*torch.nccl),
      fmt::format("[{}] is setting up NCCL communicator and retrieving ncclUniqueId from [0] via "
                  "c10d key-value store by key '0', but store->get('0') got error: {}. This may "
                  "indicate a possible application crash on rank 0 or a network set up issue.",
                  rank, why));
}

std::string logged(int rank, std::string_view text) {
  return fmt::format("[rank{}]:[E ProcessGroupNCCL.cpp] {}", rank, text);
}
std::string of_rank(int rank, std::string_view text) {
  return logged(rank, fmt::format("[Rank {}] {}", rank, text));
}
std::string of_group(int rank, std::string_view text) {
  return logged(rank, fmt::format("[PG ID 0 PG GUID 0(default_pg) Rank {}] {}", rank, text));
}
std::string of_1(int rank, std::string_view text) {
  return fmt::format("[E ProcessGroupNCCL.cpp] [Rank {}] {}", rank, text);
}

std::string name_of(const NcclProfile& nccl, const FailedWork& work) {
  const std::string elements =
      nccl.names_elements ? fmt::format("NumelIn={}, NumelOut={}, ", work.elements, work.elements)
                          : std::string();
  return fmt::format("WorkNCCL(SeqNum={}, OpType=ALLREDUCE, {}Timeout(ms)={})", work.loss.sequence,
                     elements, in_milliseconds(work.timeout));
}

std::string caught(const NcclProfile& nccl, const FailedWork& work) {
  return fmt::format(
      "Watchdog caught collective operation timeout: {} ran for {} milliseconds before timing out.",
      name_of(nccl, work), in_milliseconds(work.loss.ran));
}

// What ncclGetLastError() has of a peer's end.
std::string last_error(const Loss& loss) {
  const std::string peer = fmt::format("{}<{}>", loss.peer_ip, loss.peer_port);
  if (loss.kind == Loss::Kind::closed)
    return fmt::format("socketProgress: Connection closed by remote peer {}", peer);
  return fmt::format(
      "socketProgressOpt: Call to recv from {} failed : {}", peer,
      loss.kind == Loss::Kind::reset ? "Connection reset by peer" : "Connection timed out");
}

Lines remote_error(const NcclProfile& nccl, const Loss& loss) {
  return {fmt::format("NCCL error: {}, NCCL version {}", nccl.remote_words, nccl.version),
          std::string(nccl.remote_detail), "Last error:", last_error(loss)};
}

bool is_timeout(const FailedWork& work) { return work.loss.kind == Loss::Kind::timed_out; }

std::string dump_words(std::string_view from, std::int64_t enqueued, std::int64_t completed) {
  return fmt::format(
      "Received a dump signal due to a collective timeout from {} and we will try our best to dump "
      "the debug info. Last enqueued NCCL work: {}, last completed NCCL work: {}.This is most "
      "likely caused by incorrect usages of collectives, e.g., wrong sizes used across ranks, the "
      "order of collectives is not same for all ranks or the scheduled collective, for some "
      "reason, didn't run. Additionally, this can be caused by GIL deadlock or other reasons such "
      "as network errors or bugs in the communications library (e.g. NCCL), etc. ",
      from, enqueued, completed);
}

// The first collective's number is 1; before it, -1 is completed.
std::int64_t before(std::int64_t sequence) { return sequence > 1 ? sequence - 1 : -1; }

}  // namespace

Error nccl_not_built() {
  return backend_error(Reason::invalid, "RuntimeError",
                       "Distributed package doesn't have NCCL built in");
}

Error no_gpus(const NcclProfile& nccl) {
  return backend_error(Reason::invalid, nccl.no_gpu,
                       "ProcessGroupNCCL is only supported with GPUs, no GPUs found!");
}

Error unique_id_missing(const TorchProfile& torch, int rank, Duration timeout) {
  return unique_id_error(torch, rank, key_missing(torch, timeout, unique_id_key).message);
}

Error unique_id_lost(const TorchProfile& torch, int rank) {
  return unique_id_error(torch, rank, store_closed(torch).message);
}

Error root_refuses(const NcclProfile& nccl) {
  return nccl_error(nccl, nccl.remote_words, nccl.remote_detail,
                    "socketPollConnect: connect returned Connection refused, exceeded error retry "
                    "count (35)");
}

Error peer_gone_at_start(const NcclProfile& nccl) {
  return nccl_error(nccl, nccl.remote_words, nccl.remote_detail,
                    "socketProgress: Connection closed by remote peer");
}

Error duplicate_gpu(const NcclProfile& nccl, int one, int other, std::string_view bus) {
  return nccl_error(
      nccl, "invalid usage (run with NCCL_DEBUG=WARN for details)",
      "ncclInvalidUsage: This usually reflects invalid usage of NCCL library.",
      fmt::format("Duplicate GPU detected : rank {} and rank {} both on CUDA device {}", one, other,
                  bus));
}

Lines watchdog_caught(const NcclProfile& nccl, const FailedWork& work) {
  const int rank = work.rank;
  if (!nccl.names_group) {
    if (is_timeout(work)) return {of_1(rank, caught(nccl, work))};
    return {};  // it says so on its level INFO, which nobody sees
  }
  Lines lines;
  if (is_timeout(work)) {
    lines.push_back(of_rank(rank, caught(nccl, work)));
  } else {
    lines = remote_error(nccl, work.loss);
    lines.front() =
        of_rank(rank, fmt::format("Collective {} raised the following async exception: {}",
                                  name_of(nccl, work), lines.front()));
  }
  lines.push_back(of_group(
      rank, fmt::format(" failure detected by watchdog at work sequence id: {} PG status: last "
                        "enqueued work: {}, last completed work: {}",
                        work.loss.sequence, work.loss.sequence, before(work.loss.sequence))));
  return lines;
}

Lines dump_signal(const FailedWork& work) {
  return {of_group(work.rank, "First PG on this rank to signal dumping."),
          of_group(work.rank,
                   dump_words("this local rank", work.loss.sequence, before(work.loss.sequence)))};
}

Lines dump_signal_of(int rank, int from, std::int64_t collectives) {
  const std::int64_t done = collectives > 0 ? collectives : -1;
  return {of_group(rank, "Observed flight recorder dump signal from another rank via TCPStore."),
          of_group(rank, dump_words(fmt::format(" rank {}", from), done, done))};
}

Lines takes_down(const NcclProfile& nccl, const FailedWork& work) {
  const int rank = work.rank;
  constexpr std::string_view failed =
      "Some NCCL operations have failed or timed out. Due to the asynchronous nature of CUDA "
      "kernels, subsequent GPU operations might run on corrupted/incomplete data.";
  constexpr std::string_view down =
      "To avoid data inconsistency, we are taking the entire process down.";
  Lines why = is_timeout(work) ? Lines{} : remote_error(nccl, work.loss);
  if (is_timeout(work)) why.push_back(fmt::format("[Rank {}] {}", rank, caught(nccl, work)));
  Lines lines;
  if (!nccl.names_group) {
    lines = {of_1(rank, failed), of_1(rank, down)};
  } else {
    lines = {of_rank(rank, failed), of_rank(rank, down)};
    constexpr std::string_view ended = "Process group watchdog thread terminated with exception: ";
    lines.push_back(of_group(rank, fmt::format("{}{}", ended, why.front())));
    lines.insert(lines.end(), why.begin() + 1, why.end());
    why.front() =
        fmt::format("[PG ID 0 PG GUID 0(default_pg) Rank {}] {}{}", rank, ended, why.front());
  }
  lines.push_back(fmt::format("terminate called after throwing an instance of '{}'", nccl.thrown));
  why.front() = "  what():  " + why.front();
  lines.insert(lines.end(), why.begin(), why.end());
  return lines;
}

Error blocking_wait_over(const FailedWork& work, const NcclProfile& nccl) {
  if (!is_timeout(work)) {
    const Lines lines = remote_error(nccl, work.loss);
    return backend_error(Reason::io, type_of(nccl), fmt::format("{}", fmt::join(lines, "\n")));
  }
  return backend_error(Reason::timeout, type_of(nccl),
                       fmt::format("[Rank {}] {}", work.rank, caught(nccl, work)));
}

std::string not_destroyed(int rank) {
  return fmt::format(
      "[rank{}]:[W ProcessGroupNCCL.cpp] Warning: WARNING: destroy_process_group() was not called "
      "before program exit, which can leak resources. For more info, please see "
      "https://pytorch.org/docs/stable/distributed.html#shutdown (function operator())",
      rank);
}

}  // namespace ddptwin::model
