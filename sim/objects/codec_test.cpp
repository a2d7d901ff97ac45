#include "objects/codec.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <boost/json.hpp>

#include "objects/core_v1.hpp"
#include "objects/pytorchjob.hpp"

namespace ddptwin::codec_test {
namespace {

Result<Decoded> read(const char* text) {
  static const KindRegistry kinds;
  return decode_object(kinds, boost::json::parse(text));
}

TEST(Codec, WhatIsReadIsWrittenBack) {
  const char* texts[] = {
      R"({"kind":"Pod","apiVersion":"v1","metadata":{"name":"p","labels":{"a":"b"}},)"
      R"("spec":{"containers":[{"name":"c","image":"i","env":[{"name":"A","value":"1"}],)"
      R"("ports":[{"containerPort":80}],"resources":{"limits":{"cpu":"500m"}}}],)"
      R"("terminationGracePeriodSeconds":0},"status":{"phase":"Running"}})",
      R"({"kind":"Service","apiVersion":"v1","metadata":{"name":"s"},)"
      R"("spec":{"ports":[{"port":80,"targetPort":"http"},{"port":81,"targetPort":8081}]},)"
      R"("status":{"loadBalancer":{}}})",
      R"({"kind":"Secret","apiVersion":"v1","metadata":{"name":"s"},"data":{"k":"aGVsbG8="}})",
      R"({"kind":"PyTorchJob","apiVersion":"kubeflow.org/v1","metadata":{"name":"j"},)"
      R"("spec":{"pytorchReplicaSpecs":{"Worker":{"replicas":2,"template":{"spec":{)"
      R"("containers":[{"name":"pytorch","resources":{"limits":{"cpu":"0.5"}}}]}}}}}})",
  };
  for (const char* text : texts) {
    const auto decoded = read(text);
    ASSERT_TRUE(decoded.has_value()) << decoded.error().text();
    EXPECT_EQ(encode(*decoded->object), boost::json::parse(text));
    EXPECT_TRUE(decoded->notes.unknown_fields.empty());
  }
}

TEST(Codec, UnknownFieldsAreKeptAndNoted) {
  const auto decoded = read(R"({"kind":"Pod","apiVersion":"v1","metadata":{"name":"p"},)"
                            R"("spec":{"containers":[{"name":"c","bar":1}],"foo":{"a":[1]}}})");
  ASSERT_TRUE(decoded.has_value());
  EXPECT_EQ(decoded->notes.unknown_fields,
            (std::vector<std::string>{"spec.containers[0].bar", "spec.foo"}));
  const Json spec = encode(*decoded->object).at("spec");
  EXPECT_EQ(spec.at("foo"), boost::json::parse(R"({"a":[1]})"));
  EXPECT_EQ(spec.at("containers").at(0).at("bar"), 1);
}

TEST(Codec, ManyKeysInAnyOrderAreReadByKey) {
  boost::json::object data;
  for (int i = 999; i >= 0; --i) data[fmt::format("k{:03}", i)] = std::to_string(i);
  const Json json = std::move(data);
  const auto made = from_json<StringMap>(json);
  ASSERT_TRUE(made.has_value());
  ASSERT_EQ(made->size(), 1000U);
  EXPECT_TRUE(std::is_sorted(made->begin(), made->end()));
  EXPECT_EQ(made->at("k007"), "7");
}

TEST(Codec, ARefusalNamesTheFieldAsGoDoes) {
  const struct {
    const char* text;
    const char* message;
    const char* where;
  } rows[] = {
      {R"({"kind":"Pod","apiVersion":"v1","spec":{"containers":"x"}})",
       "json: cannot unmarshal string into Go struct field PodSpec.spec.containers of type "
       "[]v1.Container",
       "spec.containers"},
      {R"({"kind":"Pod","apiVersion":"v1","spec":{"containers":[{"ports":[{"containerPort":"a"}]}]}})",
       "json: cannot unmarshal string into Go struct field "
       "ContainerPort.spec.containers.ports.containerPort of type int32",
       "spec.containers[0].ports[0].containerPort"},
      {R"({"kind":"Pod","apiVersion":"v1","spec":{"terminationGracePeriodSeconds":1.5}})",
       "json: cannot unmarshal number 1.5 into Go struct field "
       "PodSpec.spec.terminationGracePeriodSeconds of type int64",
       "spec.terminationGracePeriodSeconds"},
      {R"({"kind":"Nothing","apiVersion":"v1"})",
       "no matches for kind \"Nothing\" in version \"v1\"", "kind"},
      {R"({"apiVersion":"v1"})", "Object 'Kind' is missing", "kind"},
      {R"({"kind":"Secret","apiVersion":"v1","data":{"k":"a"}})",
       "illegal base64 data at input byte 1", "data.k"},
  };
  for (const auto& row : rows) {
    const auto decoded = read(row.text);
    ASSERT_FALSE(decoded.has_value()) << row.text;
    EXPECT_EQ(decoded.error().message, row.message);
    EXPECT_EQ(decoded.error().where, row.where);
  }
}

TEST(Codec, ACustomTextThatDoesNotFitIsKept) {
  const char* text = R"({"kind":"PyTorchJob","apiVersion":"kubeflow.org/v1","metadata":{},)"
                     R"("spec":{"nprocPerNode":4}})";
  const auto decoded = read(text);
  ASSERT_TRUE(decoded.has_value());
  EXPECT_EQ(encode(*decoded->object).at("spec").at("nprocPerNode"), 4);
}

TEST(Codec, EqualityLooksAtValuesNotAtMemory) {
  const char* text = R"({"kind":"Pod","apiVersion":"v1","metadata":{"name":"p"},)"
                     R"("spec":{"containers":[{"name":"c","resources":{"limits":{"cpu":"1"}}}]}})";
  const auto a = read(text), b = read(text);
  ASSERT_TRUE(a && b);
  EXPECT_TRUE(equal(*a->object, *b->object));
  static_cast<Pod&>(*b->object).spec.edit().containers.edit()[0].image = "i";
  EXPECT_FALSE(equal(*a->object, *b->object));
  const auto differences = diff(*a->object, *b->object);
  ASSERT_EQ(differences.size(), 1u);
  EXPECT_EQ(differences[0].path, "spec.containers[0].image");
}

TEST(Codec, StatusesThatShareTheirPartsAreSurelyEqual) {
  PodStatus one;
  one.conditions.edit().emplace_back().type_ = "Ready";
  PodStatus other = one;
  EXPECT_TRUE(one.same_as(other));
  other.conditions = std::vector(*one.conditions);
  EXPECT_FALSE(one.same_as(other));
  EXPECT_TRUE(equal(one, other));
  other = one;
  other.phase = "Running";
  EXPECT_FALSE(one.same_as(other));
  EXPECT_FALSE(equal(one, other));
}

}  // namespace
}  // namespace ddptwin::codec_test
