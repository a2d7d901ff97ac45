#include "api/faulty_client.hpp"

#include <gtest/gtest.h>

#include "core/virtual_loop.hpp"
#include "objects/core_v1.hpp"

namespace ddptwin::api::faulty_client_test {
namespace {

// Answers each call a moment later, and lets the test send events.
class Answering final : public ApiClient {
 public:
  explicit Answering(Loop& loop) : loop_(loop), lane_(loop.new_lane()) {}

  void call(Request&& request, Completion done) override {
    loop_.post(lane_, [this, request = std::move(request), done = std::move(done)]() mutable {
      carried_out.push_back(std::string(to_string(request.verb)));
      done(Response{});
    });
  }
  std::unique_ptr<Watch> watch(const Target&, const ListOptions&, WatchSink sink) override {
    sink_ = std::move(sink);
    return std::make_unique<Watch>();
  }
  const KindRegistry& kinds() const override { return kinds_; }

  void send(std::string name) {
    auto pod = std::make_shared<Pod>();
    pod->metadata.name = std::move(name);
    WatchEvent event;
    event.object = std::move(pod);
    loop_.post(lane_, [this, event] { sink_(event); });
  }

  std::vector<std::string> carried_out{};

 private:
  Loop& loop_;
  Lane lane_;
  KindRegistry kinds_{};
  WatchSink sink_{};
};

// Says what it was told to say, once.
class Script final : public FaultPort {
 public:
  CallVerdict on_call(const Caller&, const Request&) override { return std::exchange(call, {}); }
  void on_answer(const Caller& caller, const Request&, const Result<Response>& answer) override {
    heard.push_back(caller.instance + (answer ? " ok" : " refused"));
  }
  EventVerdict on_event(const Caller&, const KindInfo&, const WatchEvent& event) override {
    return event.object->metadata.name == victim ? verdict : EventVerdict{};
  }

  CallVerdict call{};
  std::string victim{};
  EventVerdict verdict{};
  std::vector<std::string> heard{};
};

struct Fixture {
  VirtualLoop loop{Random(7), Time()};
  std::shared_ptr<Answering> next = std::make_shared<Answering>(loop);
  Script script{};
  FaultyClient client{loop, next, {"actor", "one"}, script};
  std::string answer{};
  Time answered{};
  std::vector<std::string> events{};
  std::unique_ptr<Watch> stream{};

  void create() {
    auto pod = std::make_shared<Pod>();
    pod->metadata.name = "p";
    client.call(api::create(std::move(pod)), [this](const Result<Response>& result) {
      answer =
          result ? "ok" : std::string(to_string(result.error().reason)) + result.error().message;
      answered = loop.now();
    });
    loop.run_until(loop.now() + 1min);
  }
  void watch() {
    stream = client.watch({.kind = &Pod::info()}, {}, [this](const WatchEvent& event) {
      const auto ms = (loop.now() - Time()) / Duration(1ms);
      events.push_back((event.type == WatchEventType::error
                            ? std::to_string(http_code(event.error->reason))
                            : event.object->metadata.name) +
                       " at " + std::to_string(ms));
    });
  }
};

TEST(FaultyClient, passes_what_nothing_is_said_about) {
  Fixture f;
  f.create();
  EXPECT_EQ(f.answer, "ok");
  EXPECT_EQ(f.answered, Time());
  EXPECT_EQ(f.script.heard, std::vector<std::string>{"one ok"});
}

TEST(FaultyClient, a_refused_call_is_not_carried_out) {
  Fixture f;
  f.script.call.refuse = injected_error(503, "");
  f.create();
  EXPECT_EQ(f.answer, "ServiceUnavailablethe server is currently unable to handle the request");
  EXPECT_TRUE(f.next->carried_out.empty());
  EXPECT_EQ(f.script.heard, std::vector<std::string>{"one refused"});
}

TEST(FaultyClient, a_lost_reply_is_of_a_call_that_happened) {
  Fixture f;
  f.script.call.lose_reply = injected_lost_connection();
  f.create();
  EXPECT_EQ(f.answer, "IOhttp2: client connection lost");
  EXPECT_EQ(f.next->carried_out, std::vector<std::string>{"create"});
  EXPECT_EQ(f.script.heard, std::vector<std::string>{"one ok"});
}

TEST(FaultyClient, delays_add_up_on_both_ways) {
  Fixture f;
  f.script.call.delay = 3s;
  f.script.call.reply_delay = 4s;
  f.create();
  EXPECT_EQ(f.answer, "ok");
  EXPECT_EQ(f.answered, Time() + 7s);
}

TEST(FaultyClient, a_conflict_is_told_in_the_words_of_the_api) {
  auto pod = std::make_shared<Pod>();
  pod->metadata.name = "p";
  const Error error = injected_conflict(api::update(pod));
  EXPECT_EQ(error.message,
            "Operation cannot be fulfilled on pods \"p\": the object has been modified; please "
            "apply your changes to the latest version and try again");
  EXPECT_EQ(http_code(error.reason), 409);
}

TEST(FaultyClient, nothing_overtakes_a_delayed_event) {
  Fixture f;
  f.script.victim = "b";
  f.script.verdict.delay = 2s;
  f.watch();
  for (const char* name : {"a", "b", "c"}) f.next->send(name);
  f.loop.run_until(f.loop.now() + 3s);
  f.next->send("d");
  f.loop.run_until(f.loop.now() + 1s);
  EXPECT_EQ(f.events, (std::vector<std::string>{"a at 0", "b at 2000", "c at 2000", "d at 3000"}));
}

TEST(FaultyClient, a_cut_stream_is_silent_and_then_ends_with_410) {
  Fixture f;
  f.script.victim = "b";
  f.script.verdict.cut = 5s;
  f.watch();
  for (const char* name : {"a", "b", "c"}) f.next->send(name);
  f.loop.run_until(f.loop.now() + 10s);
  EXPECT_EQ(f.events, (std::vector<std::string>{"a at 0", "410 at 5000"}));
}

TEST(FaultyClient, a_cut_takes_what_was_delayed_with_it) {
  Fixture f;
  f.script.victim = "a";
  f.script.verdict.delay = 2s;
  f.watch();
  f.next->send("a");
  f.loop.run_until(f.loop.now() + 1s);
  f.script.victim = "b";
  f.script.verdict = {.delay = {}, .cut = Duration::zero()};
  f.next->send("b");
  f.loop.run_until(f.loop.now() + 5s);
  EXPECT_EQ(f.events, std::vector<std::string>{"410 at 1000"});
}

}  // namespace
}  // namespace ddptwin::api::faulty_client_test
