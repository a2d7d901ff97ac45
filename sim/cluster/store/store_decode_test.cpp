// What the definition of PyTorchJob makes of a body, through the store.
#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "cluster/store/store.hpp"
#include "core/virtual_loop.hpp"
#include "objects/codec.hpp"
#include "objects/core_v1.hpp"
#include "objects/pytorchjob.hpp"

namespace ddptwin::store_decode_test {
namespace {

struct Fixture {
  VirtualLoop loop{Random(3), Time(std::chrono::hours(24 * 365 * 50))};
  Trace trace{loop};
  KindRegistry kinds;
  Store store{loop, Random(5), trace, kinds};

  Result<api::Response> call(api::Verb verb, const std::string& body, std::string subresource = {},
                             std::string validation = {}) {
    api::Request request;
    request.verb = verb;
    request.target = {&PyTorchJob::info(), "default",
                      verb == api::Verb::create ? std::string() : std::string("j"),
                      std::move(subresource)};
    request.body = RawJson(boost::json::parse(body));
    request.write.edit().field_validation = std::move(validation);
    return store.call(request, "test");
  }
  Result<api::Response> create(const std::string& spec, std::string validation = {}) {
    return call(api::Verb::create,
                R"({"apiVersion":"kubeflow.org/v1","kind":"PyTorchJob","metadata":{"name":"j"},)"
                R"("spec":)" +
                    spec + "}",
                {}, std::move(validation));
  }
  Json spec() const { return encode(*store.find<PyTorchJob>("default", "j")).at("spec"); }
};

constexpr const char* unchecked =
    ", <nil>: Invalid value: null: some validation rules were not checked because the object was "
    "invalid; correct the existing errors to complete validation]";

// Recorded: pytorchjob/schema-refusals, api/api-cr-pytorchjob-schema.
TEST(Definition, RefusesInTheServersWords) {
  const struct {
    const char* spec;
    std::string message;
  } rows[] = {
      {"{}", std::string("[spec.pytorchReplicaSpecs: Required value") + unchecked},
      {R"({"nprocPerNode":4,"pytorchReplicaSpecs":{}})",
       std::string("[spec.nprocPerNode: Invalid value: \"integer\": spec.nprocPerNode in body must "
                   "be of type string: \"integer\"") +
           unchecked},
      {R"({"pytorchReplicaSpecs":{"Worker":{"replicas":"two"}}})",
       std::string("[spec.pytorchReplicaSpecs.Worker.replicas: Invalid value: \"string\": "
                   "spec.pytorchReplicaSpecs.Worker.replicas in body must be of type integer: "
                   "\"string\", .spec.pytorchReplicaSpecs.Worker.replicas: Invalid value: 0: "
                   ".spec.pytorchReplicaSpecs.Worker.replicas accessor error: two is of the type "
                   "string, expected int64") +
           unchecked},
      {R"({"runPolicy":{"activeDeadlineSeconds":1e30},"pytorchReplicaSpecs":{}})",
       std::string("[spec.runPolicy.activeDeadlineSeconds: Invalid value: \"float64\": "
                   "spec.runPolicy.activeDeadlineSeconds in body must be of type int64: "
                   "\"float64\", <nil>: Invalid value: \"\": Checked value must be of type integer "
                   "with format int64 in spec.runPolicy.activeDeadlineSeconds") +
           unchecked},
      {R"({"pytorchReplicaSpecs":{"Worker":{"replicas":-1}}})",
       ".spec.pytorchReplicaSpecs.Worker.replicas: Invalid value: -1: should be a non-negative "
       "integer"},
      {R"({"pytorchReplicaSpecs":{"Worker":{"template":{"spec":{}}}}})",
       std::string("[spec.pytorchReplicaSpecs.Worker.template.spec.containers: Required value") +
           unchecked},
      {R"({"pytorchReplicaSpecs":{"Worker":{"template":{"spec":{"containers":)"
       R"([{"name":"a"},{"name":"a"}]}}}}})",
       "spec.pytorchReplicaSpecs[Worker].template.spec.containers[1]: Duplicate value: "
       "{\"name\":\"a\"}"},
      {R"({"pytorchReplicaSpecs":[]})",
       std::string("[spec.pytorchReplicaSpecs: Invalid value: \"array\": spec.pytorchReplicaSpecs "
                   "in body must be of type object: \"array\", "
                   ".spec.pytorchReplicaSpecs.Worker.replicas: Invalid value: 0: "
                   ".spec.pytorchReplicaSpecs.Worker accessor error: [] is of the type "
                   "[]interface {}, expected map[string]interface{}") +
           unchecked},
  };
  for (const auto& row : rows) {
    Fixture f;
    const auto answer = f.create(row.spec);
    ASSERT_FALSE(answer.has_value()) << row.spec;
    EXPECT_EQ(answer.error().message, "PyTorchJob.kubeflow.org \"j\" is invalid: " + row.message);
  }
}

TEST(Definition, StrictnessTellsUnknownFields) {
  Fixture f;
  const char* spec = R"({"foo":1,"pytorchReplicaSpecs":{}})";
  const auto refused = f.create(spec, "Strict");
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().message,
            "PyTorchJob in version \"v1\" cannot be handled as a PyTorchJob: strict decoding "
            "error: unknown field \"spec.foo\"");
  const auto warned = f.create(spec);
  ASSERT_TRUE(warned.has_value());
  EXPECT_EQ(warned->warnings, std::vector<std::string>{"unknown field \"spec.foo\""});
  EXPECT_EQ(f.spec(), boost::json::parse(R"({"pytorchReplicaSpecs":{}})"));
}

TEST(Definition, ADefaultNeedsItsParent) {
  Fixture f;
  ASSERT_TRUE(f.create(R"({"pytorchReplicaSpecs":{},"runPolicy":{"backoffLimit":0}})"));
  EXPECT_EQ(f.spec().at("runPolicy"), boost::json::parse(R"({"backoffLimit":0,"suspend":false})"));
  Fixture without;
  ASSERT_TRUE(without.create(R"({"pytorchReplicaSpecs":{}})"));
  EXPECT_EQ(without.spec(), boost::json::parse(R"({"pytorchReplicaSpecs":{}})"));
}

TEST(Definition, TheQueueIsImmutableWhileItExists) {
  Fixture f;
  ASSERT_TRUE(
      f.create(R"({"pytorchReplicaSpecs":{},"runPolicy":{"schedulingPolicy":{"queue":"a"}}})"));
  const auto patch = [&](const char* queue) {
    return f.call(
        api::Verb::patch,
        std::string(R"({"spec":{"runPolicy":{"schedulingPolicy":{"queue":)") + queue + "}}}}");
  };
  const auto refused = patch("\"b\"");
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().message,
            "PyTorchJob.kubeflow.org \"j\" is invalid: spec.runPolicy.schedulingPolicy.queue: "
            "Invalid value: \"b\": spec.runPolicy.schedulingPolicy.queue is immutable");
  EXPECT_TRUE(patch("null").has_value());
  EXPECT_TRUE(patch("\"c\"").has_value());
}

TEST(Definition, AStatusIsJudgedFromItsOwnRoot) {
  Fixture f;
  ASSERT_TRUE(f.create(R"({"pytorchReplicaSpecs":{}})"));
  const auto refused =
      f.call(api::Verb::patch, R"({"status":{"startTime":"yesterday"}})", "status");
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().message,
            std::string("PyTorchJob.kubeflow.org \"j\" is invalid: [status.startTime: Invalid "
                        "value: \"yesterday\": startTime in body must be of type date-time: "
                        "\"yesterday\"") +
                unchecked);
}

TEST(Scale, ReadsAndWritesThePathOfTheDefinition) {
  Fixture f;
  ASSERT_TRUE(f.create(R"({"pytorchReplicaSpecs":{"Worker":{"replicas":2}}})"));
  const auto scaled = f.call(api::Verb::patch, R"({"spec":{"replicas":5}})", "scale");
  ASSERT_TRUE(scaled.has_value());
  EXPECT_EQ(scaled->body.get()->at("spec"), boost::json::parse(R"({"replicas":5})"));
  EXPECT_EQ(f.store.find<PyTorchJob>("default", "j")->metadata.generation, 2);
  const auto refused = f.call(api::Verb::patch, R"({"spec":{"replicas":-1}})", "scale");
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().message,
            "PyTorchJob.kubeflow.org \"j\" is invalid: .spec.pytorchReplicaSpecs.Worker.replicas: "
            "Invalid value: -1: should be a non-negative integer");
}

// Recorded: api/api-cr-wrong-kind-and-patch-types.
TEST(Definition, IsForItsOwnKindAndVersion) {
  const std::pair<std::string, std::string> rows[] = {
      {R"({"apiVersion":"kubeflow.org/v1","kind":"TFJob","metadata":{"name":"b"}})",
       "TFJob.kubeflow.org \"b\" is invalid: kind: Invalid value: \"TFJob\": must be PyTorchJob"},
      {R"({"apiVersion":"kubeflow.org/v2","kind":"PyTorchJob","metadata":{"name":"b"}})",
       "the API version in the data (kubeflow.org/v2) does not match the expected API version "
       "(kubeflow.org/v1)"},
      {R"({"metadata":{"name":"b"}})",
       "the object provided is unrecognized (must be of type PyTorchJob): Object 'Kind' is missing "
       "in '{\"metadata\":{\"name\":\"b\"}}'"},
  };
  for (const auto& [body, message] : rows) {
    Fixture f;
    const auto answer = f.call(api::Verb::create, body);
    ASSERT_FALSE(answer) << body;
    EXPECT_EQ(answer.error().message, message);
  }
}

// Recorded: api/api-decode-errors.
TEST(BuiltInKind, IsToldFromAnother) {
  const std::tuple<std::string, std::string, std::string> rows[] = {
      {"v1", "ConfigMap",
       "ConfigMap in version \"v1\" cannot be handled as a Pod: converting (v1.ConfigMap) to "
       "(core.Pod): unknown conversion"},
      {"v2", "Pod",
       "Pod in version \"v2\" cannot be handled as a Pod: no kind \"Pod\" is registered for "
       "version "
       "\"v2\" in scheme \"pkg/runtime/scheme.go:111\""},
      {"apps/v1", "Pod",
       "Pod in version \"v1\" cannot be handled as a Pod: no kind \"Pod\" is registered for "
       "version "
       "\"apps/v1\" in scheme \"pkg/runtime/scheme.go:111\""},
  };
  for (const auto& [version, kind, message] : rows) {
    Fixture f;
    api::Request request;
    request.verb = api::Verb::create;
    request.target = {&Pod::info(), "default", {}, {}};
    request.body = RawJson(boost::json::object{{"apiVersion", version}, {"kind", kind}});
    const auto answer = f.store.call(request, "test");
    ASSERT_FALSE(answer);
    EXPECT_EQ(answer.error().message, message);
  }
}

TEST(DoubledFields, AreRefusedStrictlyAndWarnedOfOtherwise) {
  Fixture f;
  api::Request request;
  request.verb = api::Verb::create;
  request.target = {&ConfigMap::info(), "default", {}, {}};
  request.body = RawJson(boost::json::parse(R"({"metadata":{"name":"a"},"data":{"a":"2"}})"));
  request.write.edit().doubled_fields = {"data.a"};
  request.write.edit().field_validation = "Strict";
  const auto refused = f.store.call(request, "test");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message,
            "ConfigMap in version \"v1\" cannot be handled as a ConfigMap: strict decoding error: "
            "duplicate field \"data.a\"");
  request.write.edit().field_validation = "";
  const auto warned = f.store.call(request, "test");
  ASSERT_TRUE(warned);
  EXPECT_EQ(warned->warnings, std::vector<std::string>{"duplicate field \"data.a\""});
}

TEST(StoredSize, IsLimitedForWhatCameAsText) {
  Fixture f;
  api::Request request;
  request.verb = api::Verb::create;
  request.target = {&Pod::info(), "default", {}, {}};
  const std::string large(1'600'000, 'x');
  request.body = RawJson(boost::json::parse(
      R"({"metadata":{"name":"p"},"spec":{"containers":[{"name":"c","image":"i","env":)"
      R"([{"name":"A","value":")" +
      large + R"("}]}]}})"));
  request.write.edit().body_bytes = large.size();
  const auto answer = f.store.call(request, "test");
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().message, "etcdserver: request is too large");
}

}  // namespace
}  // namespace ddptwin::store_decode_test
