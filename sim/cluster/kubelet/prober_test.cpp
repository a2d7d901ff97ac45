#include "cluster/kubelet/prober.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <optional>
#include <string>
#include <vector>

#include "core/virtual_loop.hpp"
#include "runtime/script_runtime.hpp"

namespace ddptwin::kubelet::prober_test {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::Pair;

class ProberTest : public testing::Test {
 protected:
  ProberTest() {
    container_.name = "c";
    container_.ports = {ContainerPort{.name = "health", .containerPort = 8080}};
    pod_.metadata.name = "p";
    pod_.metadata.namespace_ = "default";
  }

  ProbeAnswer ask(const Probe& probe, std::vector<PortReply> replies) {
    replies_ = std::move(replies);
    requests_.clear();
    std::optional<Result<ProbeAnswer>> answer;
    prober_.probe({pod_, container_, id_, ip_}, probe,
                  [&answer](Result<ProbeAnswer> got) { answer = std::move(got); });
    loop_.run_until(loop_.now() + 1s);
    EXPECT_TRUE(answer && *answer);
    return **answer;
  }
  static Probe http(const std::string& path = "/health") {
    HttpGetAction action;
    action.path = path;
    action.port.is_text = true;
    action.port.text = "health";
    Probe probe;
    probe.httpGet = action;
    return probe;
  }
  static Probe grpc(const std::string& service = "") {
    Probe probe;
    probe.grpc = GrpcAction{.port = 5000, .service = service};
    return probe;
  }

  VirtualLoop loop_{Random(1), Time(0s), VirtualLoop::Order::fifo};
  ScriptRuntime runtime_{loop_};
  Pod pod_;
  Container container_;
  ContainerId id_ = "container";
  std::string ip_ = "10.244.0.2";
  std::vector<PortReply> replies_;
  std::vector<PortRequest> requests_;
  Lane lane_ = loop_.new_lane();
  Prober prober_{
      loop_, lane_, runtime_, nullptr,
      [this](const PortRequest& request, Duration, UniqueFunction<void(Result<PortReply>)> done) {
        requests_.push_back(request);
        const PortReply reply = replies_.at(requests_.size() - 1);
        loop_.post(lane_, [reply, done = std::move(done)]() mutable { done(reply); });
      }};
};

struct Row {
  PortReply reply;
  bool success;
  std::string output;
};

TEST_F(ProberTest, says_of_http_what_gos_client_says) {
  const std::string get = "Get \"http://10.244.0.2:8080/health\": ";
  const Row rows[] = {
      {{.status = 200}, true, ""},
      {{.status = 399}, true, ""},
      {{.status = 302, .location = "http://elsewhere/"}, true, ""},
      {{.status = 400}, false, "HTTP probe failed with statuscode: 400"},
      {{.status = 503}, false, "HTTP probe failed with statuscode: 503"},
      {{.dial = ECONNREFUSED},
       false,
       get + "dial tcp 10.244.0.2:8080: connect: connection refused"},
      {{.dial = ETIMEDOUT},
       false,
       get + "dial tcp 10.244.0.2:8080: i/o timeout (Client.Timeout exceeded while awaiting "
             "headers)"},
      {{.late = true},
       false,
       get + "context deadline exceeded (Client.Timeout exceeded while awaiting headers)"},
      {{.broken = "EOF"}, false, get + "EOF"},
  };
  for (const Row& row : rows) {
    const ProbeAnswer answer = ask(http(), {row.reply});
    EXPECT_EQ(answer.success, row.success) << row.output;
    EXPECT_EQ(answer.output, row.output);
  }
}

TEST_F(ProberTest, asks_as_the_probe_is_written) {
  Probe probe = http("live?deep=1");
  probe.httpGet->httpHeaders = {{"X-Probe", "yes"}};
  probe.httpGet->scheme = "HTTPS";
  probe.httpGet->host = "10.0.0.9";
  const ProbeAnswer answer = ask(probe, {PortReply{.dial = ECONNREFUSED}});
  EXPECT_EQ(answer.output,
            "Get \"https://10.0.0.9:8080/live?deep=1\": dial tcp 10.0.0.9:8080: connect: "
            "connection refused");
  EXPECT_EQ(requests_.front().protocol, PortProtocol::https);
  EXPECT_THAT(requests_.front().headers, ElementsAre(Pair("X-Probe", "yes")));
}

TEST_F(ProberTest, follows_redirects_within_the_pod) {
  const ProbeAnswer failed =
      ask(http(), {{.status = 301, .location = "/moved"},
                   {.status = 301, .location = "http://10.244.0.2:8080/again"},
                   {.status = 500}});
  EXPECT_EQ(failed.output, "HTTP probe failed with statuscode: 500");
  EXPECT_EQ(requests_.at(1).target, "/moved");
  EXPECT_EQ(requests_.at(2).target, "/again");
  const ProbeAnswer endless =
      ask(http(), std::vector<PortReply>(11, {.status = 301, .location = "/health"}));
  EXPECT_EQ(endless.output, "Get \"http://10.244.0.2:8080/health\": stopped after 10 redirects");
}

TEST_F(ProberTest, says_of_grpc_what_its_client_says) {
  const std::string unconnected =
      "timeout: failed to connect service \"10.244.0.2:5000\" within 1s: context deadline exceeded";
  const Row rows[] = {
      {{.status = 1}, true, "service healthy"},
      {{.status = 0}, false, "service unhealthy (responded with \"UNKNOWN\")"},
      {{.status = 2}, false, "service unhealthy (responded with \"NOT_SERVING\")"},
      {{.dial = ECONNREFUSED}, false, unconnected},
      {{.late = true}, false, unconnected},
      {{.broken = "EOF"}, false, unconnected},
      {{.code = 4}, false, "timeout: health rpc did not complete within 1s"},
      {{.code = 12, .message = "unknown service grpc.health.v1.Health"},
       false,
       "error: this server does not implement the grpc health protocol (grpc.health.v1.Health): "
       "unknown service grpc.health.v1.Health"},
      {{.code = 5, .message = "unknown service"},
       false,
       "error: health rpc probe failed: rpc error: code = NotFound desc = unknown service"},
  };
  for (const Row& row : rows) {
    const ProbeAnswer answer = ask(grpc("train"), {row.reply});
    EXPECT_EQ(answer.success, row.success) << row.output;
    EXPECT_EQ(answer.output, row.output);
    EXPECT_EQ(requests_.front().target, "train");
  }
}

// That there was an answer is enough for a hook, and without one it failed.
TEST_F(ProberTest, a_hook_wants_any_answer) {
  LifecycleHandler handler;
  handler.httpGet = http("/started").httpGet;
  for (const auto& [reply, error] :
       {std::pair{PortReply{.status = 500}, std::string()},
        std::pair{PortReply{.dial = ECONNREFUSED},
                  std::string("HTTP lifecycle hook (/started) for Container \"c\" in Pod "
                              "\"p_default()\" failed - error: Get "
                              "\"http://10.244.0.2:8080/started\": dial tcp 10.244.0.2:8080: "
                              "connect: connection refused")}}) {
    replies_ = {reply};
    requests_.clear();
    std::optional<Result<void>> over;
    prober_.hook({pod_, container_, id_, ip_}, handler,
                 [&over](Result<void> got) { over = std::move(got); });
    loop_.run_until(loop_.now() + 1s);
    ASSERT_TRUE(over);
    EXPECT_EQ(*over ? std::string() : over->error().message, error);
  }
}

}  // namespace
}  // namespace ddptwin::kubelet::prober_test
