// Our own generators against RapidCheck's, which they stand in for: the same values, the same ways
// to shrink them.
#include <string>
#include <vector>

#include "property.hpp"

namespace ddptwin::property::gen_properties_test {
namespace {

struct Plan {
  int number = 7;
  std::string name{};
  std::vector<int> numbers{};
  bool last = false;
  int untouched = 3;
  bool operator==(const Plan&) const = default;
};

void showValue(const Plan& plan, std::ostream& out) {
  out << plan.number << " " << plan.name << " " << rc::toString(plan.numbers) << " " << plan.last
      << " " << plan.untouched;
}

const auto any_number = gen::inRange(0, 50);
const auto any_name = gen::element<std::string>("a", "b", "c");

rc::Gen<Plan> theirs() {
  namespace rc_gen = rc::gen;
  return rc_gen::build<Plan>(
      rc_gen::set(&Plan::number, any_number), rc_gen::set(&Plan::name, any_name),
      rc_gen::set(&Plan::numbers, rc_gen::container<std::vector<int>>(any_number)),
      rc_gen::set(&Plan::last));
}
rc::Gen<Plan> ours() {
  return gen::build<Plan>(gen::set(&Plan::number, any_number), gen::set(&Plan::name, any_name),
                          gen::set(&Plan::numbers, gen::vector_of(any_number)),
                          gen::set(&Plan::last));
}

// Both, and down one path what each offers instead.
template <class T>
void are_alike(const rc::Shrinkable<T>& theirs, const rc::Shrinkable<T>& ours, rc::Random path) {
  RC_ASSERT(theirs.value() == ours.value());
  auto left = theirs.shrinks();
  auto right = ours.shrinks();
  std::vector<std::pair<rc::Shrinkable<T>, rc::Shrinkable<T>>> ways;
  for (;;) {
    auto one = left.next();
    auto other = right.next();
    RC_ASSERT(static_cast<bool>(one) == static_cast<bool>(other));
    if (!one) break;
    RC_ASSERT(one->value() == other->value());
    ways.emplace_back(*one, *other);
  }
  if (ways.empty()) return;
  const auto& [one, other] = ways[path.next() % ways.size()];
  are_alike(one, other, path);
}

rc::Random any_random() { return {*gen::arbitrary<std::uint64_t>().as("seed")}; }

TEST(GenProperties, AStructureIsDrawnAndShrunkAsByRapidCheck) {
  holds([] {
    const rc::Random random = any_random();
    const int size = *gen::inRange(0, 30).as("size");
    are_alike(theirs()(random, size), ours()(random, size), any_random());
  });
}

TEST(GenProperties, AVectorIsDrawnAndShrunkAsByRapidCheck) {
  holds([] {
    using Plans = std::vector<Plan>;
    const rc::Random random = any_random();
    const int size = *gen::inRange(0, 12).as("size");
    are_alike(rc::gen::container<Plans>(theirs())(random, size),
              gen::vector_of(ours())(random, size), any_random());
    const auto count = *gen::inRange<std::size_t>(0, 5).as("count");
    are_alike(rc::gen::container<Plans>(count, theirs())(random, size),
              gen::vector_of(count, ours())(random, size), any_random());
  });
}

}  // namespace
}  // namespace ddptwin::property::gen_properties_test
