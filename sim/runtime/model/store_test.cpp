// The store's operations, and the network below it, between processes of the test's own.
#include "runtime/model/store.hpp"

#include <gtest/gtest.h>

#include <csignal>
#include <functional>

#include "core/virtual_loop.hpp"
#include "runtime/model/kernel.hpp"
#include "runtime/model/mesh.hpp"
#include "runtime/model/training.hpp"

namespace ddptwin::model::store_test {
namespace {

class Idle final : public Program {
 public:
  void start(Process&) override {}
};

// Two pods with one process each.
class Store : public testing::Test {
 protected:
  Store() {
    for (int i = 0; i < 2; ++i) {
      ModelPod& pod = pods_[i];
      pod.lane = loop_.new_lane();
      pod.address = "10.244.0." + std::to_string(i + 2);
      kernel_.network().attach(pod.address);
      containers_[i].pod = &pod;
      containers_[i].image = &image_;
      Kernel::Start start;
      start.argv = {"idle"};
      start.program = std::make_unique<Idle>();
      processes_[i] = kernel_.make(containers_[i], std::move(start));
      kernel_.begin(processes_[i]);
    }
    auto listening = StoreServer::listen(server_process(), 29500);
    server_ = std::move(*listening);
    client_ = std::make_unique<StoreClient>(*kernel_.find(processes_[1]),
                                            StoreAddress{"10.244.0.2", 29500}, 10s);
  }

  Process& server_process() { return *kernel_.find(processes_[0]); }
  void run(Duration time) { loop_.run_until(loop_.now() + time); }
  void connect() {
    client_->connect([this](const Status& status) { connected_ = status.has_value(); });
    run(1s);
    ASSERT_TRUE(connected_);
  }
  std::string told(const Result<std::string>& result) {
    return result ? *result : result.error().text();
  }

  Image image_{};
  VirtualLoop loop_{Random(1), Time()};
  ModelPod pods_[2]{};
  ModelContainer containers_[2]{};
  Kernel kernel_{loop_,
                 Random(1),
                 Model{},
                 {},
                 true,
                 {[](ModelContainer&, const ExitStatus&) {}, [](ModelContainer&) {},
                  [](ProcessId, const ExitStatus&) {}}};
  ProcessId processes_[2]{};
  std::unique_ptr<StoreServer> server_{};
  std::unique_ptr<StoreClient> client_{};
  bool connected_ = false;
};

TEST_F(Store, counts_its_clients) {
  EXPECT_EQ(server_->clients(), 0);
  connect();
  EXPECT_EQ(server_->clients(), 1);
}

TEST_F(Store, refuses_a_port_that_is_taken) {
  const auto second = StoreServer::listen(server_process(), 29500);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().where, "torch.distributed.DistNetworkError");
}

TEST_F(Store, keeps_adds_compares_and_removes) {
  connect();
  std::vector<std::string> answers;
  const auto note = [&](const Result<std::string>& result) { answers.push_back(told(result)); };
  client_->set("a", "1", [](const Status&) {});
  client_->get("a", note);
  client_->add("n", 5,
               [&](const Result<std::int64_t>& sum) { answers.push_back(std::to_string(*sum)); });
  client_->add("n", -2,
               [&](const Result<std::int64_t>& sum) { answers.push_back(std::to_string(*sum)); });
  client_->compare_set("b", "", "new", note);
  client_->compare_set("b", "old", "x", note);
  client_->compare_set("b", "new", "newer", note);
  client_->check({"a", "b"}, [&](const Result<bool>& all) { answers.push_back(*all ? "y" : "n"); });
  client_->remove("a", [](const Status&) {});
  client_->check({"a", "b"}, [&](const Result<bool>& all) { answers.push_back(*all ? "y" : "n"); });
  run(1s);
  EXPECT_EQ(answers, (std::vector<std::string>{"1", "5", "3", "new", "new", "newer", "y", "n"}));
}

TEST_F(Store, a_missing_key_is_waited_for_until_somebody_sets_it) {
  connect();
  std::string got;
  client_->get("late", [&](const Result<std::string>& value) { got = told(value); });
  run(3s);
  EXPECT_EQ(got, "");
  client_->set("late", "here", [](const Status&) {});
  run(10ms);
  EXPECT_EQ(got, "here");
}

TEST_F(Store, a_key_that_never_comes_is_a_timeout) {
  connect();
  std::string error;
  client_->wait({"x", "y"}, [&](const Status& done) { error = done.error().text(); });
  run(11s);
  EXPECT_EQ(error, "torch.distributed.DistStoreError: wait timeout after 10000ms, keys: x, y");
}

TEST_F(Store, the_servers_end_fails_what_waits_and_what_comes_later) {
  connect();
  std::vector<std::string> errors;
  bool lost = false;
  client_->on_lost([&] { lost = true; });
  client_->get("never", [&](const Result<std::string>& value) { errors.push_back(told(value)); });
  run(1s);
  kernel_.signal(processes_[0], SIGKILL);
  server_.reset();
  run(1s);
  EXPECT_TRUE(lost);
  client_->set("a", "b", [&](const Status& done) { errors.push_back(done.error().text()); });
  run(1s);
  EXPECT_EQ(errors,
            (std::vector<std::string>{
                "torch.distributed.DistNetworkError: Failed to recv, got 0 bytes. Connection was "
                "likely closed. Did the remote server shutdown or crash?",
                "torch.distributed.DistNetworkError: Broken pipe"}));
}

TEST_F(Store, a_cut_link_holds_operations_up_until_it_heals) {
  connect();
  kernel_.network().set_link("10.244.0.2", "10.244.0.3", {.drop = true});
  bool done = false;
  client_->set("a", "b", [&](const Status& status) { done = status.has_value(); });
  run(5s);
  EXPECT_FALSE(done);
  kernel_.network().set_link("10.244.0.2", "10.244.0.3", {});
  run(1s);
  EXPECT_TRUE(done);
}

// A machine that loses its power says nothing either: its links are cut first (FM-068).
TEST_F(Store, the_servers_end_behind_a_cut_link_is_heard_of_when_it_heals) {
  connect();
  std::string waiting, later;
  client_->get("never", [&](const auto& value) { waiting = told(value); });
  run(1s);
  kernel_.network().set_link("10.244.0.2", "10.244.0.3", {.drop = true});
  kernel_.signal(processes_[0], SIGKILL);
  server_.reset();
  client_->get("later", [&](const auto& value) { later = told(value); });
  bool over = false;
  client_->set("a", "1", [&](const Status& status) { over = !status; });
  run(8s);
  EXPECT_EQ(waiting, "");
  EXPECT_FALSE(over);
  run(1500ms);  // 10.5 s: its own timeout
  EXPECT_NE(waiting, "");
  EXPECT_EQ(later, "");
  kernel_.network().set_link("10.244.0.2", "10.244.0.3", {});
  run(1ms);
  EXPECT_NE(later, "");
  EXPECT_TRUE(over);
}

TEST_F(Store, a_stopped_server_answers_when_it_goes_on) {
  connect();
  kernel_.signal(processes_[0], SIGSTOP);
  bool done = false;
  client_->set("a", "b", [&](const Status& status) { done = status.has_value(); });
  run(5s);
  EXPECT_FALSE(done);
  kernel_.signal(processes_[0], SIGCONT);
  run(1s);
  EXPECT_TRUE(done);
}

// The cancellation of a wait has no limit of its own.
TEST_F(Store, a_stopped_server_is_waited_for_longer_than_the_timeout) {
  connect();
  kernel_.signal(processes_[0], SIGSTOP);
  bool set = false;
  std::string error;
  client_->set("a", "b", [&](const Status& status) { set = status.has_value(); });
  client_->get("never", [&](const Result<std::string>& value) { error = told(value); });
  run(100s);
  EXPECT_FALSE(set);
  EXPECT_EQ(error, "");
  kernel_.signal(processes_[0], SIGCONT);
  run(1s);
  EXPECT_TRUE(set);
  EXPECT_EQ(error, "torch.distributed.DistStoreError: wait timeout after 10000ms, keys: never");
}

struct Attempt {
  std::string name;
  std::string to;
  std::uint16_t port;
  LinkFault fault;
  Connect outcome;
};

class Attempts : public Store, public testing::WithParamInterface<Attempt> {};
INSTANTIATE_TEST_SUITE_P(
    Network, Attempts,
    testing::Values(Attempt{"accepted", "10.244.0.2", 29500, {}, Connect::accepted},
                    Attempt{"refused", "10.244.0.2", 29501, {}, Connect::refused},
                    Attempt{"itself", "127.0.0.1", 29500, {}, Connect::refused},
                    Attempt{"no_host", "10.244.0.9", 29500, {}, Connect::no_host},
                    Attempt{"unreachable", "192.0.2.1", 29500, {}, Connect::unreachable},
                    Attempt{"dropped", "10.244.0.2", 29500, {.drop = true}, Connect::timed_out},
                    Attempt{"reset", "10.244.0.2", 29500, {.reset = true}, Connect::refused}),
    [](const auto& one) { return one.param.name; });

TEST_P(Attempts, meet_what_is_there) {
  kernel_.network().set_link("10.244.0.2", "10.244.0.3", GetParam().fault);
  std::optional<Connect> outcome;
  kernel_.network().connect("10.244.0.3", GetParam().to, GetParam().port, 7s, pods_[1].lane,
                            [&](Connect met) { outcome = met; });
  run(10s);
  EXPECT_EQ(outcome, GetParam().outcome);
}

TEST_F(Store, a_port_is_free_again_when_its_process_has_ended) {
  EXPECT_EQ(kernel_.network().would_connect("10.244.0.3", "10.244.0.2", 29500), Connect::accepted);
  kernel_.signal(processes_[0], SIGKILL);
  EXPECT_EQ(kernel_.network().would_connect("10.244.0.3", "10.244.0.2", 29500), Connect::refused);
  server_.reset();
}

}  // namespace
}  // namespace ddptwin::model::store_test
