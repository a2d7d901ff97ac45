#include "scenario/judge/outside_names.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ddptwin::scenario::outside_names_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::StartsWith;

class Asked : public ::testing::Test {
 protected:
  Asked() {
    scenario_.outside_names["known.example.org"] = {"192.0.2.7"};
    auto space = std::make_shared<Namespace>();
    space->metadata.name = "ml";
    write(space);
    auto pod = std::make_shared<Pod>();
    pod->metadata.namespace_ = "default";
    pod->metadata.name = "train-0";
    pod->status.rest.edit().podIP = "10.244.0.7";
    write(pod);
  }
  void write(ObjectPtr object) {
    Record record;
    record.kind = RecordKind::object_added;
    record.after = std::move(object);
    observer_.on_record(record);
  }
  void ask(std::string question, std::string answer, std::string client = "10.244.0.7") {
    Record record;
    record.kind = RecordKind::dns;
    record.subject = question;
    record.text = answer;
    record.values = {{"client", client}};
    names_.on_record(record);
  }

  Scenario scenario_{};
  Observer observer_{};
  OutsideNames names_{scenario_, observer_};
};

TEST_F(Asked, for_a_name_outside_is_told_with_who_asked) {
  ask("S3.example.org. A", "NXDOMAIN");
  ask("s3.example.org. AAAA", "NXDOMAIN");
  ask("s3.example.org. A", "NXDOMAIN", "10.244.0.9");
  EXPECT_THAT(names_.notes(),
              ElementsAre(StartsWith("10.244.0.9, pod/train-0 asked for s3.example.org, and got "
                                     "NXDOMAIN: the twin has no names outside the cluster")));
}

TEST_F(Asked, for_names_of_the_cluster_or_such_as_are_there_is_not_told) {
  for (const char* question : {"s3.example.org.default.svc.cluster.local. A", "train-master-0. A",
                               "train-master-0.default. A", "web.ml. A", "web.ml.svc. A",
                               "known.example.org. A", "7.0.244.10.in-addr.arpa. PTR"})
    ask(question, "NXDOMAIN");
  for (const char* answer : {"192.0.2.7", "NODATA", "SERVFAIL", "lost"})
    ask("s3.example.org. A", answer);
  EXPECT_THAT(names_.notes(), IsEmpty());
}

TEST_F(Asked, by_many_a_few_are_named) {
  for (const char* client : {"10.244.0.1", "10.244.0.2", "10.244.0.3", "10.244.0.4", "10.244.0.5"})
    ask("s3.example.org. A", "NXDOMAIN", client);
  EXPECT_THAT(names_.notes(),
              ElementsAre(StartsWith("10.244.0.1, 10.244.0.2, 10.244.0.3, 2 more asked for")));
}

}  // namespace
}  // namespace ddptwin::scenario::outside_names_test
