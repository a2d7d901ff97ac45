// What containers see of the GPUs that they were given (spec/gpu.md §2, §4). Files stand for the
// cards' device nodes: whether a card works behind them needs a card.
#include <gmock/gmock.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "sandbox_fixture.hpp"

namespace ddptwin::gpus_test {
namespace {

using testing::HasSubstr;

ContainerConfig given(const std::string& devices) {
  ContainerConfig container;
  container.env.emplace_back("NVIDIA_VISIBLE_DEVICES", devices);
  return container;
}

constexpr const char* show = "cd /dev; for f in nvidia*; do echo \"$f $(cat $f)\"; done";

class CardsTest : public SandboxTest {
 protected:
  CardsTest() {
    folder_ =
        std::filesystem::temp_directory_path() / ("ddptwin-cards-" + std::to_string(::getpid()));
    std::filesystem::create_directory(folder_);
    for (const char* name :
         {"nvidia0", "nvidia1", "nvidiactl", "nvidia-uvm", "nvidia-caps", "null"})
      std::ofstream(folder_ / name) << "the host's " << name;
    device_folder = folder_;
  }
  ~CardsTest() override { std::filesystem::remove_all(folder_); }

  std::filesystem::path folder_;
};

TEST_F(CardsTest, a_container_sees_the_cards_of_its_devices_and_another_none) {
  const SandboxStatus pod = run_pod();
  EXPECT_EQ(run_shell(pod.id, show, given("GPU-a")).output,
            "nvidia-uvm the host's nvidia-uvm\nnvidia0 the host's nvidia0\n"
            "nvidiactl the host's nvidiactl\n");
  EXPECT_THAT(run_shell(pod.id, show, given("GPU-b")).output,
              HasSubstr("nvidia1 the host's nvidia1"));
  // The third of two cards is the first again; it stays where it was laid.
  EXPECT_THAT(run_shell(pod.id, show, given("GPU-c")).output,
              HasSubstr("nvidia0 the host's nvidia0"));
  EXPECT_THAT(run_shell(pod.id, show, given("GPU-b")).output,
              HasSubstr("nvidia1 the host's nvidia1"));
  for (const char* none : {"", "all", "none"})
    EXPECT_EQ(run_shell(pod.id, "ls /dev | grep -c nvidia", given(none)).output, "0\n") << none;
}

TEST_F(CardsTest, whose_devices_are_two_sees_two) {
  EXPECT_EQ(run_shell(run_pod().id, "ls /dev | grep -c 'nvidia[0-9]'", given("GPU-a,GPU-b")).output,
            "2\n");
}

class NoCardsTest : public SandboxTest {
 protected:
  NoCardsTest() { device_folder = "/nowhere"; }
};

TEST_F(NoCardsTest, what_a_container_with_devices_finds_is_told_once) {
  std::vector<std::string> notes;
  runtime->on_note([&notes](const std::string& note) { notes.push_back(note); });
  const SandboxStatus pod = run_pod();
  run_shell(pod.id, "true", given("none"));
  EXPECT_TRUE(notes.empty());
  for (int i = 0; i < 2; ++i) run_shell(pod.id, "true", given("GPU-a"));
  ASSERT_EQ(notes.size(), 1U);
  EXPECT_THAT(notes.front(), HasSubstr("this machine has none"));
}

TEST_F(NoCardsTest, nvidia_smi_lists_the_modelled_ones_and_is_there_for_nobody_else) {
  const SandboxStatus pod = run_pod();
  EXPECT_EQ(run_shell(pod.id, "nvidia-smi --query-gpu=index,uuid --format=csv,noheader",
                      given("GPU-a,GPU-b"))
                .output,
            "0, GPU-a\n1, GPU-b\n");
  EXPECT_EQ(run_shell(pod.id, "test -e /usr/local/bin/nvidia-smi; echo $?", given("none")).output,
            "1\n");
}

}  // namespace
}  // namespace ddptwin::gpus_test
