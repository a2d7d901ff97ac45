#include "api/call.hpp"

#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "api/status.hpp"
#include "objects/core_v1.hpp"

namespace ddptwin::api::call_test {
namespace {

const KindRegistry& kinds() {
  static const KindRegistry registry;
  return registry;
}

Request must(const Call& call) {
  auto request = request_of(kinds(), call);
  EXPECT_TRUE(request) << (request ? "" : request.error().message);
  return request ? *request : Request();
}
Error refusal(const Call& call) {
  const auto request = request_of(kinds(), call);
  EXPECT_FALSE(request) << call.method << " " << call.path;
  return request ? Error() : request.error();
}

const std::string maps = "/api/v1/namespaces/ns/configmaps";

TEST(Call, GetsItsVerbFromMethodAndPath) {
  const std::tuple<std::string, std::string, Verb> rows[] = {
      {"GET", maps, Verb::list},
      {"GET", maps + "/a", Verb::get},
      {"DELETE", maps, Verb::remove_collection},
      {"DELETE", maps + "/a", Verb::remove},
  };
  for (const auto& [method, path, verb] : rows)
    EXPECT_EQ(must({method, path, {}, {}}).verb, verb) << method << " " << path;
  EXPECT_EQ(must({"POST", maps, {}, "{}"}).verb, Verb::create);
  EXPECT_EQ(must({"PUT", maps + "/a", {}, "{}"}).verb, Verb::update);
  EXPECT_EQ(must({"PATCH", maps + "/a", "application/merge-patch+json", "{}"}).verb, Verb::patch);
  EXPECT_EQ(must({"POST", "/api/v1/namespaces/ns/pods/p/binding", {}, "{}"}).verb, Verb::create);
  EXPECT_TRUE(must({"GET", "/api/v1/namespaces/ns/pods/p/status"}).target.subresource == "status");
  EXPECT_TRUE(must({"GET", "/api/v1/namespaces/ns/pods/p/log"}).target.subresource == "unknown");
  for (const auto& [method, path] : {std::pair<std::string, std::string>{"PUT", maps},
                                     {"POST", maps + "/a"},
                                     {"PATCH", maps},
                                     {"FROB", maps},
                                     {"DELETE", "/api/v1/pods"}})
    EXPECT_EQ(refusal({method, path, {}, "{}"}).reason, Reason::method_not_allowed) << method;
}

TEST(Call, ReadsBooleansAsTheServerDoes) {
  for (const char* yes : {"watch=true", "watch=True", "watch=maybe", "watch=", "watch=1"})
    EXPECT_TRUE(must({"GET", maps + "?" + yes, {}, {}}).list->watch) << yes;
  for (const char* no : {"watch=0", "watch=False", "watch=false", ""})
    EXPECT_FALSE(must({"GET", maps + "?" + no, {}, {}}).list->watch) << no;
  EXPECT_FALSE(must({"GET", maps + "/a?watch=1", {}, {}}).list->watch);
}

TEST(Call, ReadsListOptions) {
  const ListOptions list =
      *must({"GET",
             maps + "?limit=2&continue=x&resourceVersion=7&resourceVersionMatch=Exact&"
                    "labelSelector=a%3Db&timeoutSeconds=9&allowWatchBookmarks=true&foo=bar",
             {},
             {}})
           .list;
  EXPECT_EQ(list.limit, 2);
  EXPECT_EQ(list.continue_, "x");
  EXPECT_EQ(list.resource_version, "7");
  EXPECT_EQ(list.resource_version_match, "Exact");
  EXPECT_EQ(list.label_selector, "a=b");
  EXPECT_EQ(list.timeout_seconds, 9);
  EXPECT_TRUE(list.allow_bookmarks);
  EXPECT_EQ(list.send_initial_events, std::nullopt);
  EXPECT_EQ(refusal({"GET", maps + "?limit=zz", {}, {}}).message,
            "strconv.ParseInt: parsing \"zz\": invalid syntax");
}

TEST(Call, RefusesOptionsOfWritesThatAreNone) {
  const std::tuple<std::string, std::string, std::string> rows[] = {
      {"POST", "dryRun=foo",
       "CreateOptions.meta.k8s.io \"\" is invalid: dryRun: Unsupported value: [\"foo\"]: supported "
       "values: \"All\""},
      {"POST", "fieldValidation=Foo",
       "CreateOptions.meta.k8s.io \"\" is invalid: fieldValidation: Unsupported value: \"Foo\": "
       "supported values: \"\", \"Ignore\", \"Strict\", \"Warn\""},
      {"POST", "fieldManager=" + std::string(129, 'm'),
       "CreateOptions.meta.k8s.io \"\" is invalid: fieldManager: Too long: may not be more than "
       "128 "
       "bytes"},
  };
  for (const auto& [method, query, message] : rows)
    EXPECT_EQ(refusal({method, maps + "?" + query, {}, "{}"}).message, message);
  EXPECT_EQ(
      refusal({"PATCH", maps + "/a?force=true", "application/merge-patch+json", "{}"}).message,
      "PatchOptions.meta.k8s.io \"\" is invalid: force: Forbidden: may not be specified for "
      "non-apply patch");
}

TEST(Call, TellsWhyABodyCannotBeRead) {
  const std::string head =
      "the object provided is unrecognized (must be of type ConfigMap): couldn't get version/kind; "
      "json parse error: ";
  const std::pair<std::string, std::string> rows[] = {
      {"", "unexpected end of JSON input (<empty>)"},
      {"{", "unexpected end of JSON input ({)"},
      {"{}x", "invalid character 'x' after top-level value ({}x)"},
      {"ab", "invalid character 'a' looking for beginning of value (6162)"},
      {"[]",
       "json: cannot unmarshal array into Go value of type struct { APIVersion string "
       "\"json:\\\"apiVersion,omitempty\\\"\"; Kind string \"json:\\\"kind,omitempty\\\"\" } "
       "(5b5d)"},
  };
  for (const auto& [body, why] : rows)
    EXPECT_EQ(refusal({"POST", maps, {}, body}).message, head + why);
  EXPECT_EQ(refusal({"PATCH", maps + "/a", "application/json-patch+json", "{"}).message,
            "error decoding patch: unexpected end of JSON input");
  EXPECT_EQ(refusal({"PATCH", maps + "/a", "application/merge-patch+json", "5"}).message,
            "error decoding patch: json: cannot unmarshal number into Go value of type "
            "map[string]interface {}");
}

TEST(Call, TakesTheMediaTypesOfTheServer) {
  EXPECT_EQ(must({"POST", maps, "application/json; charset=utf-8", "{}"}).write->body_bytes, 2U);
  const Request yaml = must({"POST", maps, "application/yaml", "data: {a: b}\n"});
  EXPECT_EQ(yaml.body.get()->at("data").at("a"), "b");
  EXPECT_EQ(refusal({"POST", maps, "text/plain", "{}"}).reason, Reason::unsupported_media_type);
  EXPECT_EQ(refusal({"PATCH", maps + "/a", "application/json", "{}"}).message,
            "415: Unsupported Media Type");
  EXPECT_EQ(must({"PATCH", maps + "/a?fieldManager=m", "application/apply-patch+yaml", "a: b"})
                .patch_type,
            PatchType::apply);
}

TEST(Call, ABodyHasALimitAndItsDoubledFieldsAreKnown) {
  const Error large =
      refusal({"POST", maps, {}, "{\"a\":\"" + std::string(3 * 1024 * 1024, 'x') + "\"}"});
  EXPECT_EQ(large.message, "Request entity too large: limit is 3145728");
  EXPECT_EQ(code_of(large), 413);
  EXPECT_EQ(must({"POST", maps, {}, R"({"data":{"a":"1","a":"2"}})"}).write->doubled_fields,
            std::vector<std::string>{"data.a"});
}

TEST(Call, IsAnsweredWithAListOfItsKind) {
  auto map = std::make_shared<ConfigMap>();
  map->metadata.name = "a";
  Response response;
  response.items = {map};
  response.resource_version = "7";
  response.continue_ = "next";
  response.remaining = 3;
  const Json body = body_of(must({"GET", maps, {}, {}}), response);
  EXPECT_EQ(body.at("kind"), "ConfigMapList");
  EXPECT_EQ(
      body.at("metadata"),
      boost::json::parse(R"({"resourceVersion":"7","continue":"next","remainingItemCount":3})"));
  EXPECT_FALSE(body.at("items").at(0).as_object().contains("kind"));
}

TEST(Call, NamesWhoWrites) {
  const std::string map = "/api/v1/namespaces/ns/configmaps/a";
  const auto manager = [](Call call) { return must(call).write->field_manager; };
  EXPECT_EQ(manager({"PATCH", map + "?fieldManager=m", "application/merge-patch+json", "{}",
                     "kubectl/v1"}),
            "m");
  EXPECT_EQ(manager({"PATCH", map, "application/merge-patch+json", "{}", "kubectl/v1.36 (linux)"}),
            "kubectl");
  EXPECT_EQ(manager({"PATCH", map, "application/merge-patch+json", "{}"}), "");
}

TEST(Call, SaysWhereYamlIsBroken) {
  const auto answer =
      request_of(kinds(), {"PATCH", "/api/v1/namespaces/ns/configmaps/a?fieldManager=m",
                           "application/apply-patch+yaml", "a: ["});
  ASSERT_FALSE(answer.has_value());
  EXPECT_EQ(
      answer.error().message,
      "error decoding YAML: error converting YAML to JSON: yaml: line 1: did not find expected "
      "node content");
}

}  // namespace
}  // namespace ddptwin::api::call_test
