#include "checkpoint.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <thread>

#include "error.hpp"

namespace ddptwin::workers::checkpoint_test {
namespace {

class CheckpointFile : public testing::Test {
 protected:
  CheckpointFile() {
    std::string pattern = testing::TempDir() + "checkpoint-XXXXXX";
    folder_ = ::mkdtemp(pattern.data());
    file_ = folder_ + "/model.bin";
  }
  ~CheckpointFile() override { std::filesystem::remove_all(folder_); }

  std::ptrdiff_t files() const {
    return std::distance(std::filesystem::directory_iterator(folder_), {});
  }

  std::string folder_;
  std::string file_;
};

Checkpoint filled(std::int64_t step, std::size_t count) {
  return {step, {std::vector<float>(count, static_cast<float>(step)), {}, {1.5F, -2.0F}}};
}

TEST_F(CheckpointFile, is_read_as_it_was_written) {
  EXPECT_EQ(read_checkpoint(file_), std::nullopt);
  write_checkpoint(file_, filled(12, 100));
  EXPECT_EQ(read_checkpoint(file_), filled(12, 100));
  write_checkpoint(file_, filled(13, 7));
  EXPECT_EQ(read_checkpoint(file_), filled(13, 7));
  EXPECT_EQ(files(), 1);
}

TEST_F(CheckpointFile, is_whole_for_a_reader_at_any_moment) {
  constexpr std::int64_t writes = 40;
  write_checkpoint(file_, filled(0, 50000));
  std::atomic<bool> done = false;
  std::thread writer([&] {
    for (std::int64_t step = 1; step <= writes; ++step)
      write_checkpoint(file_, filled(step, 50000));
    done = true;
  });
  std::int64_t last = 0;
  while (!done) {
    const std::optional<Checkpoint> seen = read_checkpoint(file_);
    ASSERT_TRUE(seen);
    ASSERT_EQ(*seen, filled(seen->step, 50000));
    ASSERT_GE(seen->step, last);
    last = seen->step;
  }
  writer.join();
}

TEST_F(CheckpointFile, survives_a_writer_killed_at_any_moment) {
  write_checkpoint(file_, filled(0, 50000));
  for (int kill = 0; kill < 20; ++kill) {
    const pid_t writer = ::fork();
    if (writer == 0) {
      for (std::int64_t step = 1;; ++step) write_checkpoint(file_, filled(step, 50000));
    }
    ::usleep(static_cast<useconds_t>(300 * kill));
    ::kill(writer, SIGKILL);
    ::waitpid(writer, nullptr, 0);
    const std::optional<Checkpoint> seen = read_checkpoint(file_);
    ASSERT_TRUE(seen);
    ASSERT_EQ(*seen, filled(seen->step, 50000));
  }
}

TEST_F(CheckpointFile, stays_as_it_was_when_the_new_one_does_not_fit) {
  write_checkpoint(file_, filled(1, 10));
  rlimit before{};
  ::getrlimit(RLIMIT_FSIZE, &before);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{4096, before.rlim_max};
  ::setrlimit(RLIMIT_FSIZE, &small);
  EXPECT_THROW(write_checkpoint(file_, filled(2, 50000)), PythonError);
  ::setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  EXPECT_EQ(read_checkpoint(file_), filled(1, 10));
  EXPECT_EQ(files(), 1);
}

TEST_F(CheckpointFile, is_refused_when_damaged) {
  write_checkpoint(file_, filled(3, 1000));
  const auto size = std::filesystem::file_size(file_);
  for (const std::uintmax_t cut : {size - 1, size / 2, std::uintmax_t{9}, std::uintmax_t{0}}) {
    std::filesystem::resize_file(file_, cut);
    EXPECT_THROW(read_checkpoint(file_), PythonError) << cut;
  }
  write_checkpoint(file_, filled(3, 1000));
  std::fstream(file_, std::ios::in | std::ios::out | std::ios::binary).seekp(100).put('x');
  EXPECT_THROW(read_checkpoint(file_), PythonError);
}

TEST_F(CheckpointFile, of_a_missing_folder_is_an_os_error) {
  try {
    write_checkpoint(folder_ + "/no/model.bin", filled(1, 1));
    ADD_FAILURE();
  } catch (const PythonError& error) {
    EXPECT_EQ(error.type(), "OSError");
    EXPECT_NE(std::string(error.what()).find("[Errno 2] No such file or directory"),
              std::string::npos);
  }
}

TEST(Checkpoint, restores_what_it_took_and_refuses_another_model) {
  std::vector<float> memory{1, 2, 3, 4, 5, 6};
  const std::span<float> all(memory);
  std::vector<Parameter> model{
      {.shape = {2}, .value = all.first(2), .momentum = all.subspan(2, 2)}};
  const Checkpoint taken = take_checkpoint(9, model);
  memory = {0, 0, 0, 0, 5, 6};
  restore_checkpoint(taken, model);
  EXPECT_EQ(memory, (std::vector<float>{1, 2, 3, 4, 5, 6}));
  std::vector<Parameter> other{{.shape = {3}, .value = all.first(3), .momentum = all.last(3)}};
  EXPECT_THROW(restore_checkpoint(taken, other), PythonError);
}

}  // namespace
}  // namespace ddptwin::workers::checkpoint_test
