#include "scenario/judge/told_lines.hpp"

#include <gtest/gtest.h>

#include "scenario/words/line_tags.hpp"

namespace ddptwin::scenario::told_lines_test {
namespace {

struct Said {
  std::string name, line, told;
};
class ErrorIn : public testing::TestWithParam<Said> {};
// spec/ddp-semantics.md §3, §9.2, §9.3.
INSTANTIATE_TEST_SUITE_P(
    ToldLines, ErrorIn,
    testing::Values(
        Said{"timeout",
             "RuntimeError: [./gloo/transport/tcp/unbound_buffer.cc:81] Timed out waiting 10000ms "
             "for recv operation to complete",
             "RuntimeError at unbound_buffer.cc:81"},
        Said{"timeout_of_2",
             "[rank1]: RuntimeError: "
             "[/__w/pytorch/pytorch/third_party/gloo/gloo/transport/tcp/unbound_buffer.cc:129] "
             "Timed out waiting 6000ms for send operation to complete",
             "RuntimeError at unbound_buffer.cc:129"},
        Said{"closed",
             "[default0]:RuntimeError: [./gloo/transport/tcp/pair.cc:598] Connection closed by "
             "peer [127.0.0.1]:941",
             "RuntimeError: a peer is gone"},
        Said{"reset",
             "RuntimeError: [./gloo/transport/tcp/pair.cc:589] Read error [10.0.0.1]:941: "
             "Connection reset by peer",
             "RuntimeError: a peer is gone"},
        Said{"mesh",
             "RuntimeError: Gloo connectFullMesh failed with "
             "[/__w/pytorch/pytorch/third_party/gloo/gloo/transport/tcp/pair.h:311] Connect "
             "timeout [none]",
             "RuntimeError at pair.h:311"},
        Said{"refused",
             "RuntimeError: [./gloo/transport/tcp/pair.cc:799] connect [10.0.0.1]:7: Connection "
             "refused",
             "RuntimeError at pair.cc:799"},
        Said{"key",
             "torch.distributed.DistStoreError: wait timeout after 6000ms, keys: "
             "/default_pg/0//cpu//0/0",
             "DistStoreError: wait timeout after"},
        Said{"clients",
             "torch.distributed.DistStoreError: Timed out after 7 seconds waiting for clients.",
             "DistStoreError: Timed out after"},
        Said{"socket", "RuntimeError: Socket Timeout", "RuntimeError: Socket Timeout"},
        Said{"own", "ValueError: bad batch", "ValueError: bad batch"},
        Said{"bare", "torch.distributed.elastic.multiprocessing.errors.ChildFailedError: ",
             "ChildFailedError"},
        Said{"log_line", "ERROR:torch.distributed.elastic.multiprocessing.api:failed", ""},
        Said{"prose", "the RuntimeError: was caught", ""}, Said{"step", "step 3/9 rank 0", ""},
        Said{"loss", "Error rate: 3", ""}),
    [](const auto& one) { return one.param.name; });

TEST_P(ErrorIn, is_the_type_and_the_place) {
  EXPECT_EQ(error_in(GetParam().line), GetParam().told);
}

TEST(ToldLines, of_what_pytorch_raises_every_model_tells) {
  for (const char* own : {"ValueError: bad batch", "RuntimeError: mine", "KeyError"})
    EXPECT_FALSE(is_of_pytorch(own)) << own;
  for (const char* of_torch :
       {"RuntimeError at unbound_buffer.cc:81", "RuntimeError: a peer is gone",
        "DistStoreError: wait timeout after", "TimeoutError: The client socket has timed out",
        "ChildFailedError", "RuntimeError: Socket Timeout"})
    EXPECT_TRUE(is_of_pytorch(of_torch)) << of_torch;
}

TEST(ToldLines, who_joined_is_told_in_the_scripts_own_words) {
  const std::vector<std::string> lines{"joined rank {rank} world_size {world_size}",
                                       "rank {rank} of {world_size} is here", "up: {rank}",
                                       "serving"};
  for (const auto& [line, told] : {std::pair("joined rank 0 world_size 2", "rank 0 of 2"),
                                   {"[default3]:joined rank 3 world_size 4", "rank 3 of 4"},
                                   {"rank 1 of 2 is here", "rank 1 of 2"},
                                   {"up: 7", "rank 7"},
                                   {"serving", "joined"},
                                   {"rank one of 2 is here", ""},
                                   {"joined rank 0 world_size 2 again", ""}})
    EXPECT_EQ(joined_by(line, lines), told) << line;
}

TEST(ToldLines, tags_are_those_of_ranks_and_no_places) {
  EXPECT_EQ(without_tags("[default0]:[rank0]: x"), "x");
  EXPECT_EQ(without_tags("[./gloo/pair.cc:598]: x"), "[./gloo/pair.cc:598]: x");
  EXPECT_EQ(without_tags("[INFO]: x"), "[INFO]: x");
  EXPECT_EQ(without_tags("[1, 2]: x"), "[1, 2]: x");
}

}  // namespace
}  // namespace ddptwin::scenario::told_lines_test
