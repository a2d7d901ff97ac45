#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "runtime/images/dockerfile_lines.hpp"
#include "runtime/images/image.hpp"

namespace ddptwin::dockerfile_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;
namespace fs = std::filesystem;

// A build context: demo.py, train.py, data/a.txt, data/deep/b.txt.
class DockerfileTest : public testing::Test {
 protected:
  void SetUp() override {
    context = fs::temp_directory_path() / fmt::format("ddptwin-context-{}", ::getpid());
    fs::create_directories(context / "data" / "deep");
    for (const char* name : {"demo.py", "train.py", "data/a.txt", "data/deep/b.txt"}) {
      std::ofstream(context / name) << name;
    }
  }
  void TearDown() override { fs::remove_all(context); }

  Result<DockerfileResult> parse(const std::string& text) {
    return parse_dockerfile({text, "Dockerfile", context.string(), {}, ignored, ".dockerignore"});
  }
  Image image(const std::string& text) {
    const auto result = parse("FROM base\n" + text);
    EXPECT_TRUE(result) << result.error().text();
    return result ? result->image : Image{};
  }
  std::string error(const std::string& text) {
    const auto result = parse(text);
    EXPECT_FALSE(result);
    return result ? "" : result.error().text();
  }
  std::string in(const std::string& path) { return (context / path).string(); }

  fs::path context;
  std::string ignored{};  // the text of .dockerignore
};

// seeds/002: the image pytorch-demo.
TEST_F(DockerfileTest, the_demo_of_the_seed_document_copies_one_file_and_skips_pip) {
  const auto result = parse(
      "FROM python:3.8\n\nRUN pip3 install torch torchvision torchaudio --index-url "
      "https://download.pytorch.org/whl/cpu\n\nWORKDIR /\n\nCOPY demo.py demo.py\n");
  ASSERT_TRUE(result) << result.error().text();
  EXPECT_EQ(result->image.workdir, "/");
  EXPECT_THAT(result->image.copies, ElementsAre(ImageCopy{in("demo.py"), "/demo.py"}));
  ASSERT_EQ(result->notes.size(), 2u);
  EXPECT_EQ(result->notes[0].text, "FROM python:3.8: the host's own tools are the base");
  EXPECT_EQ(result->notes[1].line, 3);
  EXPECT_THAT(result->notes[1].text, HasSubstr("RUN skipped: pip3 install torch"));
}

TEST_F(DockerfileTest, copy_puts_things_where_a_build_would) {
  struct Row {
    const char* text;
    std::vector<ImageCopy> copies;
  };
  const std::vector<Row> rows{
      {"COPY demo.py /a", {{in("demo.py"), "/a"}}},
      {"COPY demo.py /a/", {{in("demo.py"), "/a/demo.py"}}},
      {"COPY demo.py /usr", {{in("demo.py"), "/usr/demo.py"}}},
      {"WORKDIR /w\nCOPY demo.py .", {{in("demo.py"), "/w/demo.py"}}},
      {"WORKDIR /w\nCOPY demo.py ./", {{in("demo.py"), "/w/demo.py"}}},
      {"WORKDIR /w\nCOPY demo.py ../x", {{in("demo.py"), "/x"}}},
      {"WORKDIR /w\nCOPY demo.py /w", {{in("demo.py"), "/w/demo.py"}}},
      {"COPY *.py /app/", {{in("demo.py"), "/app/demo.py"}, {in("train.py"), "/app/train.py"}}},
      {"COPY demo.py data /app/", {{in("demo.py"), "/app/demo.py"}, {in("data"), "/app"}}},
      {"COPY data /app", {{in("data"), "/app"}}},
      {"COPY . /app", {{context.string(), "/app"}}},
      {"COPY ../demo.py /", {{in("demo.py"), "/demo.py"}}},
      {"COPY --chown=1:1 demo.py /a", {{in("demo.py"), "/a"}}},
      {"COPY [\"demo.py\", \"/with space\"]", {{in("demo.py"), "/with space"}}},
      {"ADD demo.py /a", {{in("demo.py"), "/a"}}},
      {"ADD https://example.org/x /a", {}},
      {"COPY --from=other:1 /x /a", {}},
  };
  for (const Row& row : rows) EXPECT_EQ(image(row.text).copies, row.copies) << row.text;
}

TEST_F(DockerfileTest, what_the_context_leaves_out_is_not_copied) {
  struct Row {
    const char* ignored;
    std::vector<std::string> without;  // of `COPY . /app`, within the context
  };
  const std::vector<Row> rows{
      {"# a comment\n\n", {}},
      {"data\n", {"data"}},
      {"/data/\n", {"data"}},
      {" *.py \n", {"demo.py", "train.py"}},
      {"*.txt\n", {}},  // a name of the top folder alone
      {"**/*.txt\n", {"data/a.txt", "data/deep/b.txt"}},
      {"data/*/b.txt\n", {"data/deep/b.txt"}},
      {"**/deep\n", {"data/deep"}},
      {"*.py\n!demo.py\n", {"train.py"}},
      {"!demo.py\n*.py\n", {"demo.py", "train.py"}},  // the last one decides
      {"data\n!data/deep/b.txt\n", {"data/a.txt"}},
      {"d?mo.[op][xy]*\n", {"demo.py"}},
  };
  for (const Row& row : rows) {
    ignored = row.ignored;
    const Image made = image("COPY . /app");
    ASSERT_EQ(made.copies.size(), 1u);
    std::vector<std::string> without;
    for (const std::string& path : row.without) without.push_back(in(path));
    EXPECT_EQ(made.copies.front().without, without) << row.ignored;
  }
  ignored = "data/deep\ntrain.py\n";
  EXPECT_THAT(image("COPY *.py /app/").copies,
              ElementsAre(ImageCopy{in("demo.py"), "/app/demo.py"}));
  EXPECT_THAT(error("FROM b\nCOPY train.py /\n"), HasSubstr("\"train.py\" is left out of"));
  EXPECT_THAT(error("FROM b\nCOPY data/deep /\n"), HasSubstr("by its .dockerignore"));
  ignored = "data\n\ndemo[.py\n";
  EXPECT_THAT(error("FROM b\n"),
              HasSubstr(".dockerignore:3: syntax error in pattern \"demo[.py\""));
  ignored = "data/deep\ntrain.py\n";
  const auto later = parse(
      "FROM a AS build\nCOPY . /src\nFROM b\nCOPY --from=build /src/data /d\n"
      "COPY --from=build /src/train.py /bin/\n");
  ASSERT_TRUE(later) << later.error().text();
  ASSERT_EQ(later->image.copies.size(), 1u);
  EXPECT_FALSE(later->image.copies.front().brings(in("data/deep/b.txt")));
  EXPECT_TRUE(later->image.copies.front().brings(in("data/a.txt")));
}

TEST_F(DockerfileTest, a_later_stage_takes_files_from_an_earlier_one) {
  const auto result = parse(
      "FROM a AS build\nWORKDIR /src\nCOPY . .\nFROM b\nCOPY --from=build /src/data /d\n"
      "COPY --from=0 /src/demo.py /bin/\nCOPY --from=build /made/by/run /r\n");
  ASSERT_TRUE(result) << result.error().text();
  EXPECT_THAT(result->image.copies,
              ElementsAre(ImageCopy{in("data"), "/d"}, ImageCopy{in("demo.py"), "/bin/demo.py"}));
  EXPECT_THAT(result->notes.back().text, HasSubstr("/made/by/run: skipped"));
}

TEST_F(DockerfileTest, commands_have_an_exec_form_and_a_shell_form) {
  struct Row {
    const char* text;
    std::vector<std::string> entrypoint, cmd;
  };
  const std::vector<Row> rows{
      {"CMD [\"python3\", \"demo.py\"]", {}, {"python3", "demo.py"}},
      {"CMD python3 $FILE", {}, {"/bin/sh", "-c", "python3 $FILE"}},
      {"CMD ['python3']", {}, {"/bin/sh", "-c", "['python3']"}},
      {"ENTRYPOINT [\"python3\"]\nCMD [\"x.py\"]", {"python3"}, {"x.py"}},
      {"CMD [\"x\"]\nENTRYPOINT [\"python3\"]", {"python3"}, {}},
      {"ENTRYPOINT python3", {"/bin/sh", "-c", "python3"}, {}},
      {"SHELL [\"/bin/bash\", \"-ec\"]\nCMD a b", {}, {"/bin/bash", "-ec", "a b"}},
      {"cmd [\"a\"]\nCMD [\"b\"]", {}, {"b"}},
  };
  for (const Row& row : rows) {
    const Image made = image(row.text);
    EXPECT_EQ(made.entrypoint, row.entrypoint) << row.text;
    EXPECT_EQ(made.cmd, row.cmd) << row.text;
  }
}

TEST_F(DockerfileTest, variables_are_set_and_replaced) {
  struct Row {
    const char* text;
    std::vector<std::pair<std::string, std::string>> env;
  };
  const std::vector<Row> rows{
      {"ENV A=1 B=\"two words\" C=a\\ b", {{"A", "1"}, {"B", "two words"}, {"C", "a b"}}},
      {"ENV A all the rest", {{"A", "all the rest"}}},
      {"ENV A=1\nENV B=$A-${A}x C=$NONE", {{"A", "1"}, {"B", "1-1x"}, {"C", ""}}},
      {"ENV A=1 B=$A", {{"A", "1"}, {"B", ""}}},
      {"ENV A=${X:-d} B=${X:+y}", {{"A", "d"}, {"B", ""}}},
      {"ENV A='$B' C=\\$B", {{"A", "$B"}, {"C", "$B"}}},
      {"ARG V=3\nENV A=$V", {{"A", "3"}}},
      {"ENV A=1\nENV A=2", {{"A", "2"}}},
      {"ENV A=1 \\\n# a comment inside\n    B=2", {{"A", "1"}, {"B", "2"}}},
  };
  for (const Row& row : rows) EXPECT_EQ(image(row.text).env, row.env) << row.text;
}

TEST_F(DockerfileTest, arguments_come_from_the_build_before_the_files_defaults) {
  const auto result =
      parse_dockerfile({"ARG TAG=1\nARG V=0\nFROM x:$TAG\nARG V\nARG TAG=5\nENV A=$V B=$TAG\n",
                        "Dockerfile",
                        context.string(),
                        {{"TAG", "9"}}});
  ASSERT_TRUE(result) << result.error().text();
  EXPECT_THAT(result->notes.front().text, HasSubstr("FROM x:9"));
  EXPECT_THAT(result->image.env, ElementsAre(Pair("A", "0"), Pair("B", "9")));
}

TEST_F(DockerfileTest, what_has_no_effect_is_noted_or_silent) {
  const auto result = parse(
      "# syntax=docker/dockerfile:1\nFROM x\nLABEL a=b\nEXPOSE 80\nVOLUME /v\nUSER 1000\n"
      "RUN <<EOF\nCOPY nothing here\nEOF\nSTOPSIGNAL SIGINT\n");
  ASSERT_TRUE(result) << result.error().text();
  EXPECT_EQ(result->image.stop_signal, "SIGINT");
  EXPECT_EQ(result->image.user, "1000");
  std::vector<int> lines;
  for (const ImageNote& note : result->notes) lines.push_back(note.line);
  EXPECT_THAT(lines, ElementsAre(2, 5, 6, 7));
}

TEST_F(DockerfileTest, errors_name_file_and_line) {
  struct Row {
    std::string text;
    std::string error;
  };
  const std::vector<Row> rows{
      {"", "Dockerfile:1: file with no instructions: FROM is missing"},
      {"# only a comment\n", "Dockerfile:1: file with no instructions: FROM is missing"},
      {"WORKDIR /\n",
       "Dockerfile:1: no build stage in current context: the first instruction must be FROM"},
      {"FROM x\n\nCOPPY a b\n", "Dockerfile:3: unknown instruction: COPPY"},
      {"FROM x\nCOPY nope.py /\n",
       "Dockerfile:2: COPY failed: \"nope.py\" not found in " + context.string()},
      {"FROM x\nCOPY demo.py\n",
       "Dockerfile:2: COPY requires at least two arguments, but only 1 provided. Destination could "
       "not be determined"},
      {"FROM x\nCOPY *.py /app\n",
       "Dockerfile:2: When using COPY with more than one source file, the destination must be a "
       "directory and end with a /"},
      {"FROM x AS a\nCOPY --from=a /x /y\n",
       "Dockerfile:2: circular dependency detected on stage: a"},
      {"FROM x\nCOPY . " + context.string() + "/data/copy\n",
       "Dockerfile:2: cyclic COPY: the folder " + context.string() +
           " would be copied into itself, as " + context.string() + "/data/copy"},
      {"FROM x y\n", "Dockerfile:1: FROM requires either one or three arguments"},
      {"FROM x\nENV A=\"open\n",
       "Dockerfile:2: unexpected end of statement while looking for matching double-quote"},
      {"FROM x\nENV A=${B\n", "Dockerfile:2: syntax error: missing '}'"},
      {"FROM x\nENV A=1 B\n",
       "Dockerfile:2: Syntax error - can't find = in \"B\". Must be of the form: name=value"},
      {"FROM x\nSHELL /bin/sh\n", "Dockerfile:2: SHELL requires the arguments to be in JSON form"},
  };
  for (const Row& row : rows) EXPECT_EQ(error(row.text), row.error);
}

TEST(DockerfileLines, logical_lines_join_continued_ones_and_know_where_they_began) {
  const auto lines = dockerfile_lines("FROM a\r\n\n  run one \\\n\n# no\n  two\nCMD x \\");
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_EQ(lines[1].number, 3);
  EXPECT_EQ(lines[1].instruction, "RUN");
  EXPECT_EQ(lines[1].arguments, "one two");
  EXPECT_EQ(lines[2].number, 7);
  EXPECT_EQ(lines[2].arguments, "x");
}

TEST(DockerfileLines, the_escape_character_can_be_chosen) {
  const auto lines = dockerfile_lines("# escape=`\nFROM a `\n b\nCMD c\\\n");
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[0].arguments, "a b");
  EXPECT_EQ(lines[1].arguments, "c\\");
}

TEST(Image, its_path_is_its_own_and_has_a_default) {
  EXPECT_THAT(image_environment(Image{}), ElementsAre(Pair("PATH", std::string(default_path))));
  Image with_python;
  with_python.python = "/venv";
  EXPECT_THAT(image_environment(with_python),
              ElementsAre(Pair("PATH", "/venv/bin:" + std::string(default_path)),
                          Pair("VIRTUAL_ENV", "/venv")));
}

}  // namespace
}  // namespace ddptwin::dockerfile_test
