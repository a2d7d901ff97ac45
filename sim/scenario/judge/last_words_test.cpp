#include "scenario/judge/last_words.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace ddptwin::scenario::last_words_test {
namespace {

struct Row {
  const char* name;
  std::vector<std::string> lines;
  const char* told;
  bool of_a_peer = false;
};
class LastWords : public testing::TestWithParam<Row> {};
TEST_P(LastWords, are_those_that_tell_why) {
  const std::string told = telling_line(GetParam().lines);
  EXPECT_EQ(told, GetParam().told);
  EXPECT_EQ(tells_of_a_peer(told), GetParam().of_a_peer);
}
INSTANTIATE_TEST_SUITE_P(
    Table, LastWords,
    testing::Values(
        Row{"nothing", {}, ""}, Row{"only_frames", {"----", "", "===="}, ""},
        Row{"a_traceback",
            {"Traceback (most recent call last):", "  File \"t.py\", line 1, in <module>",
             "    import x", "ModuleNotFoundError: No module named 'x'"},
            "ModuleNotFoundError: No module named 'x'"},
        Row{"lines_after_it",
            {"ValueError: no such column", "cleaning up", "bye"},
            "ValueError: no such column"},
        Row{"a_rank_before_it", {"[rank1]: ValueError: no", "[rank1]:"}, "ValueError: no"},
        Row{"a_class_of_a_module",
            {"torch.cuda.OutOfMemoryError: CUDA out of memory.", "done"},
            "torch.cuda.OutOfMemoryError: CUDA out of memory."},
        Row{"the_last_of_a_chain",
            {"KeyError: 'a'",
             "During handling of the above exception, another one:", "RuntimeError: bad config"},
            "RuntimeError: bad config"},
        // Two ranks of one torchrun: the survivor speaks last, and the agent after it.
        Row{"the_rank_that_was_first",
            {"ValueError: no such column", "RuntimeError: Connection closed by peer [10.0.0.2]:5",
             "torch.distributed.elastic.multiprocessing.errors.ChildFailedError: ",
             "====================", "train.py FAILED"},
            "ValueError: no such column"},
        Row{"only_a_survivor",
            {"RuntimeError: [pair.cc:534] Connection closed by peer [10.0.0.2]:5", "exiting"},
            "RuntimeError: [pair.cc:534] Connection closed by peer [10.0.0.2]:5",
            true},
        Row{"a_name_that_is_not_there",
            {"socket.gaierror: [Errno -2] Name or service not known"},
            "socket.gaierror: [Errno -2] Name or service not known",
            true},
        Row{"a_watchdogs_timeout",
            {"[rank0]:[E ProcessGroupNCCL.cpp] [Rank 0] Watchdog caught collective operation "
             "timeout: WorkNCCL(SeqNum=4) ran for 15004 milliseconds before timing out.",
             "terminate called after throwing an instance of 'c10::DistBackendError'"},
            "Watchdog caught collective operation timeout: WorkNCCL(SeqNum=4) ran for 15004 "
            "milliseconds before timing out.",
            true},
        Row{"what_is_below_nccls_error",
            {"[rank0]: torch.distributed.DistBackendError: NCCL error in: NCCLUtils.cpp:94",
             "[rank0]: Last error:",
             "[rank0]: Duplicate GPU detected : rank 0 and rank 1 both on CUDA device 1000"},
            "Duplicate GPU detected : rank 0 and rank 1 both on CUDA device 1000"},
        Row{"no_exception_at_all",
            {"loading", "sh: 1: trane: not found", ""},
            "sh: 1: trane: not found"},
        Row{"a_word_before_a_colon", {"step: 3", "loss: 0.5"}, "loss: 0.5"}),
    [](const auto& row) { return std::string(row.param.name); });

TEST(LastWords, standing_in_a_collective_is_known_by_the_watchdogs_words) {
  const std::string watchdog = "[rank0]:[E ProcessGroupNCCL.cpp] [PG ID 0 Rank 0] ";
  EXPECT_TRUE(tells_of_standing(watchdog + " failure detected by watchdog at work sequence id: 4"));
  EXPECT_TRUE(tells_of_standing(watchdog + "Received a dump signal due to a collective timeout"));
  EXPECT_FALSE(tells_of_standing(watchdog + "Process group watchdog thread terminated"));
  EXPECT_FALSE(tells_of_standing("step 4/5 rank 0 loss 0.1"));
}

TEST(LackOfHost, is_told_of_what_the_image_may_have) {
  EXPECT_TRUE(lack_of_host("ModuleNotFoundError: No module named 'x'").starts_with("this machine"));
  EXPECT_TRUE(lack_of_host("RuntimeError: Distributed package doesn't have NCCL built in")
                  .starts_with("this machine's PyTorch has no NCCL"));
  EXPECT_EQ(lack_of_host("ValueError: no such column"), "");
}

}  // namespace
}  // namespace ddptwin::scenario::last_words_test
