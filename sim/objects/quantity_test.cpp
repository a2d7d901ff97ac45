#include "objects/quantity.hpp"

#include <gtest/gtest.h>

namespace ddptwin::quantity_test {
namespace {

// Recorded: tests/recordings/api/api-default-quantities.json.
TEST(Quantity, IsStoredInItsCanonicalForm) {
  const struct {
    const char* text;
    const char* canonical;
  } rows[] = {{"1000m", "1"},      {"0.5", "500m"}, {"1024Ki", "1Mi"},
              {"1.5Gi", "1536Mi"}, {"1000M", "1G"}, {"0", "0"},
              {"100m", "100m"},    {"8", "8"},      {"0.1Gi", "107374182400m"}};
  for (const auto& row : rows) {
    const auto quantity = Quantity::parse(row.text);
    ASSERT_TRUE(quantity.has_value()) << row.text;
    EXPECT_EQ(quantity->str(), row.canonical) << row.text;
  }
}

// Found by fuzzing: digits that an exponent takes back below the cap were capped or dropped.
TEST(Quantity, IsExactInExponentsWithinTheLimits) {
  const std::pair<const char*, const char*> rows[] = {
      {"92233720368.1205071233712329E5", "9223372036812050712337124e-9"},
      {"9223372036812050712337124e-9", "9223372036812050712337124e-9"},
      {"99999999999999999999999999999e-20", "1e9"},
      {"1e-10", "1e-9"},
      {"1e99", "9223372036854775807"},
      {"0e99", "0"},
      {"-1E3", "-1e3"},
  };
  for (const auto& [text, canonical] : rows) {
    const auto quantity = Quantity::parse(text);
    ASSERT_TRUE(quantity.has_value()) << text;
    EXPECT_EQ(quantity->str(), canonical) << text;
  }
}

TEST(Quantity, RefusesWhatIsNoAmount) {
  for (const char* text : {"", "x", "1ki", "1e", "--1", "1 Gi"})
    EXPECT_FALSE(Quantity::parse(text).has_value()) << text;
}

TEST(Quantity, RoundsUp) {
  const auto quantity = Quantity::parse("1500m");
  ASSERT_TRUE(quantity.has_value());
  EXPECT_EQ(quantity->value(), 2);
  EXPECT_EQ(quantity->milli_value(), 1500);
}

}  // namespace
}  // namespace ddptwin::quantity_test
