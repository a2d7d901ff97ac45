// RapidCheck's generators as the property tests use them: rc::gen, with three of its own in place
// of RapidCheck's. Those make some thousand functions for each structure that is drawn; these keep
// the values of its members behind a pointer, and draw and shrink just as RapidCheck's do.
#pragma once

#include <rapidcheck.h>

#include <array>
#include <cstddef>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

namespace ddptwin::property::gen {

using namespace rc::gen;

// A value of some type that only whoever asked for it knows.
using Erased = std::shared_ptr<const void>;

template <class T>
rc::Gen<Erased> erase(rc::Gen<T> values) {
  return rc::gen::map(
      std::move(values), +[](T value) -> Erased { return std::make_shared<T>(std::move(value)); });
}

// One value of each, in their order; shrinks by shrinking one of them (as rc::gen::tuple does).
rc::Gen<std::vector<Erased>> all_of(std::vector<rc::Gen<Erased>> values);
// As many values as the size allows; shrinks by leaving some out, then by shrinking one.
rc::Gen<std::vector<Erased>> some_of(rc::Gen<Erased> values);
// So many; shrinks by shrinking one.
rc::Gen<std::vector<Erased>> some_of(std::size_t count, rc::Gen<Erased> values);

// A member of T and what it is drawn from.
template <class T>
struct Binding {
  using Member = std::array<std::byte, sizeof(int T::*)>;
  struct Place {
    void (*put)(T& object, const Member& member, const void* value);
    Member member;
  };
  Place place;
  rc::Gen<Erased> values;
};

template <class T, class M, class Source>
Binding<T> set(M T::*member, rc::Gen<Source> values) {
  static_assert(sizeof member == sizeof(typename Binding<T>::Member));
  typename Binding<T>::Place place;
  std::memcpy(place.member.data(), &member, sizeof member);
  place.put = [](T& object, const typename Binding<T>::Member& bytes, const void* value) {
    M T::*of = nullptr;
    std::memcpy(&of, bytes.data(), sizeof of);
    object.*of = *static_cast<const Source*>(value);
  };
  return {place, erase(std::move(values))};
}
template <class T, class M>
Binding<T> set(M T::*member) {
  return gen::set(member, rc::gen::arbitrary<M>());
}

// A T with those members drawn, the others as they are in T{}.
template <class T, class... Rest>
rc::Gen<T> build(Binding<T> first, Rest... rest) {
  struct Assemble {
    std::vector<typename Binding<T>::Place> places;
    T operator()(const std::vector<Erased>& values) const {
      T object{};
      for (std::size_t n = 0; n < places.size(); ++n)
        places[n].put(object, places[n].member, values[n].get());
      return object;
    }
  };
  return rc::gen::map(all_of({std::move(first.values), std::move(rest.values)...}),
                      Assemble{{first.place, rest.place...}});
}

// The vector that holds those.
template <class T>
rc::Gen<std::vector<T>> unerase(rc::Gen<std::vector<Erased>> values) {
  return rc::gen::map(
      std::move(values), +[](std::vector<Erased> erased) {
        std::vector<T> vector;
        vector.reserve(erased.size());
        for (const Erased& one : erased) vector.push_back(*static_cast<const T*>(one.get()));
        return vector;
      });
}
template <class T>
rc::Gen<std::vector<T>> vector_of(rc::Gen<T> values) {
  return unerase<T>(some_of(erase(std::move(values))));
}
template <class T>
rc::Gen<std::vector<T>> vector_of(std::size_t count, rc::Gen<T> values) {
  return unerase<T>(some_of(count, erase(std::move(values))));
}

}  // namespace ddptwin::property::gen
