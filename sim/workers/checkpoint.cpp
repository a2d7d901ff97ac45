#include "checkpoint.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <span>
#include <string_view>
#include <system_error>

#include "error.hpp"
#include "hash.hpp"

namespace ddptwin::workers {
namespace {

constexpr std::string_view magic = "DDPTWCK1";

// Python's words for a failed system call.
[[noreturn]] void fail(const std::string& file) {
  const int error = errno;
  throw PythonError("OSError", "[Errno " + std::to_string(error) + "] " +
                                   std::generic_category().message(error) + ": '" + file + "'");
}

class File {
 public:
  File(const std::string& name, int flags) : name_(name), fd_(::open(name.c_str(), flags, 0644)) {
    if (fd_ < 0) fail(name_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  ~File() { ::close(fd_); }

  void write(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t written = ::write(fd_, bytes.data(), bytes.size());
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) fail(name_);
      bytes.remove_prefix(static_cast<std::size_t>(written));
    }
  }
  void sync() {
    if (::fsync(fd_) != 0) fail(name_);
  }

 private:
  std::string name_;
  int fd_;
};

void append(std::string& bytes, std::uint64_t number) {
  bytes.append(reinterpret_cast<const char*>(&number), sizeof number);
}

std::uint64_t hash_of(const Checkpoint& checkpoint) {
  Hash hash;
  for (const std::vector<float>& tensor : checkpoint.tensors) hash.add(tensor);
  return hash.value();
}

// magic, step, number of tensors, then of each its length and values; at the end their hash.
std::string encode(const Checkpoint& checkpoint) {
  std::string bytes(magic);
  append(bytes, static_cast<std::uint64_t>(checkpoint.step));
  append(bytes, checkpoint.tensors.size());
  for (const std::vector<float>& tensor : checkpoint.tensors) {
    append(bytes, tensor.size());
    bytes.append(reinterpret_cast<const char*>(tensor.data()), tensor.size() * sizeof(float));
  }
  append(bytes, hash_of(checkpoint));
  return bytes;
}

bool take(std::string_view& bytes, std::uint64_t& number) {
  if (bytes.size() < sizeof number) return false;
  std::memcpy(&number, bytes.data(), sizeof number);
  bytes.remove_prefix(sizeof number);
  return true;
}

std::optional<Checkpoint> decode(std::string_view bytes) {
  if (!bytes.starts_with(magic)) return std::nullopt;
  bytes.remove_prefix(magic.size());
  std::uint64_t step = 0;
  std::uint64_t count = 0;
  if (!take(bytes, step) || !take(bytes, count)) return std::nullopt;
  Checkpoint checkpoint;
  checkpoint.step = static_cast<std::int64_t>(step);
  for (; count > 0; --count) {
    std::uint64_t size = 0;
    if (!take(bytes, size) || size > bytes.size() / sizeof(float)) return std::nullopt;
    std::vector<float>& tensor = checkpoint.tensors.emplace_back(size);
    if (size > 0) std::memcpy(tensor.data(), bytes.data(), size * sizeof(float));
    bytes.remove_prefix(size * sizeof(float));
  }
  std::uint64_t hash = 0;
  if (!take(bytes, hash) || !bytes.empty() || hash != hash_of(checkpoint)) return std::nullopt;
  return checkpoint;
}

std::string folder_of(const std::string& file) {
  const std::filesystem::path folder = std::filesystem::path(file).parent_path();
  return folder.empty() ? "." : folder.string();
}

}  // namespace

Checkpoint take_checkpoint(std::int64_t step, const std::vector<Parameter>& parameters) {
  Checkpoint checkpoint;
  checkpoint.step = step;
  for (const Parameter& parameter : parameters) {
    checkpoint.tensors.emplace_back(parameter.value.begin(), parameter.value.end());
    checkpoint.tensors.emplace_back(parameter.momentum.begin(), parameter.momentum.end());
  }
  return checkpoint;
}

void restore_checkpoint(const Checkpoint& checkpoint, std::vector<Parameter>& parameters) {
  bool fits = checkpoint.tensors.size() == 2 * parameters.size();
  for (std::size_t i = 0; fits && i < checkpoint.tensors.size(); ++i) {
    fits = checkpoint.tensors[i].size() == parameters[i / 2].value.size();
  }
  if (!fits) {
    throw PythonError("RuntimeError",
                      "Error(s) in loading state_dict: size mismatch: the checkpoint "
                      "was made with another model");
  }
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    std::ranges::copy(checkpoint.tensors[2 * i], parameters[i].value.begin());
    std::ranges::copy(checkpoint.tensors[2 * i + 1], parameters[i].momentum.begin());
  }
}

void write_checkpoint(const std::string& file, const Checkpoint& checkpoint) {
  const std::string temporary = file + ".tmp-" + std::to_string(::getpid());
  {
    File out(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC);
    try {
      out.write(encode(checkpoint));
      out.sync();
    } catch (...) {
      ::unlink(temporary.c_str());
      throw;
    }
  }
  if (::rename(temporary.c_str(), file.c_str()) != 0) {
    const int error = errno;
    ::unlink(temporary.c_str());
    errno = error;
    fail(file);
  }
  File(folder_of(file), O_RDONLY | O_DIRECTORY | O_CLOEXEC).sync();
}

std::optional<Checkpoint> read_checkpoint(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  if (!in) {
    if (errno == ENOENT) return std::nullopt;
    fail(file);
  }
  const std::string bytes{std::istreambuf_iterator<char>(in), {}};
  if (in.bad()) fail(file);
  std::optional<Checkpoint> checkpoint = decode(bytes);
  if (!checkpoint) throw PythonError("RuntimeError", "checkpoint " + file + " is damaged");
  return checkpoint;
}

}  // namespace ddptwin::workers
