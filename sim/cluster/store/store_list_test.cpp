// Lists page by page and at versions, and the bookmarks of watches (spec/kubernetes.md sections 1.9
// and 1.10; recordings api/api-list-pagination, api/api-list-resource-versions).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "cluster/store/list_options.hpp"
#include "cluster/store/store.hpp"
#include "core/virtual_loop.hpp"
#include "objects/core_v1.hpp"

namespace ddptwin::store_list_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

struct Fixture {
  VirtualLoop loop{Random(1), Time(std::chrono::hours(24 * 365 * 50))};
  Trace trace{loop};
  KindRegistry kinds;
  Store store{loop, Random(7), trace, kinds};

  std::string make(const std::string& name, StringMap labels = {}) {
    auto object = std::make_shared<ConfigMap>();
    object->metadata.name = name;
    object->metadata.namespace_ = "default";
    object->metadata.labels = std::move(labels);
    return store.call(api::create(object), "test")->object->metadata.resourceVersion.str();
  }
  void remove(const std::string& name) {
    const auto object = store.find<ConfigMap>("default", name);
    ASSERT_TRUE(store.call(api::remove(*object), "test"));
  }
  Result<api::Response> list(api::ListOptions options) {
    return store.call(api::list(ConfigMap::info(), "default", std::move(options)), "test");
  }
  api::Response page(api::ListOptions options) {
    auto answer = list(std::move(options));
    EXPECT_TRUE(answer) << (answer ? "" : answer.error().message);
    return answer ? *answer : api::Response();
  }
  Error refusal(api::ListOptions options) {
    const auto answer = list(std::move(options));
    EXPECT_FALSE(answer);
    return answer ? Error() : answer.error();
  }
};

std::vector<std::string> names(const api::Response& page) {
  std::vector<std::string> out;
  for (const ObjectPtr& item : page.items) out.push_back(item->metadata.name.str());
  return out;
}

TEST(StorePages, ShowTheStateOfTheFirstPage) {
  Fixture f;
  for (const char* name : {"pg3", "pg1", "pg10", "pg2", "pg-1"}) f.make(name);
  const auto first = f.page({.limit = 2});
  EXPECT_THAT(names(first), ElementsAre("pg-1", "pg1"));
  EXPECT_EQ(first.remaining, 3);
  f.make("pg15");
  f.remove("pg3");
  const auto second = f.page({.limit = 2, .continue_ = first.continue_});
  EXPECT_THAT(names(second), ElementsAre("pg10", "pg2"));
  EXPECT_EQ(second.resource_version, first.resource_version);
  EXPECT_EQ(second.remaining, 1);
  const auto third = f.page({.limit = 2, .continue_ = second.continue_});
  EXPECT_THAT(names(third), ElementsAre("pg3"));
  EXPECT_THAT(third.continue_, IsEmpty());
  EXPECT_EQ(third.remaining, std::nullopt);
}

TEST(StorePages, ShowADeletedObjectWithTheVersionItHad) {
  Fixture f;
  f.make("a");
  const std::string version = f.make("b");
  const auto first = f.page({.limit = 1});
  f.remove("b");
  const auto rest = f.page({.continue_ = first.continue_});
  ASSERT_THAT(names(rest), ElementsAre("b"));
  EXPECT_EQ(rest.items[0]->metadata.resourceVersion, version);
}

TEST(StorePages, OfASelectionDoNotSayHowMuchIsLeft) {
  Fixture f;
  f.make("a", {{"t", "x"}});
  f.make("b", {{"t", "y"}});
  f.make("c", {{"t", "x"}});
  const auto first = f.page({.label_selector = "t=x", .limit = 1});
  EXPECT_THAT(names(first), ElementsAre("a"));
  EXPECT_EQ(first.remaining, std::nullopt);
  EXPECT_THAT(names(f.page({.label_selector = "t=x", .limit = 1, .continue_ = first.continue_})),
              ElementsAre("c"));
  EXPECT_THAT(f.page({.field_selector = "metadata.name=a", .limit = 1}).continue_, IsEmpty());
}

TEST(StorePages, OfAForgottenStateGoOnWithThePresentOne) {
  Fixture f;
  for (const char* name : {"a", "b", "c"}) f.make(name);
  const auto first = f.page({.limit = 1});
  f.make("bb");
  f.store.compact();
  const Error expired = f.refusal({.limit = 1, .continue_ = first.continue_});
  EXPECT_EQ(expired.reason, Reason::expired);
  ASSERT_NE(expired.details, nullptr);
  EXPECT_THAT(names(f.page({.continue_ = expired.details->continue_})),
              ElementsAre("b", "bb", "c"));
}

TEST(StorePages, RefuseTokensThatAreNone) {
  Fixture f;
  const std::pair<std::string, std::string> rows[] = {
      {"zz",
       "invalid continue token: continue key is not valid: invalid character 'Ï' looking for "
       "beginning of value"},
      {"eyJ2IjoiZm9vIn0",
       "invalid continue token: continue key is not valid: server does not "
       "recognize this encoded version foo"},
      {"!",
       "invalid continue token: continue key is not valid: illegal base64 data at input byte "
       "0"},
      {Continuation{0, "a"}.token(),
       "invalid continue token: incorrect encoded start "
       "resourceVersion (version meta.k8s.io/v1)"},
  };
  for (const auto& [token, message] : rows) {
    const Error error = f.refusal({.continue_ = token});
    EXPECT_EQ(error.reason, Reason::bad_request);
    EXPECT_EQ(error.message, message);
  }
  EXPECT_EQ(f.refusal({.continue_ = Continuation{1, "a"}.token(), .resource_version = "5"}).message,
            "specifying resource version is not allowed when using continue");
}

TEST(StoreVersions, AListShowsTheStateItIsAskedFor) {
  Fixture f;
  const std::string version = f.make("a");
  f.make("b");
  const auto exact = f.page({.resource_version = version, .resource_version_match = "Exact"});
  EXPECT_THAT(names(exact), ElementsAre("a"));
  EXPECT_EQ(exact.resource_version, version);
  EXPECT_THAT(names(f.page({.resource_version = version})), ElementsAre("a", "b"));
  EXPECT_THAT(
      names(f.page({.resource_version = version, .resource_version_match = "NotOlderThan"})),
      ElementsAre("a", "b"));
  // The cache answers whole.
  EXPECT_THAT(names(f.page({.limit = 1, .resource_version = "0"})), ElementsAre("a", "b"));
  f.store.compact();
  EXPECT_EQ(f.refusal({.resource_version = version, .resource_version_match = "Exact"}).reason,
            Reason::expired);
}

TEST(StoreVersions, OfTheFutureTimeOut) {
  Fixture f;
  f.make("a");
  const std::string message = "Timeout: Too large resource version: 99999999, current: " +
                              std::to_string(f.store.revision());
  const Error error = f.refusal({.resource_version = "99999999"});
  EXPECT_EQ(error.message, message);
  EXPECT_EQ(error.details->retry_after_seconds, 1);
  auto get = api::get(ConfigMap::info(), "default", "a");
  get.list.edit().resource_version = "99999999";
  EXPECT_EQ(f.store.call(get, "test").error().message, message);
}

TEST(StoreVersions, ThatAreNoneAreRefused) {
  Fixture f;
  const std::string why =
      "resourceVersion: Invalid value: \"abc\": strconv.ParseUint: parsing \"abc\": invalid syntax";
  EXPECT_EQ(f.refusal({.resource_version = "abc"}).message, "invalid resource version: " + why);
  auto get = api::get(ConfigMap::info(), "default", "a");
  get.list.edit().resource_version = "abc";
  const Error error = f.store.call(get, "test").error();
  EXPECT_EQ(error.message, why);
  EXPECT_EQ(error.code, 500);
}

TEST(StoreVersions, MatchOnlyAsTheOptionsAllow) {
  Fixture f;
  const std::tuple<std::string, std::string, std::string> rows[] = {
      {"", "Exact",
       "Forbidden: resourceVersionMatch is forbidden unless resourceVersion is provided"},
      {"1", "Foo",
       "Unsupported value: \"Foo\": supported values: \"Exact\", \"NotOlderThan\", \"\""},
      {"0", "Exact",
       "Forbidden: resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\""},
  };
  for (const auto& [version, match, why] : rows)
    EXPECT_EQ(f.refusal({.resource_version = version, .resource_version_match = match}).message,
              "ListOptions.meta.k8s.io \"\" is invalid: resourceVersionMatch: " + why);
  EXPECT_EQ(f.refusal({.send_initial_events = true}).message,
            "ListOptions.meta.k8s.io \"\" is invalid: sendInitialEvents: Forbidden: "
            "sendInitialEvents is forbidden for list");
}

// What a watch says: "ADDED a", "BOOKMARK 7 end".
struct Watcher {
  std::vector<std::string> said{};
  std::unique_ptr<api::Watch> watch{};

  Watcher(Fixture& f, api::ListOptions options) {
    watch = f.store.watch({&ConfigMap::info(), "default", {}, {}}, options,
                          [this](const api::WatchEvent& event) { take(event); });
  }
  void take(const api::WatchEvent& event) {
    std::string text(api::to_string(event.type));
    if (event.type == api::WatchEventType::error) text += " " + event.error->message;
    if (event.type == api::WatchEventType::bookmark) {
      text += " " + event.object->metadata.resourceVersion;
      if (event.object->metadata.annotations->contains("k8s.io/initial-events-end")) text += " end";
    } else if (event.object != nullptr) {
      text += " " + event.object->metadata.name;
    }
    said.push_back(std::move(text));
  }
};

TEST(StoreBookmarks, EndTheInitialEventsOfAStreamedList) {
  Fixture f;
  const std::string version = f.make("a");
  Watcher watcher(f, {.resource_version_match = "NotOlderThan",
                      .allow_bookmarks = true,
                      .send_initial_events = true});
  f.make("b");
  f.loop.drain();
  EXPECT_THAT(watcher.said, ElementsAre("ADDED a", "BOOKMARK " + version + " end", "ADDED b"));
}

TEST(StoreBookmarks, ComeEachMinuteToThoseWhoAskForThem) {
  Fixture f;
  const std::string version = f.make("a");
  Watcher asked(f, {.resource_version = version, .allow_bookmarks = true});
  Watcher other(f, {.resource_version = version});
  f.loop.run_until(f.loop.now() + 150s);
  EXPECT_THAT(asked.said, ElementsAre("BOOKMARK " + version, "BOOKMARK " + version));
  EXPECT_THAT(other.said, IsEmpty());
  asked.watch.reset();
  f.loop.run_until(f.loop.now() + 150s);
  EXPECT_EQ(asked.said.size(), 2U);
}

TEST(StoreBookmarks, AWatchIsRefusedOptionsThatDoNotGoTogether) {
  Fixture f;
  Watcher without(f, {.send_initial_events = true});
  Watcher alone(f, {.resource_version = "1", .resource_version_match = "NotOlderThan"});
  f.loop.drain();
  const std::string head = "ERROR ListOptions.meta.k8s.io \"\" is invalid: resourceVersionMatch: ";
  EXPECT_THAT(without.said, ElementsAre(head + "Forbidden: sendInitialEvents requires setting "
                                               "resourceVersionMatch to NotOlderThan"));
  EXPECT_THAT(alone.said, ElementsAre(head + "Forbidden: resourceVersionMatch is forbidden for "
                                             "watch unless sendInitialEvents is provided"));
}

}  // namespace
}  // namespace ddptwin::store_list_test
