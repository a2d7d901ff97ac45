// The row macro of the structure tables. For the .cpp files of this folder only: `using S =
// PodSpec;` names the structure, then F(hostname) or F(containers, .merge = Merge::merge,
// .merge_key = "name"), and PART(rest, generateName) of what lies in its part `rest`.
#pragma once

#include "objects/type.hpp"

#define F(member, ...) \
  ::ddptwin::field<S, &S::member>(#member, ::ddptwin::FieldOptions{__VA_ARGS__})
#define PART(part, member, ...)                                              \
  ::ddptwin::field_of_part<S, &S::part, &decltype(S::part)::Shared::member>( \
      #member, ::ddptwin::FieldOptions{__VA_ARGS__})
