#include <gtest/gtest.h>

#include "api/shared_informers.hpp"
#include "core/random.hpp"
#include "core/virtual_loop.hpp"
#include "objects/core_v1.hpp"

namespace ddptwin::api::informer_test {
namespace {

ObjectPtr pod(const std::string& name, const std::string& uid, const std::string& version) {
  auto object = std::make_shared<Pod>();
  object->metadata.name = name;
  object->metadata.namespace_ = "ns";
  object->metadata.uid = uid;
  object->metadata.resourceVersion = version;
  return object;
}

// A cluster that answers lists with what the test says and keeps the watches' ends.
class FakeClient final : public ApiClient {
 public:
  explicit FakeClient(Loop& loop) : loop_(loop), lane_(loop.new_lane()) {}

  void call(Request&&, Completion done) override {
    ++lists;
    Response response;
    response.items = objects;
    response.resource_version = "10";
    loop_.post(lane_, [response, done = std::move(done), refused = refuse]() mutable {
      if (refused) return done(fail(Reason::service_unavailable, "not now"));
      done(std::move(response));
    });
  }
  std::unique_ptr<Watch> watch(const Target&, const ListOptions& options, WatchSink sink) override {
    from = options.resource_version;
    sink_ = std::move(sink);
    return std::make_unique<Watch>();
  }
  const KindRegistry& kinds() const override { return kinds_; }

  void send(WatchEventType type, ObjectPtr object) {
    WatchEvent event;
    event.type = type;
    event.object = std::move(object);
    sink_(event);
  }

  std::vector<ObjectPtr> objects{};
  std::string from{};
  int lists = 0;
  bool refuse = false;

 private:
  Loop& loop_;
  Lane lane_;
  KindRegistry kinds_{};
  WatchSink sink_{};
};

class InformerTest : public testing::Test {
 protected:
  InformerTest() {
    informer_.add_handler([this](const ObjectPtr& before, const ObjectPtr& after) {
      heard_ += before ? before->metadata.uid : "-";
      heard_ += ">";
      heard_ += after ? after->metadata.uid : "-";
      heard_ += " ";
      for (const auto& [key, object] : informer_.objects()) EXPECT_NE(object, nullptr) << key;
    });
  }

  VirtualLoop loop_{Random(1), Time()};
  FakeClient client_{loop_};
  Informer informer_{loop_, client_, Target{&Pod::info(), {}, {}, {}}};
  std::string heard_;
};

TEST_F(InformerTest, lists_and_then_watches_from_the_list) {
  client_.objects = {pod("a", "A", "1")};
  informer_.start();
  EXPECT_FALSE(informer_.synced());
  loop_.drain();
  EXPECT_TRUE(informer_.synced());
  EXPECT_EQ(client_.from, "10");
  client_.send(WatchEventType::added, pod("b", "B", "11"));
  client_.send(WatchEventType::modified, pod("a", "A", "12"));
  client_.send(WatchEventType::removed, pod("a", "A", "13"));
  EXPECT_EQ(heard_, "->A ->B A>A A>- ");
  EXPECT_EQ(informer_.find("ns", "a"), nullptr);
  EXPECT_EQ(informer_.find("ns/b")->metadata.uid, "B");
}

TEST_F(InformerTest, an_event_of_a_version_already_seen_is_no_news) {
  informer_.start();
  loop_.drain();
  client_.send(WatchEventType::added, pod("a", "A", "11"));
  client_.send(WatchEventType::modified, pod("a", "A", "11"));
  EXPECT_EQ(heard_, "->A ");
}

TEST_F(InformerTest, after_a_gap_it_lists_again_and_tells_what_is_gone) {
  client_.objects = {pod("a", "A", "1"), pod("b", "B", "2")};
  informer_.start();
  loop_.drain();
  heard_.clear();
  client_.objects = {pod("b", "B", "2"), pod("c", "C", "20")};
  client_.send(WatchEventType::error, nullptr);
  loop_.drain();
  EXPECT_EQ(client_.lists, 2);
  EXPECT_EQ(heard_, "A>- ->C ");
}

TEST_F(InformerTest, what_a_list_brings_is_told_as_such) {
  informer_.add_handler([this](const ObjectPtr&, const ObjectPtr&) {
    heard_ += informer_.listing() ? "listed " : "watched ";
  });
  informer_.on_listed([this] { heard_ += "| "; });
  client_.objects = {pod("a", "A", "1"), pod("b", "B", "2")};
  informer_.start();
  loop_.drain();
  client_.send(WatchEventType::added, pod("c", "C", "11"));
  EXPECT_EQ(heard_, "->A listed ->B listed | ->C watched ");
}

TEST_F(InformerTest, one_made_anew_between_two_looks_is_two_changes) {
  client_.objects = {pod("a", "A", "1")};
  informer_.start();
  loop_.drain();
  client_.objects = {pod("a", "A2", "20")};
  client_.send(WatchEventType::error, nullptr);
  loop_.drain();
  EXPECT_EQ(heard_, "->A A>- ->A2 ");
}

TEST_F(InformerTest, a_refused_list_is_asked_again) {
  client_.refuse = true;
  informer_.start();
  loop_.drain();
  EXPECT_FALSE(informer_.synced());
  client_.refuse = false;
  loop_.run_until(loop_.now() + 2s);
  EXPECT_TRUE(informer_.synced());
}

TEST_F(InformerTest, restarted_it_tells_of_every_object_again) {
  client_.objects = {pod("a", "A", "1")};
  informer_.start();
  loop_.drain();
  informer_.restart();
  EXPECT_TRUE(informer_.objects().empty());
  loop_.drain();
  EXPECT_EQ(heard_, "->A ->A ");
}

class ProcessPartTest : public testing::Test {
 protected:
  InformerHandler note(const std::string& who, const ProcessPart& part) {
    return [this, who, &part](const ObjectPtr&, const ObjectPtr& after) {
      heard_ +=
          who + (after ? after->metadata.name : "gone") + (part.is_told_of_old() ? " (old) " : " ");
    };
  }

  VirtualLoop loop_{Random(1), Time()};
  FakeClient client_{loop_};
  SharedInformers informers_{loop_, client_};
  ProcessPart first_{client_, informers_}, second_{client_, informers_};
  std::string heard_;
};

TEST_F(ProcessPartTest, one_that_begins_beside_others_is_told_of_what_they_hold) {
  client_.objects = {pod("a", "A", "1")};
  first_.hear(Pod::info(), note("1:", first_));
  first_.begin();
  loop_.drain();
  EXPECT_EQ(heard_, "1:a ");
  heard_.clear();
  second_.hear(Pod::info(), note("2:", second_));
  EXPECT_EQ(heard_, "");
  second_.begin();
  EXPECT_EQ(heard_, "2:a (old) ");
  EXPECT_EQ(client_.lists, 1);
}

TEST_F(ProcessPartTest, one_that_has_ended_hears_nothing_until_it_begins_again) {
  first_.hear(Pod::info(), note("1:", first_));
  second_.hear(Pod::info(), note("2:", second_));
  first_.begin();
  second_.begin();
  loop_.drain();
  first_.end();
  client_.send(WatchEventType::added, pod("a", "A", "11"));
  EXPECT_EQ(heard_, "2:a ");
  heard_.clear();
  first_.begin();
  EXPECT_EQ(heard_, "1:a (old) ");
}

TEST_F(ProcessPartTest, once_all_have_ended_the_next_lists_anew) {
  first_.hear(Pod::info(), note("1:", first_));
  first_.begin();
  loop_.drain();
  client_.send(WatchEventType::added, pod("a", "A", "11"));
  first_.end();
  heard_.clear();
  first_.begin();
  loop_.drain();
  EXPECT_EQ(heard_, "") << "the list has none";
  EXPECT_EQ(client_.lists, 2);
}

TEST_F(ProcessPartTest, kinds_are_told_of_in_the_order_in_which_they_are_heard_and_once) {
  client_.objects = {pod("a", "A", "1")};
  first_.hear(Node::info(), note("nodes:", first_));
  first_.hear(Pod::info(), note("pods:", first_));
  first_.hear(Pod::info(), note("pods again:", first_));
  second_.begin();
  loop_.drain();
  first_.begin();
  EXPECT_EQ(heard_, "nodes:a (old) pods:a (old) ");
  heard_.clear();
  first_.hear(Node::info(), note("nodes again:", first_));
  EXPECT_EQ(heard_, "");
  second_.hear(Pod::info(), note("late:", second_));
  EXPECT_EQ(heard_, "late:a (old) ");
}

TEST_F(ProcessPartTest, who_ends_while_it_is_told_hears_no_more) {
  client_.objects = {pod("a", "A", "1"), pod("b", "B", "2")};
  second_.hear(Pod::info(), [](const ObjectPtr&, const ObjectPtr&) {});
  second_.begin();
  loop_.drain();
  first_.hear(Pod::info(), [this](const ObjectPtr&, const ObjectPtr& after) {
    heard_ += after->metadata.name;
    first_.end();
  });
  first_.begin();
  EXPECT_EQ(heard_, "a");
  EXPECT_FALSE(first_.running());
}

TEST_F(ProcessPartTest, an_answer_reaches_the_process_that_asked_and_no_later_one) {
  int answers = 0;
  const auto ask = [&] {
    first_.call(get(Pod::info(), "ns", "a"), [&](const Result<Response>&) { ++answers; });
  };
  first_.begin();
  ask();
  loop_.drain();
  EXPECT_EQ(answers, 1);
  ask();
  first_.end();
  first_.begin();
  loop_.drain();
  EXPECT_EQ(answers, 1);
}

}  // namespace
}  // namespace ddptwin::api::informer_test
