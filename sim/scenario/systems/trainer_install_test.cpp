// What Trainer brings into a cluster: definitions of each version, and runtimes that fit them.
#include "scenario/systems/trainer_install.hpp"

#include <gmock/gmock.h>

#include <boost/json.hpp>

#include "controller/trainer/stock_runtimes.hpp"
#include "objects/codec.hpp"
#include "objects/schema.hpp"
#include "objects/validation.hpp"

namespace ddptwin::scenario::trainer_install_test {
namespace {

namespace trainer = controller::trainer;
using testing::ElementsAre;
using testing::IsEmpty;

TEST(TrainerInstall, stock_runtimes_fit_the_definition_of_their_release) {
  for (const trainer::Profile& profile : trainer::profiles()) {
    const RawJson source = training_runtime_schema(schema_options(profile));
    const auto schema = Schema::compile(*source.get());
    ASSERT_TRUE(schema.has_value());
    const auto runtimes = trainer::stock_runtimes(profile);
    EXPECT_FALSE(runtimes.empty()) << profile.version;
    for (const auto& runtime : runtimes) {
      Json body = encode(*runtime);
      std::vector<std::string> unknown;
      prune(*schema, body, {}, unknown);
      fill_defaults(*schema, body);
      EXPECT_THAT(unknown, IsEmpty()) << profile.version << " " << runtime->metadata.name.view();
      const ErrorList errors = validate_schema(*schema, body, nullptr);
      EXPECT_THAT(errors, IsEmpty()) << profile.version << " " << runtime->metadata.name.view()
                                     << ": " << (errors.empty() ? "" : summary_of(errors));
    }
  }
}

TEST(TrainerInstall, releases_ship_their_runtimes) {
  const auto names = [](std::string_view version) {
    std::vector<std::string> all;
    for (const auto& one : trainer::stock_runtimes(*trainer::find_profile(version)))
      all.push_back(one->metadata.name.str());
    return all;
  };
  EXPECT_THAT(names("v2.3"),
              ElementsAre("deepspeed-distributed", "mlx-distributed", "torch-distributed",
                          "jax-distributed", "xgboost-distributed", "torchtune-llama3.2-1b",
                          "torchtune-llama3.2-3b", "torchtune-qwen2.5-1.5b"));
  EXPECT_EQ(names("lenient"), names("v2.3"));
  EXPECT_THAT(names("v2.0"),
              ElementsAre("deepspeed-distributed", "mlx-distributed", "torch-distributed",
                          "torchtune-llama3.2-1b", "torchtune-llama3.2-3b"));
}

TEST(TrainerInstall, versions_go_by_tag_release_and_name) {
  const auto version = [](std::string_view text) {
    const trainer::Profile* found = trainer::find_profile(text);
    return found != nullptr ? found->version : std::string_view();
  };
  EXPECT_EQ(trainer::default_profile().version, "v2.3.0");
  EXPECT_EQ(version("v2.3"), "v2.3.0");
  EXPECT_EQ(version("2.2"), "v2.2.1");
  EXPECT_EQ(version("v2.0.1"), "v2.0.0");
  EXPECT_EQ(version("lenient"), "lenient");
  EXPECT_EQ(version("master"), "master");
  EXPECT_EQ(version("v1.9"), "");
}

// §0.3: what the lenient one knows beside today's.
TEST(TrainerInstall, the_lenient_definition_knows_all_fields) {
  Json body{{"spec", boost::json::parse(R"({"runtimeRef":{"name":"r"},"labels":{"a":"b"},
      "annotations":{},"podSpecOverrides":[{"targetJobs":[{"name":"node"}],"serviceAccountName":"x",
      "nodeSelector":{"a":"b"}}],"podTemplateOverrides":[{"targetJobs":[{"name":"node"}],
      "metadata":{"labels":{"a":"b"}},"spec":{"affinity":{}}}],
      "runtimePatches":[{"manager":"a.io/x"}],"trainer":{"numProcPerNode":"gpu"},
      "activeDeadlineSeconds":5})")}};
  const RawJson source = trainjob_schema(schema_options(*trainer::find_profile("lenient")));
  const auto schema = Schema::compile(*source.get());
  ASSERT_TRUE(schema.has_value());
  std::vector<std::string> unknown;
  prune(*schema, body, {}, unknown);
  EXPECT_THAT(unknown, IsEmpty());
  EXPECT_THAT(validate_schema(*schema, body, nullptr), IsEmpty());
}

}  // namespace
}  // namespace ddptwin::scenario::trainer_install_test
