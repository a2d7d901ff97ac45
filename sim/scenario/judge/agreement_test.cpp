#include "scenario/judge/agreement.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ddptwin::scenario::agreement_test {
namespace {

using testing::ElementsAre;

// A trace of one pod, made by hand.
class PodStory {
 public:
  PodStory() {
    pod_->metadata.name = "w-0";
    pod_->metadata.namespace_ = "default";
    pod_->metadata.uid = "u1";
    write(RecordKind::object_added);
  }
  PodStory& restarted_for_ever() {
    pod_ = std::static_pointer_cast<Pod>(pod_->clone());
    pod_->spec.edit().restartPolicy = "Always";
    write(RecordKind::object_modified);
    return *this;
  }
  // Its owner has the API draw a name for it.
  explicit PodStory(const std::string& drawn) : key_("default/w-" + drawn) {
    pod_->metadata.name = "w-" + drawn;
    pod_->metadata.namespace_ = "default";
    pod_->metadata.uid = "u-" + drawn;
    pod_->metadata.rest.edit().generateName = "w-";
    write(RecordKind::object_added);
  }
  PodStory& phase(const char* phase) {
    pod_ = std::static_pointer_cast<Pod>(pod_->clone());
    pod_->status.phase = phase;
    write(RecordKind::object_modified);
    return *this;
  }
  PodStory& ended(const char* id, int code, int restarts, Duration from = {}, Duration to = {}) {
    pod_ = std::static_pointer_cast<Pod>(pod_->clone());
    ContainerStatus status;
    status.name = "c";
    status.restartCount = restarts;
    ContainerStateTerminated terminated{.exitCode = code, .reason = "Error", .containerID = id};
    if (to > Duration::zero()) {
      terminated.startedAt = Time(from);
      terminated.finishedAt = Time(to);
    }
    status.state.terminated = std::move(terminated);
    pod_->status.containerStatuses = {status};
    write(RecordKind::object_modified);
    return *this;
  }
  PodStory& condition(const char* type, const char* status) {
    pod_ = std::static_pointer_cast<Pod>(pod_->clone());
    PodCondition& added = pod_->status.conditions.edit().emplace_back();
    added.type_ = type;
    added.status = status;
    write(RecordKind::object_modified);
    return *this;
  }
  PodStory& says(const char* line) {
    Record record;
    record.kind = RecordKind::log;
    const std::string container = key_ + "/c";
    record.subject = container;
    record.text = line;
    canonical_.on_record(record);
    return *this;
  }
  RunFacts facts() const { return canonical_.facts(); }

 private:
  void write(RecordKind kind) {
    Record record;
    record.kind = kind;
    record.time = Time(Duration(++writes_ * 1'000'000));  // no two stories take the same time
    record.after = pod_;
    canonical_.on_record(record);
  }

  static inline int writes_ = 0;
  std::string key_ = "default/w-0";
  CanonicalTrace canonical_{{"joined rank {rank} world_size {world_size}"}};
  std::shared_ptr<Pod> pod_ = std::make_shared<Pod>();
};

TEST(CanonicalTrace, keeps_what_happened_and_in_which_order) {
  const RunFacts facts = PodStory()
                             .phase("Pending")
                             .condition("PodScheduled", "True")
                             .phase("Running")
                             .says("step 3/20 rank 1 loss 0.5")
                             .says("step 2/20")
                             .ended("x", 137, 0)
                             .ended("x", 137, 0)
                             .ended("y", 1, 1)
                             .phase("Failed")
                             .facts();
  const RunFacts expected{
      {{"pod/w-0", "objects"}, "1 made, 1 left"},
      {{"pod/w-0 #1", "condition PodScheduled"}, "PodScheduled=True"},
      {{"pod/w-0 #1", "phases"}, "Pending > Running > Failed"},
      {{"pod/w-0 #1 c", "exits"}, "137 Error > 1 Error"},
      {{"pod/w-0 #1 c", "restarts"}, "1"},
      {{"default/w-0/c", "steps"}, "3"},
  };
  EXPECT_EQ(facts, expected);
}

TEST(Agreement, times_do_not_matter) {
  const auto story = [] { return PodStory().phase("Running").ended("x", 0, 0).facts(); };
  EXPECT_TRUE(compare("s", story(), story()).empty());
}

std::vector<std::string> aspects_of(const std::vector<Disagreement>& found) {
  std::vector<std::string> aspects;
  for (const Disagreement& one : found)
    if (one.explanation.empty()) aspects.push_back(one.aspect);
  return aspects;
}

RunFacts lasting(const char* seconds) { return {{{"pod/w-0 #1 c", "lasts"}, seconds}}; }

// A hang of 44 s is no run of 12 s; a busy machine's 20 s is.
TEST(Agreement, times_agree_within_a_factor_and_some_seconds) {
  for (const auto& [real, other, alike] : {std::tuple("44", "12", false),
                                           {"12", "44", false},
                                           {"20", "12", true},
                                           {"1", "6", true},
                                           {"1", "8", false},
                                           {"12 > 3", "12 > 40", false},
                                           {"12 > 3", "14 > 4", true},
                                           {"12", "12 > 99", true}})
    EXPECT_EQ(compare("s", lasting(real), lasting(other)).empty(), alike) << real << " " << other;
  const TimeBound wide{.factor = 4, .slack = std::chrono::seconds(0)};
  EXPECT_TRUE(compare("s", lasting("44"), lasting("12"), wide).empty());
  EXPECT_FALSE(compare("s", lasting("50"), lasting("12"), wide).empty());
  EXPECT_TRUE(compare("s", lasting("50"), {}).empty());  // that there was no run is another fact
}

TEST(Agreement, how_long_each_run_of_a_container_took_is_a_fact) {
  const RunFacts facts = PodStory().ended("x", 1, 0, 3s, 15s).ended("y", 0, 1, 20s, 24s).facts();
  EXPECT_EQ(facts.at({"pod/w-0 #1 c", "lasts"}), "12 > 4");
}

TEST(Agreement, who_joined_and_the_last_exception_are_compared) {
  const auto story = [](const char* joined, const char* error) {
    PodStory told;
    told.says(joined).says("RuntimeError: Socket Timeout").says(error).ended("x", 1, 0);
    return told.facts();
  };
  const RunFacts real = story("joined rank 0 world_size 2",
                              "RuntimeError: [./gloo/transport/tcp/pair.cc:598] Connection closed "
                              "by peer [127.0.0.1]:941");
  EXPECT_EQ(real.at({"default/w-0/c", "joined"}), "rank 0 of 2");
  EXPECT_EQ(real.at({"default/w-0/c", "error"}), "RuntimeError: a peer is gone");
  EXPECT_TRUE(compare("s", real,
                      story("joined rank 0 world_size 2",
                            "RuntimeError: [./gloo/transport/tcp/pair.cc:589] Read error "
                            "[10.0.0.1]:3: Connection reset by peer"))
                  .empty());
  EXPECT_THAT(aspects_of(compare(
                  "s", real,
                  story("joined rank 0 world_size 3",
                        "RuntimeError: [./gloo/transport/tcp/unbound_buffer.cc:81] Timed out"))),
              ElementsAre("error", "joined"));
  EXPECT_THAT(aspects_of(compare("s", real, story("nothing", "nothing"))),
              ElementsAre("error", "joined"));
}

// Trial a02: a script says what it likes before it ends, and a model its own line.
TEST(Agreement, what_a_script_says_of_itself_is_no_fact_nor_what_the_model_says) {
  const RunFacts real = PodStory().says("ValueError: bad batch").ended("x", 1, 0).facts();
  const RunFacts other = PodStory().says("failing rank 2 at step 5").ended("x", 1, 0).facts();
  EXPECT_TRUE(compare("s", real, other).empty());
  EXPECT_FALSE(compare("s", other, real).empty()) << "an exception that only the model tells";
}

// What the newest life of it has said is decided by the time alone.
TEST(Agreement, of_what_is_restarted_for_ever_the_last_words_are_explained) {
  const auto story = [](const char* error) {
    return PodStory().restarted_for_ever().phase("Running").says(error).facts();
  };
  const auto found = compare("s", story("RuntimeError: Socket Timeout"), story("x"));
  ASSERT_EQ(found.size(), 1U);
  EXPECT_NE(found.front().explanation, "");
}

TEST(Agreement, every_difference_is_named) {
  const RunFacts real = PodStory().phase("Running").ended("x", 0, 0).facts();
  const RunFacts other =
      PodStory().phase("Running").phase("Failed").ended("x", 1, 0).says("step 1").facts();
  const auto found = compare("s", real, other);
  std::vector<std::string> aspects;
  for (const Disagreement& one : found) {
    aspects.push_back(one.aspect);
    EXPECT_EQ(one.explanation, "");
  }
  EXPECT_THAT(aspects, ElementsAre("phases", "exits", "steps"));
  EXPECT_EQ(found[1].real, "0 Error");
  EXPECT_EQ(found[1].virtual_, "1 Error");
  EXPECT_EQ(found[2].real, "");
}

// What `worker-killed-onfailure` says of this aspect of its worker in both modes.
std::string_view explanation(std::string_view scenario, const char* aspect, const char* real,
                             const char* virtual_) {
  const std::pair<std::string, std::string> key{"pod/train-worker-0 #1", aspect};
  const auto found = compare(scenario, {{key, real}}, {{key, virtual_}});
  return found.empty() ? std::string_view() : found.front().explanation;
}

TEST(Agreement, a_known_difference_comes_with_its_explanation) {
  const std::string_view known = "worker-killed-onfailure";
  const char* fewer = "137 Error > 137 Error > 0 Completed";
  const char* more = "137 Error > 1 Error > 137 Error > 0 Completed";
  EXPECT_NE(explanation(known, "exits", fewer, more), "");
  EXPECT_NE(explanation(known, "exits", more, fewer), "");
  EXPECT_EQ(explanation("another", "exits", fewer, more), "");
}

TEST(Agreement, a_master_may_be_deleted_before_it_is_started_again) {
  const auto differ = [](const char* real, const char* virtual_) {
    const std::pair<std::string, std::string> key{"pod/train-master-0 #1 pytorch", "exits"};
    return compare("backoff-limit", RunFacts{{key, real}}, RunFacts{{key, virtual_}})
        .front()
        .explanation;
  };
  EXPECT_NE(differ("1 Error", "1 Error > 143 Error"), "");
  EXPECT_EQ(differ("143 Error", "1 Error"), "") << "another code for the same end";
  EXPECT_EQ(differ("1 Error", "1 Error > 1 Error"), "") << "an end of its own more";
}

// An explanation is no licence: of the same pod other exit codes and other facts stay differences.
TEST(Agreement, an_explanation_excuses_nothing_else) {
  const std::string_view known = "worker-killed-onfailure";
  EXPECT_EQ(explanation(known, "exits", "137 Error > 0 Completed", "143 Error > 0 Completed"), "");
  EXPECT_EQ(explanation(known, "exits", "0 Completed", "1 Error > 1 Error > 0 Completed"), "");
  EXPECT_EQ(explanation(known, "phases", "Pending > Running", "Pending > Running > Failed"), "");
  EXPECT_EQ(explanation(known, "steps", "20", "12"), "");
}

// How the container c of the second pod w-0 ended, which told these steps.
struct Ends {
  std::string exits{}, restarts{}, failure{};
  std::string younger{};  // the phases of a third pod
};
RunFacts facts_of(const std::string& steps, const Ends& ends) {
  RunFacts facts{
      {{"default/w-0/c", "steps"}, steps},     {{"pod/w-0 #1", "phases"}, "Pending"},
      {{"pod/w-0 #1 c", "exits"}, "1 Error"},  {{"pod/w-0 #2", "phases"}, "Pending"},
      {{"pod/w-0 #2 c", "exits"}, ends.exits}, {{"pod/w-0 #2 c", "restarts"}, ends.restarts},
      {{"pod/w-0 #2 d", "exits"}, "1 Error"}};
  if (!ends.failure.empty()) facts[{"default/w-0/c", "failure"}] = ends.failure;
  if (!ends.younger.empty()) facts[{"pod/w-0 #3", "phases"}] = ends.younger;
  return facts;
}
bool is_explained(const std::string& real, const std::string& virtual_, const Ends& ends) {
  const auto found = compare("s", facts_of(real, ends), facts_of(virtual_, ends));
  return found.size() == 1 && !found.front().explanation.empty();
}

TEST(Agreement, a_container_that_a_signal_ended_may_be_one_step_behind) {
  EXPECT_TRUE(is_explained("3", "4", {"143 Error", "0"}));
  EXPECT_TRUE(is_explained("4", "3", {"1 Error > 137 Error", "1"}));
  EXPECT_FALSE(is_explained("2", "4", {"143 Error", "0"})) << "two steps";
  EXPECT_FALSE(is_explained("3", "4", {"0 Completed", "0"})) << "it ended by itself";
  EXPECT_FALSE(is_explained("3", "4", {"143 Error > 1 Error", "1"})) << "a later run did";
  EXPECT_FALSE(is_explained("3", "4", {"143 Error", "1"})) << "a later run goes on";
  EXPECT_FALSE(is_explained("3", "4", {"137 OOMKilled", "0"})) << "its own doing";
  EXPECT_FALSE(is_explained("3", "4", {"137 Error", "0", "rank 0 at step 4"})) << "its own doing";
  EXPECT_FALSE(is_explained("3", "4", {"143 Error", "0", "", "Pending > Running"}))
      << "a younger pod goes on";
  const auto other_ends =
      compare("s", facts_of("3", {"143 Error", "0"}), facts_of("4", {"137 Error", "0"}));
  EXPECT_EQ(other_ends.front().explanation, "") << "the two ended in different ways";
}

std::vector<std::string_view> unexplained(const RunFacts& real, const RunFacts& virtual_) {
  std::vector<std::string_view> aspects;
  for (const Disagreement& one : compare("s", real, virtual_))
    if (one.explanation.empty()) aspects.push_back(one.aspect == "exits" ? "exits" : "another");
  return aspects;
}

TEST(Agreement, what_is_restarted_for_ever_may_be_in_its_next_life) {
  const auto lives = [](std::vector<int> codes, bool for_ever = true) {
    PodStory story;
    if (for_ever) story.restarted_for_ever();
    story.phase("Running");
    for (std::size_t i = 0; i < codes.size(); ++i)
      story.ended(std::to_string(i).c_str(), codes[i], 1);
    return story;
  };
  EXPECT_THAT(unexplained(lives({0}).facts(), lives({0, 0}).facts()), testing::IsEmpty());
  EXPECT_THAT(unexplained(lives({0, 0}).facts(), lives({0}).facts()), testing::IsEmpty());
  EXPECT_THAT(unexplained(lives({0}).facts(), lives({0, 0, 0}).facts()), ElementsAre("exits"));
  EXPECT_THAT(unexplained(lives({0}).facts(), lives({1, 0}).facts()), ElementsAre("exits"));
  EXPECT_THAT(unexplained(lives({0}, false).facts(), lives({0, 0}, false).facts()),
              ElementsAre("exits"));
  // A pod that has ended has no next one.
  EXPECT_THAT(
      unexplained(lives({0}).phase("Failed").facts(), lives({0, 0}).phase("Failed").facts()),
      ElementsAre("exits"));
}

// A pod of a Job has another name in each run.
TEST(Agreement, drawn_names_do_not_matter) {
  const auto story = [](const char* drawn, const char* line) {
    return PodStory(drawn).phase("Running").says(line).ended("a", 137, 0).facts();
  };
  const RunFacts real = story("5xdpn", "step 5/20 rank 0 loss 1");
  EXPECT_TRUE(compare("s", real, story("b5xdp", "step 5/20 rank 0 loss 1")).empty());
  const auto behind = compare("s", real, story("b5xdp", "step 4/20 rank 0 loss 1"));
  ASSERT_EQ(behind.size(), 1U);
  EXPECT_EQ(behind[0].subject, "pod/w-* #1 c");
  EXPECT_FALSE(behind[0].explanation.empty());
}

TEST(Agreement, the_tenth_pod_of_a_name_is_younger_than_the_second) {
  const auto story = [](const std::string& steps, const std::string& tenth) {
    RunFacts facts{{{"default/w-0/c", "steps"}, steps}};
    for (int i = 1; i <= 10; ++i) {
      const std::string pod = "pod/w-0 #" + std::to_string(i);
      facts[{pod, "phases"}] = "Pending > Running > Failed";
      facts[{pod + " c", "exits"}] = i == 10 ? tenth : "1 Error";
      facts[{pod + " c", "restarts"}] = "0";
    }
    return facts;
  };
  EXPECT_NE(compare("s", story("3", "143 Error"), story("4", "143 Error")).front().explanation, "");
  EXPECT_EQ(compare("s", story("3", "1 Error"), story("4", "1 Error")).front().explanation, "");
}

// An explanation that no run needs any more is to be deleted: tools/agree shows which are used.
TEST(Agreement, every_explanation_says_what_it_is_about_and_why) {
  for (const Explained& row : explained_differences()) {
    EXPECT_FALSE(row.scenario.empty()) << row.reason;
    EXPECT_FALSE(row.subject.empty()) << row.reason;
    EXPECT_FALSE(row.aspect.empty()) << row.reason;
    EXPECT_GT(row.reason.size(), 20U);
  }
}

}  // namespace
}  // namespace ddptwin::scenario::agreement_test
