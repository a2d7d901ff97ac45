// How a property is run: RapidCheck inside a GoogleTest, repeatable unless RC_PARAMS says
// otherwise.
#pragma once

#include <gtest/gtest.h>

#include <functional>

#include "gen.hpp"

namespace ddptwin::property {

// What RC_PARAMS says, over our own defaults: a fixed seed, so that the gate is repeatable.
// `cost` is how many cheap cases one case of this property is worth: 100 / cost cases are run by
// default, a third of them with AddressSanitizer, and as many times more as
// RC_PARAMS="max_success=..." asks for.
rc::detail::TestParams params(int cost);

// Fails the running GoogleTest with RapidCheck's shrunk counterexample.
void check(const std::function<void()>& property, int cost);

// `property` draws what it asks for, or takes what is arbitrary as arguments.
template <class Testable>
void holds(const Testable& property, int cost = 1) {
  check([&] { rc::gen::detail::execWithArguments(property, rc::detail::ArgTypes<Testable>()); },
        cost);
}

}  // namespace ddptwin::property
