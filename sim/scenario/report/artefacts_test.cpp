#include "scenario/report/artefacts.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "core/virtual_loop.hpp"
#include "objects/yaml.hpp"
#include "scenario/language/narrator.hpp"
#include "scenario/report/object_yaml.hpp"
#include "scenario/words/names.hpp"

namespace ddptwin::scenario::artefacts_test {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::Not;

template <class Kind>
std::shared_ptr<Kind> object(const char* name, const char* version = "1") {
  auto made = std::make_shared<Kind>();
  made->metadata.name = name;
  made->metadata.namespace_ = "default";
  made->metadata.resourceVersion = version;
  return made;
}

std::shared_ptr<Secret> secret(const char* password, const char* version = "1") {
  const auto decoded = decode_object(
      KindRegistry(), boost::json::object{{"apiVersion", "v1"},
                                          {"kind", "Secret"},
                                          {"metadata", {{"name", "s"}, {"namespace", "default"}}},
                                          {"data", {{"user", "bWU="}, {"pass", password}}}});
  const auto made = std::static_pointer_cast<Secret>(decoded->object);
  made->metadata.resourceVersion = version;
  return made;
}

class ArtefactsTest : public testing::Test {
 protected:
  ArtefactsTest() { fs::remove_all(root_); }
  ~ArtefactsTest() override { fs::remove_all(root_); }

  void open(ArtefactOptions options) {
    options.folder = *OutFolder::open(root_.string(), {""});
    artefacts_ = *Artefacts::open(options);
    trace_.add_sink([this](const Record& record) { artefacts_->on_record(record); });
  }
  std::string read(const std::string& file) const {
    std::ifstream stream(root_ / file);
    std::ostringstream text;
    text << stream.rdbuf();
    return text.str();
  }
  void write(ObjectPtr before, ObjectPtr after) {
    Record record;
    record.kind = before == nullptr  ? RecordKind::object_added
                  : after == nullptr ? RecordKind::object_deleted
                                     : RecordKind::object_modified;
    record.actor = "user";
    record.before = std::move(before);
    record.after = std::move(after);
    trace_.write(std::move(record));
  }
  void print(const std::string& line) {
    Record record;
    record.kind = RecordKind::log;
    record.subject = "default/p/c";
    record.text = line;
    trace_.write(std::move(record));
  }

  VirtualLoop loop_{Random(1), Time()};
  Trace trace_{loop_};
  fs::path root_ = fs::path(testing::TempDir()) / ("artefacts" + std::to_string(::getpid()));
  std::unique_ptr<Artefacts> artefacts_{};
};

TEST_F(ArtefactsTest, lines_are_there_when_they_come) {
  open({});
  print("one");
  EXPECT_EQ(read("logs/default_p_c.log"), "one\n");
  print("two");
  EXPECT_EQ(read("logs/default_p_c.log"), "one\ntwo\n");
  EXPECT_THAT(read("trace.jsonl"), HasSubstr(R"("subject":"pod/p/c","text":"two"})"));
}

TEST_F(ArtefactsTest, in_virtual_time_most_lines_are_there_before_the_end) {
  ArtefactOptions options;
  options.at_once = false;
  open(options);
  constexpr int lines = 10000;
  for (int i = 0; i < lines; ++i) print("line");
  const std::string text = read("logs/default_p_c.log");
  EXPECT_GT(std::count(text.begin(), text.end(), '\n'), lines / 2);
  EXPECT_TRUE(artefacts_->finish({}));
  const std::string all = read("logs/default_p_c.log");
  EXPECT_EQ(std::count(all.begin(), all.end(), '\n'), lines);
}

TEST_F(ArtefactsTest, objects_are_kept_as_they_were_last_also_those_that_are_gone) {
  open({});
  write(nullptr, object<Pod>("p", "1"));
  write(object<Pod>("p", "1"), object<Pod>("p", "2"));
  const auto node = std::make_shared<Node>();
  node->metadata.name = "node-0";
  write(nullptr, node);
  write(nullptr, object<Pod>("q"));
  write(object<Pod>("q"), nullptr);
  EXPECT_TRUE(artefacts_->finish({}));
  EXPECT_THAT(read("objects/pod/default/p.yaml"),
              testing::StartsWith("apiVersion: v1\nkind: Pod\n"));
  EXPECT_THAT(read("objects/pod/default/p.yaml"), HasSubstr("resourceVersion: \"2\"\n"));
  EXPECT_THAT(read("objects/pod/default/q.yaml"),
              testing::StartsWith("# pod/q is gone\n# 1970-01-01T00:00:00.000000Z, record 5: taken "
                                  "away by user\napiVersion: v1\n"));
  EXPECT_TRUE(fs::exists(root_ / "objects/node/node-0.yaml"));
  EXPECT_FALSE(fs::exists(root_ / "history"));
  EXPECT_THAT(artefacts_->text(), HasSubstr("/objects/, "));
}

TEST_F(ArtefactsTest, each_version_is_a_document_of_the_history) {
  ArtefactOptions options;
  options.history = true;
  open(options);
  write(nullptr, object<Pod>("p", "1"));
  write(object<Pod>("p", "1"), object<Pod>("p", "2"));
  write(object<Pod>("p", "2"), nullptr);
  const std::string text = read("history/pod/default/p.yaml");
  EXPECT_THAT(text, testing::StartsWith("---\n# 1970-01-01T00:00:00.000000Z, record 1: made by "
                                        "user\napiVersion: v1\n"));
  EXPECT_THAT(text, HasSubstr("record 2: changed by user\n"));
  EXPECT_THAT(text, testing::EndsWith("record 3: gone, taken away by user\n"));
  const auto documents = parse_yaml(text, "history");
  ASSERT_TRUE(documents) << documents.error().text();
  ASSERT_EQ(documents->size(), 2U);
  EXPECT_EQ((*documents)[1].value.at_pointer("/metadata/resourceVersion"), "2");
}

constexpr const char* hunter = "aHVudGVyMg==";   // hunter2
constexpr const char* another = "c2VjcmV0MQ==";  // secret1

TEST_F(ArtefactsTest, secrets_are_masked_and_what_is_equal_is_seen) {
  ArtefactOptions options;
  options.history = true;
  open(options);
  write(nullptr, secret(hunter));
  write(secret(hunter), secret(another, "2"));
  write(secret(another, "2"), secret(hunter, "3"));
  EXPECT_TRUE(artefacts_->finish({}));
  for (const char* file :
       {"trace.jsonl", "objects/secret/default/s.yaml", "history/secret/default/s.yaml"}) {
    EXPECT_THAT(read(file), Not(HasSubstr(hunter))) << file;
    EXPECT_THAT(read(file), Not(HasSubstr(another))) << file;
    EXPECT_THAT(read(file), Not(HasSubstr("hunter2"))) << file;
    EXPECT_THAT(read(file), Not(HasSubstr("bWU="))) << file;
    EXPECT_THAT(read(file), HasSubstr("<masked 1, 7 bytes>")) << file;
  }
  EXPECT_THAT(read("trace.jsonl"),
              HasSubstr(R"("before":"<masked 1, 7 bytes>","after":"<masked 3, 7 bytes>")"));
  EXPECT_THAT(read("trace.jsonl"),
              HasSubstr(R"("before":"<masked 3, 7 bytes>","after":"<masked 1, 7 bytes>")"));
}

TEST_F(ArtefactsTest, secrets_are_shown_to_who_asks) {
  ArtefactOptions options;
  options.show_secrets = true;
  open(options);
  write(nullptr, secret(hunter));
  EXPECT_TRUE(artefacts_->finish({}));
  EXPECT_THAT(read("trace.jsonl"), HasSubstr(hunter));
  EXPECT_THAT(read("objects/secret/default/s.yaml"), HasSubstr(hunter));
}

TEST(SecretMask, what_kubectl_keeps_of_a_secret_and_what_others_take_in_is_masked) {
  SecretMask mask;
  const auto kept = secret(hunter);
  kept->metadata.annotations.edit()["kubectl.kubernetes.io/last-applied-configuration"] =
      "{\"data\": \"aHVudGVyMg==\"}";
  const std::string text = boost::json::serialize(mask.object(*kept));
  EXPECT_THAT(text, Not(HasSubstr(hunter)));
  EXPECT_EQ(mask.within("db://me:hunter2@db", {"hunter2"}), "db://me:<masked 1, 7 bytes>@db");
}

TEST(Describe, a_record_in_words_tells_no_secret) {
  Record record;
  record.kind = RecordKind::object_modified;
  record.before = secret(hunter);
  record.after = secret(another, "2");
  EXPECT_THAT(describe(record), testing::EndsWith(": data.pass <masked>"));
}

TEST(ObjectYaml, is_read_back_as_it_was) {
  const auto value = boost::json::parse(R"({
    "metadata": {"name": "p", "labels": {}, "annotations": {"a.b/c": "yes", "n": "12"}},
    "spec": {"containers": [{"name": "c", "command": ["sh", "-c", "echo 1\n  echo 2\n"]},
                            {"name": "d", "args": []}], "n": 1.5, "lists": [[1, 2], [], [[3]]]},
    "texts": ["a\n\nb", "a\n", "\na", " a\nb", "a\n\n", "a\tb\nc", "\u001b[1m\n", "", "- x", "#"],
    "none": null, "yes": true, "empty": {}})");
  const std::string text = object_yaml(value);
  const auto documents = parse_yaml(text, "text");
  ASSERT_TRUE(documents) << documents.error().text() << "\n" << text;
  EXPECT_EQ((*documents)[0].value, value) << text;
  EXPECT_THAT(text, HasSubstr("  containers:\n  - name: c\n    command:\n    - sh\n    - \"-c\"\n"
                              "    - |\n      echo 1\n        echo 2\n  - name: d\n"));
}

TEST(Names, one_object_has_one_name) {
  EXPECT_EQ(object_name("Pod", "default", "p"), "pod/p");
  EXPECT_EQ(object_name("PyTorchJob", "team", "j"), "pytorchjob/team/j");
  EXPECT_EQ(object_name("Node", "", "node-0"), "node/node-0");
  EXPECT_EQ(pod_name("default/p/c"), "pod/p/c");
  EXPECT_EQ(pod_name("team/p/c"), "pod/team/p/c");
  EXPECT_EQ(pod_name("team/p"), "pod/team/p");
  const auto named = [](RecordKind kind, TextRef subject, std::string_view actor) {
    Record record;
    record.kind = kind;
    record.subject = subject;
    record.actor = actor;
    return subject_name(record);
  };
  EXPECT_EQ(named(RecordKind::rule, "default/mnist", "pytorchjob-controller"), "pytorchjob/mnist");
  EXPECT_EQ(named(RecordKind::rule, "team/s", "endpoint-controller"), "service/team/s");
  EXPECT_EQ(named(RecordKind::schedule, "default/p", "default-scheduler"), "pod/p");
  EXPECT_EQ(named(RecordKind::api_refused, "update pytorchjobs.kubeflow.org team/j", "user"),
            "update pytorchjob/team/j");
  EXPECT_EQ(named(RecordKind::api_refused, "create nodes node-0", "user"), "create node/node-0");
  const auto struck = [](std::string_view port, TextRef subject) {
    Record record;
    record.kind = RecordKind::fault;
    record.subject = subject;
    record.values.emplace_back("port", port);
    return subject_name(record);
  };
  EXPECT_EQ(struck("process", "team/p/c"), "pod/team/p/c");
  EXPECT_EQ(struck("link", "p"), "pod/p");
  EXPECT_EQ(struck("link", "link"), "link");  // all of them
  EXPECT_EQ(struck("kubelet", "node-0"), "node/node-0");
  EXPECT_EQ(struck("dns", "p.default"), "p.default");
  EXPECT_EQ(named(RecordKind::dns, "mnist-master-0.default", "dns"), "mnist-master-0.default");
}

TEST(Narrator, the_text_of_an_event_stays_in_its_row) {
  const auto event = object<Event>("e");
  event->type_ = "Warning";
  event->reason = "Failed";
  event->message = "first\nsecond\x1b[2J";
  event->involvedObject.edit().kind = "Pod";
  event->involvedObject.edit().namespace_ = "team";
  event->involvedObject.edit().name = "p";
  Record record;
  record.kind = RecordKind::object_added;
  record.after = event;
  const auto told = tell(record);
  ASSERT_TRUE(told);
  EXPECT_EQ(told->subject, "pod/team/p");
  EXPECT_EQ(told->text, "warning Failed: first\\nsecond\\x1b[2J");
}

}  // namespace
}  // namespace ddptwin::scenario::artefacts_test
