#include "objects/cow.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "objects/codec.hpp"
#include "objects/core_v1.hpp"
#include "objects/uid_table.hpp"

namespace ddptwin::cow_test {
namespace {

TEST(Cow, a_copy_is_shared_until_it_is_changed) {
  Cow<std::vector<int>> a{1, 2};
  Cow<std::vector<int>> b = a;
  EXPECT_TRUE(a.same_as(b));
  b.edit().push_back(3);
  EXPECT_EQ(a.size(), 2U);
  EXPECT_EQ(b.size(), 3U);
  EXPECT_FALSE(a.same_as(b));
}

TEST(Cow, who_is_alone_changes_in_place) {
  Cow<std::string> text("a");
  const std::string* before = &*text;
  text.edit() += "b";
  EXPECT_EQ(&*text, before);
  EXPECT_EQ(*text, "ab");
}

TEST(Cow, texts_are_compared_as_texts_are) {
  const Cow<std::string> text("a"), same(std::string("a")), other("b");
  EXPECT_TRUE(text == same);
  EXPECT_FALSE(text == other);
  EXPECT_TRUE(text == "a");
  EXPECT_TRUE(std::string("a") == text);
  EXPECT_TRUE(text != std::string_view("b"));
  // Whether it was ever given a value makes no difference.
  EXPECT_TRUE(Cow<std::string>() == Cow<std::string>(""));
  EXPECT_TRUE(Cow<std::string>() == "");
}

TEST(Rare, is_absent_or_shared_until_it_is_changed) {
  Rare<std::string> a;
  EXPECT_FALSE(a);
  a.edit() = "a";
  Rare<std::string> b = a;
  EXPECT_TRUE(a.same_as(b));
  b.edit() += "b";
  EXPECT_EQ(*a, "a");
  EXPECT_EQ(*b, "ab");
  b.emplace();
  EXPECT_TRUE(b.has_value());
  EXPECT_EQ(*b, "");
  b.reset();
  EXPECT_FALSE(b.has_value());
  EXPECT_TRUE(b.same_as(Rare<std::string>()));
  EXPECT_EQ(*a, "a");
}

// As in a pod's specification: a list of containers with rare parts.
TEST(Rare, in_a_copied_list_belongs_to_the_copy) {
  struct Item {
    Rare<std::string> part{};
  };
  Cow<std::vector<Item>> a{std::vector{Item{std::string("a")}}};
  Cow<std::vector<Item>> b = a;
  b.edit()[0].part.edit() += "b";
  EXPECT_EQ(*a[0].part, "a");
  EXPECT_EQ(*b[0].part, "ab");
}

TEST(Text, a_copy_of_a_long_one_is_the_same_memory) {
  const Text text = "a text that is no short one";
  const Text copy = text;
  EXPECT_EQ(copy.view().data(), text.view().data());
  EXPECT_EQ(copy, text);
}

TEST(Text, is_inside_up_to_fifteen_characters) {
  for (const std::size_t size : {0U, 1U, 7U, 8U, 15U, 16U, 17U, 40U}) {
    const std::string wanted(size, 'x');
    const Text text = wanted;
    EXPECT_EQ(text.str(), wanted);
    EXPECT_EQ(text.size(), size);
    EXPECT_EQ(text.empty(), size == 0);
    const auto* inside = reinterpret_cast<const char*>(&text);
    EXPECT_EQ(text.view().data() == inside, size <= 15);
  }
}

TEST(Text, is_compared_as_texts_are) {
  // Of one length, that end alike: their memory is asked.
  const Text text = "job-12-worker-45", same = std::string("job-12-worker-45"),
             other = "job-13-worker-45", longer = "job-12-worker-450";
  EXPECT_EQ(text, same);
  EXPECT_EQ(text, "job-12-worker-45");
  EXPECT_NE(text, other);
  EXPECT_NE(text, longer);
  EXPECT_NE(text, Text());
  EXPECT_LT(text, other);
  EXPECT_LT(text, longer);
  EXPECT_LT(Text("b"), text);
  EXPECT_EQ(Text(""), Text());
}

TEST(Text, another_takes_its_place) {
  Text text = "a text that is no short one";
  const Text before = text;
  text = "short";
  EXPECT_EQ(before, "a text that is no short one");
  Text moved = std::move(text);
  EXPECT_EQ(moved, "short");
  EXPECT_TRUE(text.empty());  // NOLINT: what was moved from is empty
  moved = before;
  EXPECT_EQ(moved, before);
}

TEST(Text, parts_make_one) {
  EXPECT_EQ(Text::of({"a", ".", "b"}), "a.b");
  EXPECT_EQ(Text::of({"job-12-worker-45", ".", "18abc"}), "job-12-worker-45.18abc");
  EXPECT_EQ("pod/" + Text("a") + "-b", "pod/a-b");
}

TEST(SharedText, a_copy_is_the_same_memory) {
  const SharedText text = "a text that is no short one";
  const SharedText copy = text;
  EXPECT_EQ(text.view().data(), copy.view().data());
  EXPECT_EQ(copy, text);
}

TEST(SharedText, is_compared_as_texts_are) {
  const SharedText text = "abc", same = std::string("abc"), other = "abd";
  EXPECT_EQ(text, same);
  EXPECT_EQ(text, "abc");
  EXPECT_EQ(std::string("abc"), text);
  EXPECT_NE(text, other);
  EXPECT_NE(text, SharedText());
  EXPECT_LT(text, other);
  EXPECT_LT(SharedText(), text);
}

TEST(SharedText, an_empty_text_is_no_memory) {
  EXPECT_TRUE(SharedText().empty());
  EXPECT_TRUE(SharedText("").empty());
  EXPECT_EQ(SharedText(""), SharedText());
  EXPECT_EQ(SharedText().str(), "");
}

TEST(SharedText, another_takes_its_place) {
  SharedText text = "one";
  const SharedText before = text;
  text = "two";
  EXPECT_EQ(before, "one");
  EXPECT_EQ(text.str(), "two");
  EXPECT_EQ(text.size(), 3u);
}

TEST(SharedText, a_table_finds_by_it) {
  UidTable<int> table;
  table["a-1"] = 1;
  EXPECT_EQ(table.at(SharedText("a-1")), 1);
  EXPECT_FALSE(table.contains("a-2"));
}

TEST(SharedText, is_a_string_on_the_wire) {
  ObjectReference reference;
  reference.uid = "u-1";
  const Json json = to_json(reference);
  EXPECT_EQ(json.at("uid").as_string(), "u-1");
  EXPECT_EQ(to_json(ObjectReference()).as_object().count("uid"), 0u);
}

}  // namespace
}  // namespace ddptwin::cow_test
