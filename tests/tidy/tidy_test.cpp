// Reads the tree and holds the rules that no compiler checks (design.md section 8, style.md section
// 12).
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>

namespace {

namespace fs = std::filesystem;

const fs::path root = DDPTWIN_SOURCE_DIR;

struct File {
  std::string path;  // from the root
  std::vector<std::string> lines;
};

std::string content_of(const fs::path& path) {
  std::ifstream in(path);
  std::stringstream all;
  all << in.rdbuf();
  return all.str();
}

std::vector<File> sources() {
  std::vector<File> files;
  for (const char* top : {"sim", "tests", "property_tests", "tools", "bench", "fuzz"}) {
    if (!fs::exists(root / top)) continue;
    for (const auto& entry : fs::recursive_directory_iterator(root / top)) {
      const auto extension = entry.path().extension();
      if (extension != ".cpp" && extension != ".hpp") continue;
      File file{fs::relative(entry.path(), root).string(), {}};
      std::ifstream in(entry.path());
      for (std::string line; std::getline(in, line);) file.lines.push_back(line);
      files.push_back(std::move(file));
    }
  }
  std::sort(files.begin(), files.end(),
            [](const File& a, const File& b) { return a.path < b.path; });
  return files;
}

bool is_test(const std::string& path) {
  return path.ends_with("_test.cpp") || path.ends_with("_test_fixture.hpp") ||
         path.starts_with("tests/") || path.starts_with("property_tests/") ||
         path.starts_with("bench/") || path.starts_with("fuzz/");
}

// The rooms of design.md section 8, inner ones too, and which each builds on: it may include these
// and what they build on. What a row calls `sim/x/y` holds for its folders that have no row.
const std::map<std::string, std::vector<std::string>>& rooms() {
  static const std::map<std::string, std::vector<std::string>> rows{
      {"core", {}},
      {"objects", {"core"}},
      {"api", {"objects"}},
      {"dns", {"api"}},
      {"cluster/pods", {"api"}},
      {"cluster/store", {"cluster/pods"}},
      {"cluster/scheduler", {"cluster/pods"}},
      {"cluster/kubelet", {"cluster/pods", "runtime"}},
      {"runtime", {"api"}},
      {"runtime/images", {"runtime"}},
      {"runtime/process", {"runtime/images"}},
      {"runtime/model", {"runtime/process"}},
      {"runtime/model/programs", {"runtime/model"}},
      {"runtime/model/torchrun", {"runtime/model/programs"}},
      {"runtime/model/rank", {"runtime/model/torchrun"}},
      {"runtime/model/shell", {"runtime/model/torchrun"}},
      {"runtime/model/commands", {"runtime/model/shell", "runtime/model/rank"}},
      {"controller", {"api"}},
      {"controller/toolkit", {"controller"}},
      {"controller/manager", {"controller/toolkit", "cluster/pods"}},
      {"controller/training_operator", {"controller/toolkit"}},
      {"controller/ddpset", {"controller/toolkit"}},
      {"controller/jobset", {"controller/toolkit"}},
      {"controller/trainer", {"controller/toolkit", "cluster/pods"}},
      {"controller/t9k", {"controller/toolkit", "cluster/scheduler"}},
      {"controller/aistudio", {"controller/toolkit"}},
      {"controller/scheduler_plugins", {"controller"}},
      {"controller/volcano", {"controller"}},
      {"scenario/words", {"api"}},
      {"scenario/invariants", {"scenario/words", "cluster/pods"}},
      {"scenario/systems",
       {"controller/manager", "controller/training_operator", "controller/ddpset",
        "controller/jobset", "controller/trainer", "controller/t9k", "controller/aistudio",
        "controller/scheduler_plugins", "controller/volcano", "cluster/store", "cluster/scheduler",
        "scenario/invariants"}},
      {"scenario/world",
       {"scenario/systems", "controller/manager", "cluster/scheduler", "cluster/kubelet", "dns"}},
      {"scenario/language", {"scenario/world", "runtime/model"}},
      {"scenario/judge", {"scenario/language"}},
      {"scenario/faults", {"scenario/judge"}},
      {"scenario/run", {"scenario/faults", "runtime/model/commands"}},
      {"scenario/report", {"scenario/run"}},
      {"scenario/explore", {"scenario/run"}},
      {"scenario", {"scenario/report"}},
      {"workers", {}},
  };
  return rows;
}

// "sim/cluster/kubelet/env.cpp" -> "cluster/kubelet": the nearest folder that has a row.
std::string room_of(std::string path) {
  if (path.starts_with("sim/")) path.erase(0, std::string_view("sim/").size());
  for (auto slash = path.rfind('/'); slash != std::string::npos; slash = path.rfind('/')) {
    path.erase(slash);
    if (rooms().contains(path)) return path;
  }
  return {};
}

// Everything that the room builds on. It reaches itself where the arrows run in a circle.
void add_reachable(const std::string& room, std::set<std::string>& found) {
  for (const std::string& next : rooms().at(room))
    if (found.insert(next).second) add_reachable(next, found);
}

std::set<std::string> reachable_from(const std::string& room) {
  std::set<std::string> found;
  add_reachable(room, found);
  return found;
}

// Of the workers only the protocol by which a prepared process is asked for a worker, and the
// worker's command line, which its model reads too.
constexpr std::array<std::string_view, 2> shared_headers{"workers/zygote_protocol.hpp",
                                                         "workers/options.hpp"};

TEST(Tidy, rooms_build_on_one_another_without_a_circle) {
  for (const auto& [room, below] : rooms())
    EXPECT_FALSE(reachable_from(room).contains(room)) << room << " builds on itself";
}

TEST(Tidy, every_room_has_its_folder) {
  for (const auto& [room, below] : rooms())
    EXPECT_TRUE(fs::is_directory(root / "sim" / room)) << room << ": there is no such folder";
}

TEST(Tidy, includes_follow_the_arrows) {
  static const std::regex include(R"re(^\s*#include\s+"([a-z_/0-9]+\.hpp)")re");
  for (const File& file : sources()) {
    if (!file.path.starts_with("sim/") || is_test(file.path)) continue;
    const std::string room = room_of(file.path);
    ASSERT_FALSE(room.empty()) << file.path << ": its folder is no room";
    const std::set<std::string> below = reachable_from(room);
    for (std::size_t i = 0; i < file.lines.size(); ++i) {
      std::smatch match;
      if (!std::regex_search(file.lines[i], match, include)) continue;
      const std::string header = match[1], target = room_of(header);
      if (target.empty() || target == room) continue;
      const bool shared =
          std::find(shared_headers.begin(), shared_headers.end(), header) != shared_headers.end();
      if (shared && room.starts_with("runtime/")) continue;
      EXPECT_TRUE(below.contains(target))
          << file.path << ":" << i + 1 << ": " << room << " may not include " << target;
    }
  }
}

struct Banned {
  std::vector<std::string_view> words;
  std::string_view why;
  std::vector<std::string_view> allowed;  // path prefixes
};

// What a world may not read by itself: only the rim does.
const std::vector<Banned>& banned() {
  static const std::vector<Banned> rules{
      {{"system_clock", "steady_clock", "clock_gettime", "gettimeofday", "time(nullptr)"},
       "the time comes from Loop::now()",
       {"sim/core/real_loop", "sim/workers/", "sim/runtime/process/", "tools/", "bench/",
        "tests/"}},
      {{"random_device", "rand()", "srand", "mt19937", "mt19937_64"},
       "chance comes from Random",
       {"sim/workers/", "tools/", "tests/"}},
      {{"getenv"},
       "the environment is the rim's",
       {"sim/workers/", "sim/runtime/process/", "tools/", "tests/"}},
      {{"sleep_for", "usleep(", "sleep("},
       "nothing waits by sleeping",
       {"sim/workers/", "sim/runtime/process/"}},
  };
  return rules;
}

std::string without_comment(const std::string& line) { return line.substr(0, line.find("//")); }

bool has_word(const std::string& code, std::string_view word) {
  const auto in_name = [](char c) {
    return c == '_' || std::isalnum(static_cast<unsigned char>(c));
  };
  for (auto at = code.find(word); at != std::string::npos; at = code.find(word, at + 1)) {
    const std::size_t end = at + word.size();
    const bool begins = at == 0 || !in_name(code[at - 1]);
    const bool ends = !in_name(word.back()) || end == code.size() || !in_name(code[end]);
    if (begins && ends) return true;
  }
  return false;
}

TEST(Tidy, nobody_reads_clock_chance_or_environment_but_the_rim) {
  for (const Banned& rule : banned()) {
    for (const File& file : sources()) {
      const bool allowed =
          std::any_of(rule.allowed.begin(), rule.allowed.end(),
                      [&](std::string_view prefix) { return file.path.starts_with(prefix); });
      if (allowed || file.path.ends_with("tidy_test.cpp")) continue;
      for (std::size_t i = 0; i < file.lines.size(); ++i) {
        const std::string code = without_comment(file.lines[i]);
        EXPECT_TRUE(std::none_of(rule.words.begin(), rule.words.end(),
                                 [&](std::string_view word) { return has_word(code, word); }))
            << file.path << ":" << i + 1 << ": " << rule.why;
      }
    }
  }
}

TEST(Tidy, unordered_containers_say_that_their_order_cannot_be_seen) {
  for (const File& file : sources()) {
    if (!file.path.starts_with("sim/") || is_test(file.path) ||
        file.path.starts_with("sim/workers/"))
      continue;
    for (std::size_t i = 0; i < file.lines.size(); ++i) {
      const std::string code = without_comment(file.lines[i]);
      if (code.find("::unordered_") == std::string::npos) continue;
      bool said = false;
      for (std::size_t j = i >= 3 ? i - 3 : 0; j <= i; ++j)
        said |= file.lines[j].find("order cannot be seen") != std::string::npos;
      EXPECT_TRUE(said) << file.path << ":" << i + 1
                        << ": say why the order cannot be seen, or use an ordered one";
    }
  }
}

// g++ 12 destroys twice what a capturing lambda or an aggregate owns that is made inside co_await.
TEST(Tidy, nothing_is_made_inside_a_co_await) {
  for (const File& file : sources())
    for (std::size_t i = 0; i < file.lines.size(); ++i) {
      if (file.path.ends_with("tidy_test.cpp")) continue;
      const std::string code = without_comment(file.lines[i]);
      const auto at = code.find("co_await");
      if (at == std::string::npos) continue;
      EXPECT_EQ(code.find_first_of("{[", at), std::string::npos)
          << file.path << ":" << i + 1 << ": " << code;
    }
}

TEST(Tidy, no_line_is_longer_than_a_hundred) {
  for (const File& file : sources())
    for (std::size_t i = 0; i < file.lines.size(); ++i) {
      // Columns, not bytes: a continuation byte of UTF-8 begins with the bits 10.
      const auto columns = std::count_if(file.lines[i].begin(), file.lines[i].end(), [](char c) {
        return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
      });
      const bool text = file.lines[i].find("R\"") != std::string::npos ||
                        file.lines[i].find("://") != std::string::npos;
      EXPECT_TRUE(columns <= 100 || text)
          << file.path << ":" << i + 1 << ": " << columns << " columns";
    }
}

// Several are compiled as one (DDPTWIN_UNITY in cmake/Ddptwin.cmake), whatever names they share.
TEST(Tidy, each_test_file_has_a_namespace_of_its_own) {
  const std::regex test(R"(^(TEST(_[FP])?|TYPED_TEST)\()");
  for (const File& file : sources()) {
    if (!file.path.ends_with("_test.cpp") || file.path == "tests/tidy/tidy_test.cpp") continue;
    const auto begins_test = [&](const std::string& line) { return std::regex_search(line, test); };
    if (std::none_of(file.lines.begin(), file.lines.end(), begins_test)) continue;  // others use it
    const auto own = "::" + fs::path(file.path).stem().string() + " {";
    EXPECT_TRUE(std::any_of(file.lines.begin(), file.lines.end(),
                            [&](const std::string& line) {
                              return line.starts_with("namespace ddptwin") && line.ends_with(own);
                            }))
        << file.path << ": its namespace is to end with" << own;
  }
}

TEST(Tidy, every_header_is_included_somewhere) {
  const auto files = sources();
  std::set<std::string> included;
  static const std::regex include(R"re(^\s*#include\s+"([^"]+)")re");
  for (const File& file : files)
    for (const std::string& line : file.lines) {
      std::smatch match;
      if (!std::regex_search(line, match, include)) continue;
      included.insert(match[1]);
      included.insert("tests/" + match[1].str());
      included.insert(
          (fs::path(file.path).parent_path() / match[1].str()).lexically_normal().string());
    }
  for (const File& file : files) {
    if (!file.path.ends_with(".hpp")) continue;
    const std::string from_sim = file.path.starts_with("sim/") ? file.path.substr(4) : file.path;
    EXPECT_TRUE(included.contains(from_sim) || included.contains(file.path))
        << file.path << " is included by nobody";
  }
}

std::string all_docs() {
  std::string text = content_of(root / "README.md") + content_of(root / "ARCHITECTURE.md");
  for (const char* top : {"docs", "sim", "scenarios"})
    for (const auto& entry : fs::recursive_directory_iterator(root / top))
      if (entry.path().extension() == ".md") text += content_of(entry.path());
  return text;
}

TEST(Tidy, every_scenario_is_named_in_the_docs) {
  const std::string docs = all_docs();
  for (const auto& entry : fs::recursive_directory_iterator(root / "scenarios")) {
    if (entry.path().extension() != ".yaml") continue;
    if (content_of(entry.path()).find("kind: Scenario") == std::string::npos) continue;
    EXPECT_NE(docs.find(entry.path().filename().string()), std::string::npos)
        << fs::relative(entry.path(), root) << " is named in no document";
  }
}

// A row of scenarios/failures/README.md: | star | FM-NNN | `file` | system | modes | ... |.
struct FailureRow {
  std::string star, mode, file, modes;
};
std::vector<FailureRow> failure_rows() {
  static const std::regex row(
      R"re(\n\| (\d+) \| (FM-\d+) \| `?([^`| ]+)`? \| [^|\n]+ \| ([^|\n]+) \|)re");
  const std::string text = content_of(root / "scenarios/failures/README.md");
  std::vector<FailureRow> rows;
  for (std::sregex_iterator at(text.begin(), text.end(), row), end; at != end; ++at)
    rows.push_back({(*at)[1], (*at)[2], (*at)[3], (*at)[4]});
  return rows;
}

TEST(Tidy, every_starred_failure_mode_has_its_row) {
  static const std::regex starred(R"re(\n\| (\d+) \| (FM-\d+) \|)re");
  const std::string text = content_of(root / "docs/spec/failure-modes.md");
  std::set<std::pair<std::string, std::string>> wanted, told;
  for (std::sregex_iterator at(text.begin(), text.end(), starred), end; at != end; ++at)
    wanted.emplace((*at)[1], (*at)[2]);
  for (const FailureRow& row : failure_rows()) told.emplace(row.star, row.mode);
  EXPECT_EQ(wanted.size(), 40U);
  EXPECT_EQ(told, wanted);
}

TEST(Tidy, rows_of_failure_modes_are_true_for_their_files) {
  static const std::regex modes(R"re(\n  modes: \[([^\]]+)\])re");
  std::set<std::string> named;
  for (const FailureRow& row : failure_rows()) {
    if (row.file == "none") continue;  // the last column says why
    named.insert(row.file);
    const std::string text = content_of(root / "scenarios" / row.file);
    std::smatch found;
    ASSERT_TRUE(std::regex_search(text, found, modes)) << row.file << " names no modes";
    EXPECT_EQ(found[1].str(), row.modes) << row.file;
    if (row.file.starts_with("failures/")) {
      EXPECT_TRUE(row.file.starts_with("failures/" + row.mode + "-")) << row.file;
      EXPECT_TRUE(text.starts_with("# " + row.mode))
          << row.file << " does not tell of " << row.mode;
    }
  }
  for (const auto& entry : fs::directory_iterator(root / "scenarios/failures")) {
    if (entry.path().extension() != ".yaml") continue;
    const std::string file = "failures/" + entry.path().filename().string();
    EXPECT_TRUE(named.contains(file)) << file << " has no row";
  }
}

TEST(Tidy, every_rule_is_named_in_its_controllers_readme) {
  static const std::regex rule(R"re(Rule\s+[a-z_0-9]+\s*\{\s*"([a-z_0-9]+)")re");
  for (const File& file : sources()) {
    if (!file.path.starts_with("sim/controller/") || is_test(file.path)) continue;
    const fs::path folder = root / fs::path(file.path).parent_path();
    if (!fs::exists(folder / "README.md")) continue;
    const std::string readme = content_of(folder / "README.md");
    for (const std::string& line : file.lines) {
      std::smatch match;
      if (!std::regex_search(line, match, rule)) continue;
      EXPECT_NE(readme.find(match[1].str()), std::string::npos)
          << file.path << ": rule " << match[1];
    }
  }
}

// ---- systems -----------------------------------------------------------------------------------

// What a system has for itself: its controller, its objects and its row.
bool is_the_systems_own(const std::string& path) {
  return path.starts_with("sim/controller/training_operator/") ||
         path.starts_with("sim/objects/pytorchjob") ||
         path.starts_with("sim/scenario/systems/training_operator");
}

// In code and texts; a comment, a citation and the folder of scenarios are none.
bool names_pytorchjob(const File& file) {
  static const std::regex beside(R"(//.*|spec/pytorchjob\.md|scenarios/pytorchjob)");
  static const std::regex name("pytorchjob", std::regex::icase);
  return std::any_of(file.lines.begin(), file.lines.end(), [](const std::string& line) {
    return std::regex_search(std::regex_replace(line, beside, ""), name);
  });
}

// The rows of the page's table: "| `sim/objects/kinds.cpp` | why |".
std::set<std::string> files_listed_in(const fs::path& page) {
  static const std::regex row(R"(^\| `([^`]+)` \| \S.*\|$)");
  std::set<std::string> files;
  std::ifstream in(page);
  for (std::string line; std::getline(in, line);) {
    std::smatch match;
    if (std::regex_match(line, match, row)) files.insert(match[1]);
  }
  return files;
}

TEST(Tidy, who_names_pytorchjob_stands_in_the_decision) {
  std::set<std::string> naming;
  for (const File& file : sources()) {
    const bool product = file.path.starts_with("sim/") || file.path.starts_with("tools/");
    if (!product || is_test(file.path) || file.path.ends_with("_test_fixture.hpp") ||
        is_the_systems_own(file.path))
      continue;
    if (names_pytorchjob(file)) naming.insert(file.path);
  }
  const std::set<std::string> listed =
      files_listed_in(root / "docs/decisions/0010-a-system-is-a-row.md");
  for (const std::string& path : naming)
    EXPECT_TRUE(listed.contains(path))
        << path << " names PyTorchJob: ask the system's row (sim/scenario/systems/system.hpp)";
  for (const std::string& path : listed)
    EXPECT_TRUE(naming.contains(path)) << path << " names PyTorchJob no more: its row goes";
}

// What judges and their readers work out they work out by themselves: the same slip is not in both.
TEST(Tidy, no_judge_calls_a_controller) {
  int judges = 0;
  static const std::regex controller(R"re(^\s*#include\s+"controller/)re");
  static const std::regex folder(R"re(sim/scenario/(invariants|systems/[^/]+)/.*)re");
  for (const File& file : sources()) {
    if (!std::regex_match(file.path, folder) || is_test(file.path)) continue;
    ++judges;
    for (const std::string& line : file.lines)
      EXPECT_FALSE(std::regex_search(line, controller)) << file.path << ": " << line;
  }
  EXPECT_GT(judges, 15);
}

// ---- the law book ------------------------------------------------------------------------------

// The numbers of a page's headings: 2, 2.3.
std::set<std::string> sections_of(const fs::path& page) {
  static const std::regex heading(R"(^#+ ([0-9]+(\.[0-9]+)*)\.? )");
  std::set<std::string> sections;
  std::ifstream in(page);
  for (std::string line; std::getline(in, line);) {
    std::smatch match;
    if (std::regex_search(line, match, heading)) sections.insert(match[1]);
  }
  return sections;
}

// §4.3.1 is the first point of the list in §4.3.
bool has_section(const std::set<std::string>& sections, const std::string& number) {
  if (sections.contains(number)) return true;
  const bool is_point = std::count(number.begin(), number.end(), '.') == 2;
  return is_point && sections.contains(number.substr(0, number.rfind('.')));
}

// Each "spec/page.md §1, §2.3" of a text: the page, and the sections that follow it at once, on the
// next line of a comment too.
std::vector<std::pair<std::string, std::vector<std::string>>> citations_in(
    const std::string& text) {
  static const std::regex page(R"(\bspec/([a-z0-9-]+\.md)((?:[\s/#*,()]|and|to|§[0-9.]+)*))");
  static const std::regex section(R"(§([0-9]+(\.[0-9]+)*))");
  std::vector<std::pair<std::string, std::vector<std::string>>> found;
  for (std::sregex_iterator match(text.begin(), text.end(), page), end; match != end; ++match) {
    const std::string tail = (*match)[2];
    std::vector<std::string> sections;
    for (std::sregex_iterator one(tail.begin(), tail.end(), section); one != end; ++one)
      sections.push_back((*one)[1]);
    found.emplace_back((*match)[1], std::move(sections));
  }
  return found;
}

TEST(Tidy, what_is_cited_of_the_law_book_is_in_it) {
  std::map<std::string, std::set<std::string>> pages;
  for (const auto& entry : fs::directory_iterator(root / "docs/spec"))
    pages[entry.path().filename().string()] = sections_of(entry.path());
  const std::set<std::string> read{".cpp", ".hpp", ".md", ".py", ".yaml", ".txt", ".sh"};
  std::size_t cited = 0;
  for (const char* top :
       {"sim", "tests", "tools", "docs", "scenarios", "property_tests", "bench", "fuzz"})
    for (const auto& entry : fs::recursive_directory_iterator(root / top)) {
      const fs::path& path = entry.path();
      if (!read.contains(path.extension().string()) || path.parent_path() == root / "docs/spec" ||
          path.filename() == "tidy_test.cpp")
        continue;
      for (const auto& [page, sections] : citations_in(content_of(path))) {
        ++cited;
        EXPECT_TRUE(pages.contains(page))
            << fs::relative(path, root) << " cites spec/" << page << ", which is nowhere";
        for (const std::string& number : sections)
          EXPECT_TRUE(has_section(pages[page], number))
              << fs::relative(path, root) << " cites spec/" << page << " §" << number;
      }
    }
  EXPECT_GE(cited, 100U);
}

TEST(Tidy, every_page_of_the_law_book_is_named_in_its_readme) {
  const std::string readme = content_of(root / "docs/spec/README.md");
  for (const auto& entry : fs::directory_iterator(root / "docs/spec")) {
    const std::string name = entry.path().filename().string();
    EXPECT_TRUE(name == "README.md" || readme.find(name) != std::string::npos) << name;
  }
}

TEST(Tidy, a_clone_is_whole_by_itself) {
  for (const char* top :
       {"sim", "tests", "tools", "cmake", "bench", "scenarios", "property_tests"}) {
    if (!fs::exists(root / top)) continue;
    for (const auto& entry : fs::recursive_directory_iterator(root / top)) {
      const auto extension = entry.path().extension();
      const bool code = extension == ".cpp" || extension == ".hpp" || extension == ".py" ||
                        extension == ".sh" || extension == ".cmake" || extension == ".yaml" ||
                        extension.empty() || entry.path().filename() == "CMakeLists.txt";
      if (!entry.is_regular_file() || !code || entry.path().filename() == "tidy_test.cpp") continue;
      EXPECT_EQ(content_of(entry.path()).find("../shared"), std::string::npos)
          << fs::relative(entry.path(), root) << " reads what is not in the repo";
    }
  }
}

}  // namespace
