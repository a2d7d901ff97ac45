#include "gen.hpp"

namespace ddptwin::property::gen {
namespace {

using Shrinkables = std::vector<rc::Shrinkable<Erased>>;

std::vector<Erased> values_of(const Shrinkables& shrinkables) {
  std::vector<Erased> values;
  values.reserve(shrinkables.size());
  for (const auto& one : shrinkables) values.push_back(one.value());
  return values;
}

}  // namespace

rc::Gen<std::vector<Erased>> all_of(std::vector<rc::Gen<Erased>> values) {
  return [values = std::move(values)](const rc::Random& random, int size) {
    rc::Random rest(random);
    // The first is that of the object itself, which needs no chance.
    static_cast<void>(rest.split());
    Shrinkables drawn;
    drawn.reserve(values.size());
    for (const auto& one : values) drawn.push_back(one(rest.split(), size));
    return rc::shrinkable::map(
        rc::shrinkable::shrinkRecur(std::move(drawn),
                                    [](const Shrinkables& before) {
                                      return rc::shrink::eachElement(
                                          before, [](const auto& one) { return one.shrinks(); });
                                    }),
        &values_of);
  };
}

rc::Gen<std::vector<Erased>> some_of(rc::Gen<Erased> values) {
  return rc::gen::container<std::vector<Erased>>(std::move(values));
}

rc::Gen<std::vector<Erased>> some_of(std::size_t count, rc::Gen<Erased> values) {
  return rc::gen::container<std::vector<Erased>>(count, std::move(values));
}

}  // namespace ddptwin::property::gen
