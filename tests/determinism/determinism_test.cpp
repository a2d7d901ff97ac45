// The trace of a virtual run depends on file, seed and version alone.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "cli/command.hpp"
#include "scenario/language/scenario_parser.hpp"
#include "scenario/run/trace_hash.hpp"
#include "scenario/run/virtual_run.hpp"

namespace ddptwin::test::determinism_test {
namespace {

namespace fs = std::filesystem;
using scenario::Scenario;

const fs::path source = DDPTWIN_SOURCE_DIR;
const fs::path table = source / "tests/determinism/hashes.txt";

Result<std::string> text_of(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  if (!stream) return fail(Reason::bad_input, path + ": cannot be read");
  std::ostringstream text;
  text << stream.rdbuf();
  return text.str();
}

Scenario read_scenario(const std::string& path) {
  static const KindRegistry kinds;
  fs::current_path(source);
  auto parsed = scenario::parse_scenario(path, kinds, &text_of);
  if (!parsed) throw std::runtime_error(parsed.error().text());
  return std::move(*parsed);
}

std::string hash_of(const Scenario& one, std::uint64_t seed, const std::string& torch) {
  const auto result = run_virtually(one, {.seed = seed, .torch = torch});
  return result ? scenario::hash_text(*result->trace_hash) : result.error().text();
}

// A master and a worker that is killed; few steps, so that a thousand seeds take no time.
constexpr const char* cheap = "tests/determinism/cheap.yaml";
constexpr std::uint64_t seeds = 1000;

TEST(DeterminismTest, a_thousand_seeds_give_the_same_trace_twice) {
  const Scenario one = read_scenario(cheap);
  std::vector<std::string> first;
  for (std::uint64_t seed = 0; seed < seeds; ++seed) first.push_back(hash_of(one, seed, ""));
  // The second time in another order, between runs of other seeds.
  for (std::uint64_t i = 0; i < seeds; ++i) {
    const std::uint64_t seed = (i * 389) % seeds;
    ASSERT_EQ(first[seed], hash_of(one, seed, "")) << "seed " << seed;
  }
  std::sort(first.begin(), first.end());
  const auto different = std::unique(first.begin(), first.end()) - first.begin();
  EXPECT_GT(different, 900) << "a seed is to decide something";
}

TEST(DeterminismTest, what_else_is_in_memory_does_not_matter) {
  const Scenario one = read_scenario(cheap);
  const std::string expected = hash_of(one, 7, "");
  // Other addresses for everything: what is ordered by pointers would move.
  std::vector<std::unique_ptr<char[]>> ballast;
  for (std::size_t i = 1; i < 400; ++i) {
    ballast.push_back(std::make_unique<char[]>(i * 37 % 4096 + 1));
    if (i % 3 == 0) ballast[i / 2].reset();
  }
  EXPECT_EQ(hash_of(one, 7, ""), expected);
}

TEST(DeterminismTest, where_the_file_lies_does_not_matter) {
  const std::string elsewhere = testing::TempDir() + "cheap.yaml";
  fs::copy_file(source / cheap, elsewhere, fs::copy_options::overwrite_existing);
  const KindRegistry kinds;
  const auto copied = scenario::parse_scenario(elsewhere, kinds, &text_of);
  fs::remove(elsewhere);
  ASSERT_TRUE(copied) << copied.error().text();
  EXPECT_EQ(hash_of(*copied, 3, ""), hash_of(read_scenario(cheap), 3, ""));
}

// One line of the table: a file, a seed, a PyTorch, and the hash that every build gives.
struct Row {
  std::string file{}, torch{}, hash{};
  std::uint64_t seed = 0;
};

std::vector<Row> rows() {
  std::vector<Row> found;
  std::ifstream stream(table);
  for (std::string line; std::getline(stream, line);) {
    if (line.empty() || line.front() == '#') continue;
    std::istringstream words(line);
    Row& row = found.emplace_back();
    words >> row.file >> row.seed >> row.torch >> row.hash;
  }
  return found;
}

// What the table is made of: every scenario that runs in virtual time, with the PyTorch that it
// names or with both.
std::vector<Row> wanted() {
  std::vector<std::string> files{cheap};
  for (const auto& entry : fs::recursive_directory_iterator(source / "scenarios")) {
    if (entry.path().extension() != ".yaml") continue;
    // A manifest that a scenario names is no scenario.
    if (const auto text = text_of(entry.path().string());
        text && text->find("kind: Scenario") != text->npos)
      files.push_back(fs::relative(entry.path(), source).generic_string());
  }
  std::sort(files.begin(), files.end());
  std::vector<Row> made;
  for (const std::string& file : files) {
    const Scenario one = read_scenario(file);
    if (std::count(one.modes.begin(), one.modes.end(), scenario::Mode::virtual_) == 0) continue;
    for (const std::string_view torch : scenario::measured_torch_names()) {
      if (!one.torch.empty() && one.torch != torch) continue;
      for (const std::uint64_t seed : {1U, 2U})
        made.push_back({file, std::string(torch), "", seed});
    }
  }
  return made;
}

void write_table() {
  std::ofstream stream(table);
  stream << "# The trace hash of virtual runs: file, seed, PyTorch, hash. Every build gives the "
            "same.\n"
            "# tools/hashes writes it anew, after a change that is meant to change what happens.\n";
  for (const Row& row : wanted())
    stream << fmt::format("{} {} {} {}\n", row.file, row.seed, row.torch,
                          hash_of(read_scenario(row.file), row.seed, row.torch));
}

TEST(DeterminismTest, every_build_gives_the_hashes_of_the_table) {
  if (std::getenv("GOLDEN_REWRITE") != nullptr) write_table();
  const auto found = rows();
  const auto all = wanted();
  ASSERT_EQ(found.size(), all.size()) << "tools/hashes writes the table anew";
  for (std::size_t i = 0; i < found.size(); ++i) {
    const Row& row = found[i];
    EXPECT_EQ(row.file, all[i].file);
    EXPECT_EQ(hash_of(read_scenario(row.file), row.seed, row.torch), row.hash) << fmt::format(
        "ddptwin run {} --mode virtual --seed {} --torch {}", row.file, row.seed, row.torch);
  }
}

// What the command prints for the first row, under an environment of our choice.
std::string said_under(const std::string& environment) {
  const Said said = shell(fmt::format("{} {}/bin/ddptwin run {} --mode virtual --seed 5 --quiet",
                                      environment, DDPTWIN_BINARY_DIR, cheap),
                          source.string());
  return (said.status == 0 ? "" : "failed: ") + said.out + said.err;
}

TEST(DeterminismTest, environment_locale_and_time_zone_do_not_matter) {
  const std::string expected = said_under("env -i");
  EXPECT_NE(expected.find("trace "), std::string::npos) << expected;
  for (const char* environment :
       {"env LC_ALL=C", "env LC_ALL=C.UTF-8 LANG=de_DE.UTF-8", "env TZ=Pacific/Chatham",
        "env MALLOC_PERTURB_=165 MALLOC_ARENA_MAX=1", "env -i TZ=UTC HOME=/nonexistent",
        "env RANK=3 WORLD_SIZE=9 MASTER_ADDR=elsewhere", "nice -n 19", "setarch -R"})
    EXPECT_EQ(said_under(environment), expected) << environment;
}

}  // namespace
}  // namespace ddptwin::test::determinism_test
