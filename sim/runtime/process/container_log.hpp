// The newest of what a container printed.
#pragma once

#include <deque>
#include <string>

namespace ddptwin {

class ContainerLog {
 public:
  // What the kubelet may ask for (80 lines, 2048 bytes; spec/kubernetes.md §2.3) and an error
  // report needs.
  static constexpr std::size_t bytes_max = 64 * 1024;

  void add(const std::string& line);
  // The last lines, each with its end; if more than `bytes`, the last characters of
  // them.
  std::string tail(std::size_t lines, std::size_t bytes) const;

 private:
  std::deque<std::string> lines_;
  std::size_t size_ = 0;
};

}  // namespace ddptwin
