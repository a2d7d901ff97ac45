#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "api/apply.hpp"
#include "api/call.hpp"
#include "cluster/store/store.hpp"
#include "core/virtual_loop.hpp"
#include "objects/codec.hpp"
#include "objects/core_v1.hpp"

namespace ddptwin::store_managers_test {
namespace {

namespace json = boost::json;

constexpr Time start{std::chrono::hours(24 * 365 * 50)};

struct Fixture {
  VirtualLoop loop{Random(1), start};
  Trace trace{loop};
  KindRegistry kinds{};
  Store store{loop, Random(7), trace, kinds};

  Result<api::Response> map(std::string manager, const char* data, bool force = false) {
    Json body = json::object{{"apiVersion", "v1"},
                             {"kind", "ConfigMap"},
                             {"metadata", {{"name", "x"}, {"namespace", "default"}}}};
    body.as_object()["data"] = json::parse(data);
    return store.call(api::apply(ConfigMap::info(), std::move(body), std::move(manager), force),
                      "test");
  }
  Result<api::Response> text(std::string method, std::string path, std::string body,
                             std::string media = "application/merge-patch+json") {
    if (method != "PATCH") media.clear();
    TRY(const auto request, api::request_of(kinds, {.method = std::move(method),
                                                    .path = "/api/v1/namespaces/default/" + path,
                                                    .media_type = std::move(media),
                                                    .body = std::move(body)}));
    return store.call(request, "test");
  }
  std::shared_ptr<const ConfigMap> x() const { return store.find<ConfigMap>("default", "x"); }
};

std::string refusal(const Result<api::Response>& answer) {
  return answer ? "" : answer.error().message;
}
std::string owners(const Object& object) {
  std::string out;
  for (const ManagedFieldsEntry& entry : *object.metadata.rest->managedFields)
    out += entry.manager + " " + entry.operation +
           (entry.subresource.empty() ? "" : " " + entry.subresource) + " " +
           json::serialize(*entry.fieldsV1.get()) + "\n";
  return out;
}

TEST(StoreManagers, AnApplyMakesWhatIsNotThere) {
  Fixture f;
  const auto made = f.map("m", R"({"a":"1"})");
  ASSERT_TRUE(made.has_value()) << made.error().message;
  EXPECT_EQ(made->code, 201);
  EXPECT_EQ(owners(*f.x()), "m Apply {\"f:data\":{\"f:a\":{}}}\n");
}

TEST(StoreManagers, TheSameAppliedAgainIsNoWrite) {
  Fixture f;
  ASSERT_TRUE(f.map("m", R"({"a":"1"})"));
  const auto before = f.x();
  const std::uint64_t revision = f.store.revision();
  f.loop.run_until(f.loop.now() + std::chrono::seconds(5));
  ASSERT_TRUE(f.map("m", R"({"a":"1"})"));
  EXPECT_EQ(f.x(), before);
  EXPECT_EQ(f.store.revision(), revision);
}

TEST(StoreManagers, OwnershipAloneIsAWrite) {
  Fixture f;
  ASSERT_TRUE(f.map("m", R"({"a":"1"})"));
  const std::uint64_t revision = f.store.revision();
  ASSERT_TRUE(f.map("n", R"({"a":"1"})"));
  EXPECT_EQ(f.store.revision(), revision + 1);
  EXPECT_FALSE(f.x()->metadata.rest->managedFields->at(0).time.has_value());
}

// Nobody noted who wrote what: nobody asked. The history tells when somebody does.
TEST(StoreManagers, EarlierWritesAreWorkedOutFromTheHistory) {
  Fixture f;
  auto made = std::make_shared<ConfigMap>();
  made->metadata.name = "x";
  made->metadata.namespace_ = "default";
  made->data = StringMap{{"a", "1"}, {"b", "1"}};
  ASSERT_TRUE(f.store.call(api::create(made), "user"));
  ASSERT_TRUE(f.store.call(
      api::patch(*f.x(), api::PatchType::merge, json::parse(R"({"data":{"b":"2"}})")), "other"));
  EXPECT_EQ(owners(*f.x()), "");
  EXPECT_EQ(refusal(f.map("m", R"({"a":"9","b":"9"})")),
            "Apply failed with 2 conflicts: conflicts with \"kubectl\" using v1:\n- .data.a\n"
            "conflicts with \"other\" using v1:\n- .data.b");
  ASSERT_TRUE(f.map("m", R"({"a":"1"})"));
  EXPECT_EQ(owners(*f.x()),
            "m Apply {\"f:data\":{\"f:a\":{}}}\n"
            "kubectl Update {\"f:data\":{\".\":{},\"f:a\":{}}}\n"
            "other Update {\"f:data\":{\"f:b\":{}}}\n");
}

TEST(StoreManagers, WhatTheHistoryForgotIsNobodysInParticular) {
  Fixture f;
  auto made = std::make_shared<ConfigMap>();
  made->metadata.name = "x";
  made->metadata.namespace_ = "default";
  made->data = StringMap{{"a", "1"}};
  ASSERT_TRUE(f.store.call(api::create(made), "user"));
  f.store.compact();
  EXPECT_EQ(refusal(f.map("m", R"({"a":"9"})")),
            "Apply failed with 1 conflict: conflict with \"before-first-apply\" using v1: .data.a");
}

TEST(StoreManagers, AWriterOfAnAppliedObjectIsNoted) {
  Fixture f;
  ASSERT_TRUE(f.map("m", R"({"a":"1","b":"1"})"));
  auto changed = std::static_pointer_cast<ConfigMap>(f.x()->clone());
  changed->data.edit()["b"] = "2";
  ASSERT_TRUE(f.store.call(api::update(changed), "controller"));
  EXPECT_EQ(owners(*f.x()),
            "m Apply {\"f:data\":{\"f:a\":{}}}\ncontroller Update {\"f:data\":{\"f:b\":{}}}\n");
}

TEST(StoreManagers, AStatusHasManagersOfItsOwn) {
  Fixture f;
  const auto pod = [](const char* more) {
    return std::string(R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"})") + more + "}";
  };
  const std::string yaml = "application/apply-patch+yaml";
  const auto made = f.text("PATCH", "pods/p?fieldManager=m",
                           pod(R"(,"spec":{"containers":[{"name":"c","image":"i"}]},
                                   "status":{"message":"not mine"})"),
                           yaml);
  ASSERT_TRUE(made.has_value()) << made.error().message;
  ASSERT_TRUE(
      f.text("PATCH", "pods/p/status?fieldManager=k", pod(R"(,"status":{"message":"n"})"), yaml));
  EXPECT_EQ(refusal(f.text("PATCH", "pods/p/status?fieldManager=l",
                           pod(R"(,"status":{"message":"o"})"), yaml)),
            "Apply failed with 1 conflict: conflict with \"k\" with subresource \"status\": "
            ".status.message");
  EXPECT_EQ(refusal(f.text("PATCH", "pods/q/status?fieldManager=l",
                           R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"q"}})", yaml)),
            "pods \"q\" not found");
  const auto stored = f.store.find<Pod>("default", "p");
  EXPECT_EQ(stored->status.rest->message, "n");
  EXPECT_TRUE(owners(*stored).starts_with(
      "k Apply status {\"f:status\":{\"f:message\":{}}}\nm Apply {\"f:spec\":"))
      << owners(*stored);
}

TEST(StoreManagers, AnEmptyListForgetsAllAndNobodyIsNotedAfterIt) {
  Fixture f;
  for (const char* empty : {"[]", "[{}]"}) {
    ASSERT_TRUE(f.map("m", R"({"a":"1"})"));
    ASSERT_TRUE(f.text("PATCH", "configmaps/x?fieldManager=w",
                       std::string(R"({"metadata":{"managedFields":)") + empty + "}}"));
    EXPECT_EQ(owners(*f.x()), "");
    ASSERT_TRUE(f.text("PATCH", "configmaps/x?fieldManager=w", R"({"data":{"a":"2"}})"));
    EXPECT_EQ(owners(*f.x()), "");
    EXPECT_EQ(refusal(f.map("m", R"({"a":"1"})")),
              "Apply failed with 1 conflict: conflict with \"before-first-apply\" using v1: "
              ".data.a");
    ASSERT_TRUE(f.text("PATCH", "configmaps/x", R"({"data":{"a":"1"}})"));
  }
}

TEST(StoreManagers, WhatCameAsTextNamesItsManager) {
  Fixture f;
  ASSERT_TRUE(f.text("POST", "configmaps?fieldManager=me",
                     R"({"metadata":{"name":"x"},"data":{"a":"1"}})"));
  EXPECT_EQ(owners(*f.x()), "me Update {\"f:data\":{\".\":{},\"f:a\":{}}}\n");
  ASSERT_TRUE(f.text("PATCH", "configmaps/x?fieldManager=you", R"({"data":{"b":"1"}})"));
  EXPECT_EQ(owners(*f.x()),
            "me Update {\"f:data\":{\".\":{},\"f:a\":{}}}\nyou Update {\"f:data\":{\"f:b\":{}}}\n");
}

TEST(StoreManagers, ATypedConfigurationSaysOnlyWhatItsAuthorSaid) {
  Fixture f;
  auto pod = std::make_shared<Pod>();
  pod->metadata.name = "p";
  pod->metadata.namespace_ = "default";
  pod->spec.edit().containers = {{.name = "c", .image = "i"}};
  const auto made = f.store.call(api::apply(*pod, "m", true), "test");
  ASSERT_TRUE(made.has_value()) << made.error().message;
  EXPECT_EQ(owners(*made->object),
            "m Apply {\"f:spec\":{\"f:containers\":{\"k:{\\\"name\\\":\\\"c\\\"}\":{\".\":{},"
            "\"f:image\":{},\"f:name\":{}}}}}\n");
}

TEST(StoreManagers, AnApplyMayBeRefusedForItsVersion) {
  Fixture f;
  ASSERT_TRUE(f.map("m", R"({"a":"1"})"));
  EXPECT_EQ(refusal(f.text("PATCH", "configmaps/x?fieldManager=m",
                           R"({"apiVersion":"v1","kind":"ConfigMap",
                               "metadata":{"name":"x","resourceVersion":"1"}})",
                           "application/apply-patch+yaml")),
            "Operation cannot be fulfilled on configmaps \"x\": the object has been modified; "
            "please apply your changes to the latest version and try again");
}

TEST(StoreManagers, ADryRunStoresNothing) {
  Fixture f;
  auto request = api::apply(ConfigMap::info(), json::parse(R"({"apiVersion":"v1","kind":"ConfigMap",
                      "metadata":{"name":"x","namespace":"default"},"data":{"a":"1"}})"),
                            "m");
  request.dry_run = true;
  const auto answer = f.store.call(request, "test");
  ASSERT_TRUE(answer.has_value());
  EXPECT_EQ(owners(*answer->object), "m Apply {\"f:data\":{\"f:a\":{}}}\n");
  EXPECT_EQ(f.x(), nullptr);
}

}  // namespace
}  // namespace ddptwin::store_managers_test
