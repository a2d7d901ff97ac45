// What a C++ type looks like as a Kubernetes API value. Each field of each object is described
// once, in a table; decoding, encoding, comparing, merging and the schema are functions over such
// tables (codec.hpp, patch.hpp), so that a new kind is one struct and one table.
#pragma once

#include <algorithm>
#include <boost/container/flat_map.hpp>
#include <boost/container/small_vector.hpp>
#include <boost/json/fwd.hpp>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/callback.hpp"
#include "core/time.hpp"
#include "objects/cow.hpp"
#include "objects/optional_int64.hpp"
#include "objects/quantity.hpp"
#include "objects/shared_text.hpp"
#include "objects/text.hpp"

namespace ddptwin {

using Json = boost::json::value;

// metav1.MicroTime: an instant that keeps six decimals on the wire.
struct MicroTime {
  Time time{};
  bool operator==(const MicroTime&) const = default;
};

// intstr.IntOrString: a port or a percentage. `text` counts when it is not empty.
struct IntOrString {
  std::int32_t number = 0;
  std::string text{};
  bool is_text = false;
  bool operator==(const IntOrString&) const = default;
};

// Part of an object that is kept as it came: fields that the twin gives back but never reads.
class RawJson {
 public:
  RawJson() = default;
  explicit RawJson(Json value);
  // Made when somebody looks at it, for what is nearly always looked at by nobody. The same each
  // time: `make` is called once at most.
  static RawJson later(UniqueFunction<Json()> make);
  const Json* get() const;  // null: absent
  bool absent() const { return part_ == nullptr; }
  bool operator==(const RawJson& other) const;

 private:
  struct Part;
  static void let_go(cow_detail::Sharers* part);
  const Part& part() const;
  cow_detail::SharedPointer<&RawJson::let_go> part_;
};

// A part of a custom resource as its author wrote it, beside the value it was read into. The API
// server stores custom resources verbatim ("0.5" stays "0.5", an empty list stays), yet a
// controller reads values.
template <class T>
class Verbatim {
 public:
  Verbatim() = default;
  Verbatim(T value) : value_(std::move(value)) {}  // NOLINT: stands for the value
  const T& operator*() const { return *value_; }
  const T* operator->() const { return &*value_; }
  const RawJson& source() const { return source_; }
  // For building one in code: the source is then made from the value when encoded.
  T& edit() {
    source_ = RawJson();
    return value_.edit();
  }
  // What the value was read from.
  void set_source(RawJson source) { source_ = std::move(source); }
  const Cow<T>& shared() const { return value_; }

 private:
  Cow<T> value_;
  RawJson source_;
};

// Fields of a structure that its table does not name.
using Extra = RawJson;

// Ordered by key, in one piece of memory: each object has some, mostly of a few entries.
using StringMap = boost::container::flat_map<Text, Text, std::less<>>;

enum class Shape : std::uint8_t {
  boolean,
  int32,
  int64,
  number,
  string,
  text,         // a string on the wire, too
  shared_text,  // likewise
  bytes,        // base64 on the wire
  time,
  micro_time,
  quantity,
  int_or_string,
  json,
  list,
  map,      // keys are strings
  pointer,  // present or absent: std::optional, Rare; or shared: Cow
  verbatim,
  structure,
};

struct Type;
using TypeRef = const Type& (*)();  // a function, so that tables may refer to each other

// How strategic merge patch and server-side apply treat a list or a map (the API's patchStrategy).
enum class Merge : std::uint8_t { replace, merge, retain_keys, merge_retain_keys };

struct FieldOptions {
  bool always = false;    // written even when empty (no omitempty upstream)
  bool required = false;  // the published schema's `required`
  Merge merge = Merge::replace;
  std::string_view merge_key = {};  // patchMergeKey; empty with Merge::merge: a set of primitives
  std::string_view list_keys =
      {};                 // server-side apply's listMapKeys, comma-separated; empty: merge_key
  bool set = false;       // listType=set
  bool atomic = false;    // structType/mapType=atomic
  bool embedded = false;  // its fields appear in the parent (Go's inline)
};

struct FieldInfo {
  std::string_view name;  // as on the wire
  TypeRef type;
  const void* (*read)(const void* structure);
  void* (*member)(void* structure);  // to be written
  FieldOptions options;
};

// One C++ type. The operations work on an untyped address of that type.
struct Type {
  Shape shape;
  std::string_view name;      // of a structure: upstream's Go name, e.g. "v1.PodSpec"
  TypeRef element = nullptr;  // list, map, pointer, verbatim

  // Every shape.
  bool (*empty)(const void*) = nullptr;  // Go's notion: false, 0, "", no elements, absent
  void (*clear)(void*) = nullptr;
  void (*assign)(void* to, const void* from) = nullptr;

  // list
  std::size_t (*size)(const void*) = nullptr;
  const void* (*at)(const void*, std::size_t) = nullptr;
  void* (*append)(void*) = nullptr;

  // map: in key order
  void (*each)(const void*, void* context,
               void (*visit)(void* context, std::string_view key, const void* value)) = nullptr;
  void* (*insert)(void*, std::string_view key) = nullptr;
  // Whether keys and values are equal; `element_equal` judges two values.
  bool (*equal)(const void*, const void*,
                bool (*element_equal)(const Type&, const void*, const void*)) = nullptr;

  // pointer, verbatim
  const void* (*get)(const void*) = nullptr;  // null when absent
  void* (*emplace)(void*) = nullptr;          // made when absent
  bool may_be_absent = false;                 // not a Cow, which always has a value
  // and of a structure that has `same_as`: surely equal, by the identity of its shared parts
  bool (*same)(const void*, const void*) = nullptr;
  // verbatim
  const RawJson& (*source)(const void*) = nullptr;
  void (*set_source)(void*, RawJson) = nullptr;

  // structure
  std::vector<FieldInfo> fields = {};
  const Extra* (*read_extra)(const void*) = nullptr;
  Extra* (*extra)(void*) = nullptr;  // to be written

  const FieldInfo* find(
      std::string_view field) const;  // embedded structures' fields are not found here
};

template <class T>
const Type& type_of();

namespace type_detail {

template <auto M>
struct MemberOf;
template <class C, class V, V C::*M>
struct MemberOf<M> {
  using Class = C;
  using Value = V;
};

constexpr std::string_view wire_name(std::string_view member) {
  return !member.empty() && member.back() == '_' ? member.substr(0, member.size() - 1) : member;
}

}  // namespace type_detail

// A row of a structure's table. S is the structure the address belongs to (M may be a base's
// member).
template <class S, auto M>
FieldInfo field(std::string_view name, FieldOptions options = {}) {
  using Value = typename type_detail::MemberOf<M>::Value;
  return FieldInfo{type_detail::wire_name(name), &type_of<Value>,
                   [](const void* s) -> const void* { return &(static_cast<const S*>(s)->*M); },
                   [](void* s) -> void* { return &(static_cast<S*>(s)->*M); }, options};
}

// The same of a member that lies in one of S's shared parts, a Cow. The wire knows no such parts.
template <class S, auto Part, auto M>
FieldInfo field_of_part(std::string_view name, FieldOptions options = {}) {
  using Value = typename type_detail::MemberOf<M>::Value;
  return FieldInfo{
      type_detail::wire_name(name), &type_of<Value>,
      [](const void* s) -> const void* { return &((static_cast<const S*>(s)->*Part).get().*M); },
      [](void* s) -> void* { return &((static_cast<S*>(s)->*Part).edit().*M); }, options};
}

// The table of a structure. Where S, or its part `rest`, has a member `extra`, fields it does not
// name are kept there.
template <class S>
Type structure(std::string_view name, std::vector<FieldInfo> fields) {
  Type t{Shape::structure, name};
  t.fields = std::move(fields);
  t.clear = [](void* p) { *static_cast<S*>(p) = S(); };
  t.assign = [](void* to, const void* from) {
    *static_cast<S*>(to) = *static_cast<const S*>(from);
  };
  if constexpr (requires(const S& s) { s.same_as(s); })
    t.same = [](const void* a, const void* b) {
      return static_cast<const S*>(a)->same_as(*static_cast<const S*>(b));
    };
  if constexpr (requires(S & s) { s.extra; }) {
    t.read_extra = [](const void* p) -> const Extra* { return &static_cast<const S*>(p)->extra; };
    t.extra = [](void* p) -> Extra* { return &static_cast<S*>(p)->extra; };
  } else if constexpr (requires(S & s) { s.rest->extra; }) {
    t.read_extra = [](const void* p) -> const Extra* {
      return &static_cast<const S*>(p)->rest->extra;
    };
    t.extra = [](void* p) -> Extra* { return &static_cast<S*>(p)->rest.edit().extra; };
  }
  return t;
}

namespace type_detail {

template <class T>
struct IsVector : std::false_type {};
template <class T>
struct IsVector<std::vector<T>> : std::true_type {};
template <class T, std::size_t n>
struct IsVector<boost::container::small_vector<T, n>> : std::true_type {};
template <class T>
struct IsMap : std::false_type {};
template <class T>
struct IsMap<std::map<std::string, T, std::less<>>> : std::true_type {};
template <>
struct IsMap<StringMap> : std::true_type {};
template <class T>
struct IsOptional : std::false_type {};
template <class T>
struct IsOptional<std::optional<T>> : std::true_type {};
template <>
struct IsOptional<OptionalTime> : std::true_type {};
template <>
struct IsOptional<OptionalInt64> : std::true_type {};
template <class T>
struct IsRare : std::false_type {};
template <class T>
struct IsRare<Rare<T>> : std::true_type {};
template <class T>
struct IsCow : std::false_type {};
template <class T>
struct IsCow<Cow<T>> : std::true_type {
  using Inner = T;
};
template <class T>
struct IsVerbatim : std::false_type {};
template <class T>
struct IsVerbatim<Verbatim<T>> : std::true_type {
  using Inner = T;
};

template <class T>
Type base(Shape shape) {
  Type t{shape, {}};
  t.clear = [](void* p) { *static_cast<T*>(p) = T(); };
  t.assign = [](void* to, const void* from) {
    *static_cast<T*>(to) = *static_cast<const T*>(from);
  };
  return t;
}

template <class T>
Type scalar(Shape shape) {
  Type t = base<T>(shape);
  t.empty = [](const void* p) { return *static_cast<const T*>(p) == T(); };
  return t;
}

template <class T>
Type list() {
  using E = typename T::value_type;
  Type t = base<T>(Shape::list);
  t.element = &type_of<E>;
  t.empty = [](const void* p) { return static_cast<const T*>(p)->empty(); };
  t.size = [](const void* p) { return static_cast<const T*>(p)->size(); };
  t.at = [](const void* p, std::size_t i) -> const void* {
    return &(*static_cast<const T*>(p))[i];
  };
  t.append = [](void* p) -> void* { return &static_cast<T*>(p)->emplace_back(); };
  return t;
}

template <class T>
Type map() {
  Type t = base<T>(Shape::map);
  t.element = &type_of<typename T::mapped_type>;
  t.empty = [](const void* p) { return static_cast<const T*>(p)->empty(); };
  t.size = [](const void* p) { return static_cast<const T*>(p)->size(); };
  t.each = [](const void* p, void* context, void (*visit)(void*, std::string_view, const void*)) {
    for (const auto& [key, value] : *static_cast<const T*>(p)) visit(context, key, &value);
  };
  t.insert = [](void* p, std::string_view key) -> void* {
    return &static_cast<T*>(p)->try_emplace(typename T::key_type(key)).first->second;
  };
  t.equal = [](const void* p, const void* q,
               bool (*element_equal)(const Type&, const void*, const void*)) {
    const T &a = *static_cast<const T*>(p), &b = *static_cast<const T*>(q);
    const Type& element = type_of<typename T::mapped_type>();
    return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin(), [&](auto& x, auto& y) {
             return x.first == y.first && element_equal(element, &x.second, &y.second);
           });
  };
  return t;
}

template <class T>
Type optional() {
  Type t = base<T>(Shape::pointer);
  t.element = &type_of<typename T::value_type>;
  t.may_be_absent = true;
  t.empty = [](const void* p) { return !static_cast<const T*>(p)->has_value(); };
  t.get = [](const void* p) -> const void* {
    const auto& o = *static_cast<const T*>(p);
    return o ? &*o : nullptr;
  };
  t.emplace = [](void* p) -> void* {
    auto& o = *static_cast<T*>(p);
    return o ? &*o : &o.emplace();
  };
  return t;
}

template <class T>
Type rare() {
  Type t = base<T>(Shape::pointer);
  t.element = &type_of<typename T::value_type>;
  t.may_be_absent = true;
  t.empty = [](const void* p) { return !static_cast<const T*>(p)->has_value(); };
  t.get = [](const void* p) -> const void* { return static_cast<const T*>(p)->operator->(); };
  t.emplace = [](void* p) -> void* { return &static_cast<T*>(p)->edit(); };
  t.same = [](const void* a, const void* b) {
    return static_cast<const T*>(a)->same_as(*static_cast<const T*>(b));
  };
  return t;
}

template <class T>
Type cow() {
  Type t = base<T>(Shape::pointer);
  t.element = &type_of<typename IsCow<T>::Inner>;
  // Shared is not absent: emptiness is the value's.
  t.empty = [](const void* p) {
    const Type& inner = type_of<typename IsCow<T>::Inner>();
    return inner.empty != nullptr && inner.empty(static_cast<const T*>(p)->operator->());
  };
  t.get = [](const void* p) -> const void* { return static_cast<const T*>(p)->operator->(); };
  t.emplace = [](void* p) -> void* { return &static_cast<T*>(p)->edit(); };
  t.same = [](const void* a, const void* b) {
    return static_cast<const T*>(a)->same_as(*static_cast<const T*>(b));
  };
  return t;
}

template <class T>
Type verbatim() {
  using Inner = typename IsVerbatim<T>::Inner;
  Type t = base<T>(Shape::verbatim);
  t.element = &type_of<Inner>;
  t.empty = [](const void*) { return false; };
  t.get = [](const void* p) -> const void* { return static_cast<const T*>(p)->operator->(); };
  t.emplace = [](void* p) -> void* { return &static_cast<T*>(p)->edit(); };
  t.same = [](const void* a, const void* b) {
    return static_cast<const T*>(a)->shared().same_as(static_cast<const T*>(b)->shared());
  };
  t.source = [](const void* p) -> const RawJson& { return static_cast<const T*>(p)->source(); };
  t.set_source = [](void* p, RawJson source) { static_cast<T*>(p)->set_source(std::move(source)); };
  return t;
}

template <class T>
Type make() {
  if constexpr (std::is_same_v<T, bool>)
    return scalar<T>(Shape::boolean);
  else if constexpr (std::is_same_v<T, std::int32_t>)
    return scalar<T>(Shape::int32);
  else if constexpr (std::is_same_v<T, std::int64_t>)
    return scalar<T>(Shape::int64);
  else if constexpr (std::is_same_v<T, double>)
    return scalar<T>(Shape::number);
  else if constexpr (std::is_same_v<T, std::string>)
    return scalar<T>(Shape::string);
  else if constexpr (std::is_same_v<T, Text>)
    return scalar<T>(Shape::text);
  else if constexpr (std::is_same_v<T, SharedText>)
    return scalar<T>(Shape::shared_text);
  else if constexpr (std::is_same_v<T, std::vector<std::uint8_t>>)
    return scalar<T>(Shape::bytes);
  else if constexpr (std::is_same_v<T, Time>)
    return scalar<T>(Shape::time);
  else if constexpr (std::is_same_v<T, MicroTime>)
    return scalar<T>(Shape::micro_time);
  else if constexpr (std::is_same_v<T, IntOrString>) {
    Type t = scalar<T>(Shape::int_or_string);
    return t;
  } else if constexpr (std::is_same_v<T, Quantity>) {
    Type t = base<T>(Shape::quantity);
    t.empty = [](const void*) { return false; };
    return t;
  } else if constexpr (std::is_same_v<T, RawJson>) {
    Type t = base<T>(Shape::json);
    t.empty = [](const void* p) { return static_cast<const RawJson*>(p)->absent(); };
    return t;
  } else if constexpr (IsVector<T>::value)
    return list<T>();
  else if constexpr (IsMap<T>::value)
    return map<T>();
  else if constexpr (IsOptional<T>::value)
    return optional<T>();
  else if constexpr (IsRare<T>::value)
    return rare<T>();
  else if constexpr (IsCow<T>::value)
    return cow<T>();
  else
    return verbatim<T>();
}

}  // namespace type_detail

template <class T>
const Type& type_of() {
  if constexpr (requires { T::type(); }) {
    return T::type();
  } else {
    static const Type type = type_detail::make<T>();
    return type;
  }
}

}  // namespace ddptwin
