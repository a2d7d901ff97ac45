// How a property is run: RapidCheck inside a GoogleTest, repeatable unless RC_PARAMS says
// otherwise.
#pragma once

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <utility>

namespace ddptwin::property {

// What RC_PARAMS says, over our own defaults: a fixed seed, so that the gate is repeatable.
// `cost` is how many cheap cases one case of this property is worth: 100 / cost cases are run by
// default, and as many times more as RC_PARAMS="max_success=..." asks for.
rc::detail::TestParams params(int cost);

// Fails the running GoogleTest with RapidCheck's shrunk counterexample.
void check(const rc::detail::Property& property, int cost);

template <class Testable>
void holds(Testable&& testable, int cost = 1) {
  check(rc::detail::toProperty(std::forward<Testable>(testable)), cost);
}

}  // namespace ddptwin::property
