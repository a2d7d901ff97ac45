#include "property.hpp"

#include <stdlib.h>

#include <algorithm>
#include <sstream>

namespace ddptwin::property {
namespace {

constexpr const char* default_params = "seed=20260101";

// A case takes three times as long there, and the plain build runs them all.
#ifdef DDPTWIN_ADDRESS_SANITIZED
constexpr int build_cost = 3;
#else
constexpr int build_cost = 1;
#endif

const rc::detail::Configuration& configuration() {
  // RapidCheck reads the variable once, at the first look; what the user set stays.
  static const bool defaulted = [] { return ::setenv("RC_PARAMS", default_params, 0) == 0; }();
  static_cast<void>(defaulted);
  return rc::detail::configuration();
}

}  // namespace

rc::detail::TestParams params(int cost) {
  rc::detail::TestParams params = configuration().testParams;
  params.maxSuccess = std::max(1, params.maxSuccess / (cost * build_cost));
  return params;
}

void check(const std::function<void()>& property, int cost) {
  const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
  rc::detail::TestMetadata metadata;
  metadata.id = std::string(test->test_suite_name()) + "/" + test->name();
  metadata.description = test->name();
  const auto result =
      rc::detail::checkProperty(rc::detail::toProperty(property), metadata, params(cost));
  if (result.is<rc::detail::SuccessResult>()) return;
  std::ostringstream text;
  rc::detail::printResultMessage(result, text);
  FAIL() << text.str() << "\nseed " << params(cost).seed
         << "; to repeat: property_tests/README.md, \"A failure\"";
}

}  // namespace ddptwin::property
