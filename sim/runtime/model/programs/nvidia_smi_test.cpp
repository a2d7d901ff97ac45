// What programs read of nvidia-smi (its manual page; the lines of a real one are those of
// spec/gpu.md).
#include "runtime/model/programs/nvidia_smi.hpp"

#include <gmock/gmock.h>

#include <algorithm>

namespace ddptwin::model::nvidia_smi_test {
namespace {

using testing::HasSubstr;

SmiAnswer ask(const std::vector<std::string>& words) {
  return answer_nvidia_smi(words, {"GPU-aa", "GPU-bb"}, "today");
}

TEST(NvidiaSmi, answers_as_programs_read_it) {
  struct Row {
    std::vector<std::string> words;
    std::string text;
    int code = 0;
  };
  const std::string csv = "--format=csv";
  const Row rows[] = {
      {{"-L"},
       "GPU 0: NVIDIA H100 80GB HBM3 (UUID: GPU-aa)\nGPU 1: NVIDIA H100 80GB HBM3 (UUID: "
       "GPU-bb)\n"},
      {{"-L", "-i", "1"}, "GPU 1: NVIDIA H100 80GB HBM3 (UUID: GPU-bb)\n"},
      {{"--query-gpu=index,memory.total", csv},
       "index, memory.total [MiB]\n0, 81559 MiB\n1, 81559 MiB\n"},
      {{"--query-gpu=index, memory.total", csv + ",noheader,nounits"}, "0, 81559\n1, 81559\n"},
      {{"--query-gpu", "uuid", "--format", "csv,noheader", "--id=GPU-bb"}, "GPU-bb\n"},
      {{"--query-gpu=count,gpu_name", csv + ",noheader", "-i", "0"}, "2, NVIDIA H100 80GB HBM3\n"},
      {{"-i", "7"}, "No devices were found\n", 6},
      {{"--query-gpu=colour", csv}, "Field \"colour\" is not a valid field to query.\n\n", 2},
      {{"--query-gpu=index"},
       "Invalid combination of input arguments. Please run 'nvidia-smi -h' for help.\n\n",
       2},
      {{"--dance"},
       "Invalid combination of input arguments. Please run 'nvidia-smi -h' for help.\n\n",
       2},
  };
  for (const Row& row : rows) {
    const SmiAnswer answer = ask(row.words);
    EXPECT_EQ(answer.text, row.text) << testing::PrintToString(row.words);
    EXPECT_EQ(answer.code, row.code) << row.text;
  }
}

TEST(NvidiaSmi, its_table_has_a_row_a_card_and_lines_of_one_width) {
  const std::string text = ask({}).text;
  EXPECT_THAT(text, HasSubstr("|   1  NVIDIA H100 80GB HBM3"));
  EXPECT_THAT(text, HasSubstr("/  81559MiB |"));
  std::size_t at = text.find('\n') + 1;  // behind the date
  for (; at < text.size(); at = text.find('\n', at) + 1)
    EXPECT_EQ(text.find('\n', at) - at, 91U) << text.substr(at, 95);
}

TEST(NvidiaSmi, tells_before_a_run_what_the_model_does_not_know) {
  EXPECT_EQ(unknown_of_nvidia_smi({"nvidia-smi", "-L"}), "");
  EXPECT_EQ(unknown_of_nvidia_smi({"nvidia-smi", "dmon"}), "nvidia-smi with dmon");
  EXPECT_EQ(unknown_of_nvidia_smi({"nvidia-smi", "--query-gpu=colour", "--format=csv"}),
            "nvidia-smi with --query-gpu=colour");
}

}  // namespace
}  // namespace ddptwin::model::nvidia_smi_test
