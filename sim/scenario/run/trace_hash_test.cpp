#include "scenario/run/trace_hash.hpp"

#include <gtest/gtest.h>

#include <boost/json/parse.hpp>

#include "objects/codec.hpp"
#include "objects/core_v1.hpp"

namespace ddptwin::scenario::trace_hash_test {
namespace {

Record sample() {
  auto pod = std::make_shared<Pod>();
  pod->metadata.name = "p";
  pod->metadata.labels.edit()["a"] = "b";
  pod->spec.edit().containers.edit().emplace_back().name = "c";
  Record record;
  record.id = 7;
  record.cause = 3;
  record.time = Time(5s);
  record.kind = RecordKind::object_added;
  record.actor = "user";
  record.subject = "s";
  record.rule = "r";
  record.text = "t";
  record.values = {{"key", "value"}};
  record.after = pod;
  return record;
}

std::uint64_t hash_of_record(const Record& record) {
  TraceHash hash;
  hash.on_record(record);
  return hash.value();
}

std::shared_ptr<Pod> pod_of(Record& record) {
  auto pod = std::static_pointer_cast<Pod>(record.after->clone());
  record.after = pod;
  return pod;
}

// Every part of a record is in the hash.
struct Change {
  const char* name;
  void (*make)(Record&);
};
class TraceHashOf : public testing::TestWithParam<Change> {};
TEST_P(TraceHashOf, another_record_is_another) {
  Record record = sample();
  GetParam().make(record);
  EXPECT_NE(hash_of_record(sample()), hash_of_record(record));
}
INSTANTIATE_TEST_SUITE_P(
    Parts, TraceHashOf,
    testing::Values(
        Change{"id", [](Record& record) { ++record.id; }},
        Change{"cause", [](Record& record) { ++record.cause; }},
        Change{"nanoseconds", [](Record& record) { record.time = record.time + 1ns; }},
        Change{"kind", [](Record& record) { record.kind = RecordKind::object_modified; }},
        Change{"actor", [](Record& record) { record.actor = "kubelet"; }},
        Change{"subject", [](Record& record) { record.subject = "u"; }},
        Change{"rule", [](Record& record) { record.rule = "q"; }},
        Change{"text", [](Record& record) { record.text = "tt"; }},
        Change{"value", [](Record& record) { record.values[0].second = "other"; }},
        Change{"moved_text", [](Record& record) { record.subject = "", record.rule = "sr"; }},
        Change{"name", [](Record& record) { pod_of(record)->metadata.name = "q"; }},
        Change{"label", [](Record& record) { pod_of(record)->metadata.labels.edit()["a"] = "c"; }},
        Change{
            "container",
            [](Record& record) { pod_of(record)->spec.edit().containers.edit()[0].image = "i"; }},
        Change{"phase", [](Record& record) { pod_of(record)->status.phase = "Running"; }},
        Change{"rare_part_without_content",
               [](Record& record) { pod_of(record)->spec.edit().affinity.emplace(); }},
        Change{"optional_part_without_content",
               [](Record& record) {
                 pod_of(record)
                     ->spec.edit()
                     .containers.edit()[0]
                     .startupProbe.emplace()
                     .exec.emplace();
               }},
        Change{"unknown_field",
               [](Record& record) {
                 pod_of(record)->spec.edit().rest.edit().extra =
                     RawJson(boost::json::parse(R"({"x": 1})"));
               }},
        Change{"no_object", [](Record& record) { record.after = nullptr; }}),
    [](const auto& row) { return std::string(row.param.name); });

TEST(TraceHashTest, equal_records_are_equal_wherever_they_lie) {
  const Record first = sample();
  const Record second = sample();
  EXPECT_EQ(hash_of_record(first), hash_of_record(second));
}

TEST(TraceHashTest, order_matters) {
  Record other = sample();
  other.text = "other";
  TraceHash one, two;
  one.on_record(sample());
  one.on_record(other);
  two.on_record(other);
  two.on_record(sample());
  EXPECT_NE(one.value(), two.value());
  EXPECT_EQ(one.records(), 2U);
}

// Fixed numbers: another compiler or machine must find the same.
TEST(TraceHashTest, is_the_same_everywhere) {
  Digest digest;
  EXPECT_EQ(hash_text(digest.value()), "cbf29ce484222325");
  digest.add(std::uint64_t{1});
  digest.add(std::string_view("nine bytes"));
  EXPECT_EQ(hash_text(digest.value()), "93e445fe4f2ffefc");
}

TEST(TraceHashTest, what_json_shows_equal_is_equal) {
  const auto made = sample();
  const auto read = decode_object(KindRegistry(), encode(*made.after));
  ASSERT_TRUE(read);
  EXPECT_EQ(hash_of(*made.after), hash_of(*read->object));
}

}  // namespace
}  // namespace ddptwin::scenario::trace_hash_test
