// What is read is what was written: objects of every kind, unknown fields, quantities.
#include <boost/json.hpp>

#include "core/time.hpp"
#include "generators.hpp"
#include "objects/codec.hpp"
#include "objects/kinds.hpp"
#include "property.hpp"

namespace ddptwin::property::codec_properties_test {
namespace {

const KindRegistry& kinds() {
  static const KindRegistry registry;
  return registry;
}

TEST(CodecProperties, EveryObjectSurvivesTheWire) {
  holds([](const AnyObject& any) {
    const Json written = encode(*any.object);
    const auto read = decode_object(kinds(), written);
    RC_ASSERT(read.has_value());
    RC_ASSERT(encode(*read->object) == written);
    // The text too, as files and HTTP carry it.
    RC_ASSERT(boost::json::parse(to_text(*any.object)) == written);
  });
}

TEST(CodecProperties, WhatWasReadEqualsWhatIsReadAgain) {
  holds([](const AnyObject& any) {
    const auto first = decode_object(kinds(), encode(*any.object));
    RC_ASSERT(first.has_value());
    const auto second = decode_object(kinds(), encode(*first->object));
    RC_ASSERT(second.has_value());
    RC_ASSERT(equal(*first->object, *second->object));
    RC_ASSERT(diff(*first->object, *second->object).empty());
  });
}

TEST(CodecProperties, UnknownFieldsAreKeptAndNotedAtEveryLevel) {
  holds([](const AnyObject& any) {
    const Json written = encode(*any.object);
    const auto read = decode_object(kinds(), written);
    RC_ASSERT(read.has_value());
    const auto& noted = read->notes.unknown_fields;
    RC_ASSERT(static_cast<int>(noted.size()) == any.unknown);
    for (const std::string& path : noted) RC_ASSERT(path.ends_with("xNobodyKnows"));
    // Kept where they stood: nothing else is in the text twice.
    RC_ASSERT(encode(*read->object) == written);
  });
}

TEST(CodecProperties, ChangingOneFieldIsSeenByEqualAndDiff) {
  holds([](const AnyObject& any) {
    const std::shared_ptr<Object> changed = any.object->clone();
    changed->metadata.name = changed->metadata.name + "x";
    RC_ASSERT(equal(*any.object, *any.object->clone()));
    RC_ASSERT(!equal(*any.object, *changed));
    const auto differences = diff(*any.object, *changed);
    RC_ASSERT(differences.size() == 1u);
    RC_ASSERT(differences.front().path == "metadata.name");
  });
}

TEST(QuantityProperties, CanonicalTextIsTheSameAmountAndAFixedPoint) {
  holds([] {
    const std::string text = *quantity_text().as("text");
    const auto quantity = Quantity::parse(text);
    RC_ASSERT(quantity.has_value());
    const std::string canonical = quantity->str();
    const auto again = Quantity::parse(canonical);
    RC_ASSERT(again.has_value());
    RC_ASSERT(*again == *quantity);
    RC_ASSERT(again->str() == canonical);
  });
}

TEST(QuantityProperties, OrderAndSumsAreThoseOfTheAmounts) {
  holds([] {
    const auto a = *Quantity::parse(*quantity_text().as("a"));
    const auto b = *Quantity::parse(*quantity_text().as("b"));
    Quantity sum = a;
    sum += b;
    RC_ASSERT(sum.nanos() == a.nanos() + b.nanos());
    RC_ASSERT((a < b) == (b > a));
    RC_ASSERT((sum > a) == (b > Quantity()));
    sum -= b;
    RC_ASSERT(sum == a);
    // Rounding up never lies below the amount, and by less than one.
    RC_ASSERT(Quantity::of(a.value()) >= a);
    RC_ASSERT(Quantity::of(a.value() - 1) < a);
  });
}

// Go's time.Duration: hours and minutes where there are any, and always seconds.
TEST(CodecProperties, DurationsReadAsGoWritesThem) {
  holds([] {
    const auto any = [](std::int64_t end) {
      return gen::resize(rc::kNominalSize, gen::inRange<std::int64_t>(0, end));
    };
    const std::int64_t all =
        *gen::oneOf(any(100), gen::map(any(100), [](auto n) { return 60 * n; }),
                    gen::map(any(100), [](auto n) { return 3600 * n; }), any(400'000))
             .as("seconds");
    std::string text = std::to_string(all % 60) + "s";
    if (all >= 60) text.insert(0, std::to_string(all / 60 % 60) + "m");
    if (all >= 3600) text.insert(0, std::to_string(all / 3600) + "h");
    RC_ASSERT(format_go_duration(std::chrono::seconds(all)) == text);
    const Duration odd =
        std::chrono::seconds(all) + std::chrono::milliseconds(*any(1000).as("and milliseconds"));
    RC_ASSERT(parse_go_duration(format_go_duration(odd)) == odd);
  });
}

}  // namespace
}  // namespace ddptwin::property::codec_properties_test
