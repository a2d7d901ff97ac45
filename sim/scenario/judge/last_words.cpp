#include "scenario/judge/last_words.hpp"

#include <algorithm>
#include <array>
#include <cctype>

#include "scenario/words/line_tags.hpp"

namespace ddptwin::scenario {
namespace {

constexpr std::array<std::string_view, 33> peer_words{
    "onnection closed by peer",
    "onnection reset by peer",
    "onnection refused",
    "onnection timed out",
    "onnection was likely closed",
    "onnection closed by remote",
    "roken pipe",
    "ocket closed",
    "ocket Timeout",
    "ocket timeout",
    "client socket has timed out",
    "client socket has failed to connect",
    "Timed out waiting",
    "timed out connecting",
    "Timed out after",
    "Wait timeout after",
    "wait timeout",
    "Name or service not known",
    "emporary failure in name resolution",
    "name resolution",
    "No route to host",
    "etwork is unreachable",
    "etwork unreachable",
    "ncclRemoteError",
    "ncclSystemError",
    "remote process exited",
    "collective operation timeout",
    "DistNetworkError",
    "DistStoreError",
    "RendezvousConnectionError",
    "RendezvousTimeoutError",
    "RendezvousClosedError",
    "waiting for master",  // the init container that the training operator adds to workers
};

constexpr std::string_view watchdog_caught = "Watchdog caught collective operation timeout";

// What an agent says of its own ranks' ends: they have said more.
constexpr std::array<std::string_view, 4> parent_words{
    "ChildFailedError", "SignalException", "CalledProcessError", "ProcessRaisedException"};

bool any_in(std::span<const std::string_view> words, std::string_view line) {
  return std::any_of(words.begin(), words.end(),
                     [line](std::string_view word) { return line.find(word) != line.npos; });
}

// "ModuleNotFoundError: No module named 'x'", "torch.cuda.OutOfMemoryError: ...",
// "KeyboardInterrupt": the name of a class, and what it says.
bool is_exception(std::string_view line) {
  line = without_tags(line);
  const std::size_t end = std::min(line.find(':'), line.size());
  const std::string_view name = line.substr(0, end);
  constexpr std::array<std::string_view, 6> endings{"Error", "Exception", "Interrupt",
                                                    "Exit",  "Warning",   "Iteration"};
  const bool named = std::all_of(name.begin(), name.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '.' || c == '_';
  });
  return !name.empty() && named &&
         std::any_of(endings.begin(), endings.end(),
                     [name](std::string_view ending) { return name.ends_with(ending); });
}

// Something other than the frame of a box.
bool says_anything(std::string_view line) {
  return std::any_of(line.begin(), line.end(),
                     [](unsigned char c) { return std::isalnum(c) != 0; });
}

}  // namespace

bool tells_of_a_peer(std::string_view line) { return any_in(peer_words, line); }

bool tells_of_a_wait(std::string_view line) {
  constexpr std::array<std::string_view, 3> words{"Timed out waiting", "waiting for clients",
                                                  watchdog_caught};
  return any_in(words, line);
}

bool tells_of_standing(std::string_view line) {
  constexpr std::array<std::string_view, 2> words{
      "failure detected by watchdog at work sequence id",
      "Received a dump signal due to a collective"};
  return line.find("ProcessGroupNCCL") != line.npos && any_in(words, line);
}

std::string telling_line(std::span<const std::string> lines) {
  const std::string *own = nullptr, *of_peer = nullptr, *of_child = nullptr, *last = nullptr;
  std::string_view caught;
  for (const std::string& line : lines) {
    if (says_anything(line)) last = &line;
    // Of NCCL what counts stands within a line of its watchdog, or below its error's.
    if (const std::size_t at = line.find(watchdog_caught); at != line.npos)
      caught = std::string_view(line).substr(at);
    if (line.find("Duplicate GPU detected") != line.npos) own = &line;
    if (!is_exception(line)) continue;
    if (any_in(parent_words, line))
      of_child = &line;
    else if (tells_of_a_peer(line))
      of_peer = &line;
    else
      own = &line;
  }
  if (own == nullptr && of_peer == nullptr && !caught.empty()) return std::string(caught);
  for (const std::string* found : {own, of_peer, last, of_child})
    if (found != nullptr) return std::string(without_tags(*found));
  return {};
}

std::string_view lack_of_host(std::string_view line) {
  struct Row {
    std::string_view words, told;
  };
  constexpr std::array lacks{
      Row{"ModuleNotFoundError: No module named",
          "this machine's Python has no such module, and the image's is not here: --python DIR "
          "names a virtual environment that has it"},
      Row{"doesn't have NCCL built in",
          "this machine's PyTorch has no NCCL, and the image's is not here: --python DIR names a "
          "virtual environment whose PyTorch has it"},
      Row{"Torch not compiled with CUDA enabled",
          "this machine's PyTorch has no CUDA, and the image's is not here: --python DIR names a "
          "virtual environment whose PyTorch has it"},
      Row{"Found no NVIDIA driver", "this machine has no NVIDIA driver"}};
  for (const Row& row : lacks)
    if (line.find(row.words) != line.npos) return row.told;
  return {};
}

}  // namespace ddptwin::scenario
