// How much of the disk a container's log takes on a node.
#pragma once

#include <cstddef>
#include <cstdint>

namespace ddptwin {

// A line is kept behind its time and stream. A file of 10 MiB is put aside for a new one, and
// stays as it is until the next one is; older ones are compressed, which is left out of account.
// Sources: containerd's CRI log format ("2016-10-06T00:17:09.669794202Z stdout F text"); upstream
// containerLogMaxSize and container_log_manager.go.
class LogSize {
 public:
  void add(std::size_t line) {
    current_ += static_cast<std::int64_t>(line) + beside_line;
    if (current_ <= file_max) return;
    rotated_ = current_;
    current_ = 0;
  }
  std::int64_t on_disk() const { return rotated_ + current_; }

 private:
  static constexpr std::int64_t beside_line = 41;  // with the end of the line
  static constexpr std::int64_t file_max = 10LL << 20U;

  std::int64_t rotated_ = 0, current_ = 0;
};

}  // namespace ddptwin
