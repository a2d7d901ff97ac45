#include "objects/codec.hpp"

#include <algorithm>
#include <array>
#include <boost/json.hpp>
#include <charconv>
#include <cmath>
#include <limits>
#include <vector>

#include "objects/base64.hpp"
#include "objects/json_text.hpp"

namespace ddptwin {
namespace {

namespace json = boost::json;

std::string_view kind_of(const Json& value) {
  switch (value.kind()) {
    case json::kind::null:
      return "null";
    case json::kind::bool_:
      return "bool";
    case json::kind::int64:
    case json::kind::uint64:
    case json::kind::double_:
      return "number";
    case json::kind::string:
      return "string";
    case json::kind::array:
      return "array";
    case json::kind::object:
      return "object";
  }
  return "value";
}

// Go's name of a type, as decoding errors of upstream give it.
std::string go_name(const Type& type) {
  switch (type.shape) {
    case Shape::boolean:
      return "bool";
    case Shape::int32:
      return "int32";
    case Shape::int64:
      return "int64";
    case Shape::number:
      return "float64";
    case Shape::string:
    case Shape::text:
    case Shape::shared_text:
      return "string";
    case Shape::bytes:
      return "[]uint8";
    case Shape::time:
      return "v1.Time";
    case Shape::micro_time:
      return "v1.MicroTime";
    case Shape::quantity:
      return "resource.Quantity";
    case Shape::int_or_string:
      return "intstr.IntOrString";
    case Shape::json:
      return "interface {}";
    case Shape::list:
      return "[]" + go_name(type.element());
    case Shape::map:
      return "map[string]" + go_name(type.element());
    case Shape::pointer:
    case Shape::verbatim:
      return go_name(type.element());
    case Shape::structure:
      return std::string(type.name);
  }
  return {};
}

tl::unexpected<Error> mismatch(const Type& type, const Json& value, const FieldPath& path) {
  return fail(Reason::bad_request,
              "json: cannot unmarshal " + std::string(kind_of(value)) + " into Go value of type " +
                  go_name(type),
              path);
}

// The shortest text of a number, as Go prints it.
std::string number_text(const Json& value) {
  if (!value.is_double()) return json::serialize(value);
  std::array<char, 32> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(), value.get_double()).ptr;
  return std::string(text.data(), end);
}

Result<std::int64_t> integer(const Type& type, const Json& value, const FieldPath& path) {
  const bool small = type.shape == Shape::int32;
  std::int64_t n = 0;
  if (value.is_int64()) {
    n = value.get_int64();
  } else if (value.is_double() && std::trunc(value.get_double()) == value.get_double() &&
             std::fabs(value.get_double()) < 9e15) {
    n = static_cast<std::int64_t>(value.get_double());
  } else if (value.is_number()) {
    return fail(Reason::bad_request,
                "json: cannot unmarshal number " + number_text(value) + " into Go value of type " +
                    go_name(type),
                path);
  } else {
    return mismatch(type, value, path);
  }
  if (small && (n < std::numeric_limits<std::int32_t>::min() ||
                n > std::numeric_limits<std::int32_t>::max()))
    return fail(
        Reason::bad_request,
        "json: cannot unmarshal number " + std::to_string(n) + " into Go value of type int32",
        path);
  return n;
}

template <class T>
T& ref(void* to) {
  return *static_cast<T*>(to);
}
template <class T>
const T& ref(const void* from) {
  return *static_cast<const T*>(from);
}

Status decode_scalar(const Type& type, void* to, const Json& value, const FieldPath& path) {
  switch (type.shape) {
    case Shape::boolean:
      if (!value.is_bool()) return mismatch(type, value, path);
      ref<bool>(to) = value.get_bool();
      return {};
    case Shape::int32: {
      TRY(const auto n, integer(type, value, path));
      ref<std::int32_t>(to) = static_cast<std::int32_t>(n);
      return {};
    }
    case Shape::int64: {
      TRY(const auto n, integer(type, value, path));
      ref<std::int64_t>(to) = n;
      return {};
    }
    case Shape::number:
      if (!value.is_number()) return mismatch(type, value, path);
      ref<double>(to) = value.to_number<double>();
      return {};
    case Shape::string:
      if (!value.is_string()) return mismatch(type, value, path);
      ref<std::string>(to) = std::string(value.get_string());
      return {};
    case Shape::text:
      if (!value.is_string()) return mismatch(type, value, path);
      ref<Text>(to) = std::string_view(value.get_string());
      return {};
    case Shape::shared_text:
      if (!value.is_string()) return mismatch(type, value, path);
      ref<SharedText>(to) = std::string_view(value.get_string());
      return {};
    case Shape::bytes: {
      if (!value.is_string()) return mismatch(type, value, path);
      auto bytes = from_base64(value.get_string());
      if (!bytes)
        return fail(Reason::bad_request,
                    "illegal base64 data at input byte " + std::to_string(bytes.error()), path);
      ref<std::vector<std::uint8_t>>(to) = std::move(*bytes);
      return {};
    }
    case Shape::time:
    case Shape::micro_time: {
      if (!value.is_string()) return mismatch(type, value, path);
      const std::string_view text = value.get_string();
      const auto time = parse_rfc3339(text);
      if (!time)
        return fail(Reason::bad_request,
                    "parsing time \"" + std::string(text) +
                        "\" as \"2006-01-02T15:04:05Z07:00\": cannot parse \"" + std::string(text) +
                        "\" as \"2006\"",
                    path);
      if (type.shape == Shape::time)
        ref<Time>(to) = time->floor_seconds();
      else
        ref<MicroTime>(to) = MicroTime{time->floor_microseconds()};
      return {};
    }
    case Shape::quantity: {
      // A number is as good as its text.
      const std::string text =
          value.is_string() ? std::string(value.get_string()) : json::serialize(value);
      if (!value.is_string() && !value.is_number()) return mismatch(type, value, path);
      auto quantity = Quantity::parse(text);
      if (!quantity) return fail(Reason::bad_request, quantity.error().message, path);
      ref<Quantity>(to) = *quantity;
      return {};
    }
    case Shape::int_or_string: {
      if (value.is_string()) {
        ref<IntOrString>(to) = IntOrString{0, std::string(value.get_string()), true};
        return {};
      }
      TRY(const auto n, integer(type_of<std::int32_t>(), value, path));
      ref<IntOrString>(to) = IntOrString{static_cast<std::int32_t>(n), {}, false};
      return {};
    }
    default:
      ref<RawJson>(to) = RawJson(value);
      return {};
  }
}

using FieldAt = std::pair<const FieldInfo*, void*>;

// The row and the structure's address of a field, looked for in embedded structures too.
FieldAt find_field(const Type& type, void* to, std::string_view name) {
  for (const FieldInfo& f : type.fields) {
    if (!f.options.embedded) {
      if (f.name == name) return {&f, to};
    } else if (const auto inner = find_field(f.type(), f.member(to), name);
               inner.first != nullptr) {
      return inner;
    }
  }
  return {nullptr, nullptr};
}

// Go names the structure that owns the field, and the field's path without places in lists.
Error in_structure(Error error, const Type& type, const std::string& field_path) {
  constexpr std::string_view plain = "into Go value of type ";
  const std::size_t at = error.message.find(plain);
  if (at == std::string::npos) return error;
  std::string path;
  bool inside = false;
  for (const char c : field_path) {
    inside = c == '[' || (inside && c != ']');
    if (!inside && c != ']') path += c;
  }
  const std::string_view owner = type.name.substr(type.name.find('.') + 1);
  error.message.replace(at, plain.size(),
                        "into Go struct field " + std::string(owner) + "." + path + " of type ");
  return error;
}

// A text that does not fit its type is kept all the same: the kind's definition judges it and
// answers in its own words (schema.hpp).
template <class Value>
void decode_verbatim(const Type& type, void* to, Value&& value, const FieldPath& path,
                     DecodeNotes& notes) {
  (void)decode(type.element(), type.emplace(to), value, path, notes);
  type.set_source(to, RawJson(std::forward<Value>(value)));
}

Status decode_member(const Type& type, void* to, const Json& value, const FieldPath& path,
                     DecodeNotes& notes) {
  return decode(type, to, value, path, notes);
}
// Of a body that is not read again: what is kept as it came is taken out of it.
Status decode_member(const Type& type, void* to, Json& value, const FieldPath& path,
                     DecodeNotes& notes) {
  if (type.shape != Shape::verbatim) return decode(type, to, value, path, notes);
  decode_verbatim(type, to, std::move(value), path, notes);
  return {};
}

template <class Value>
Status decode_structure(const Type& type, void* to, Value& value, const FieldPath& path,
                        DecodeNotes& notes) {
  if (!value.is_object()) return mismatch(type, value, path);
  json::object unknown;
  for (auto& member : value.get_object()) {
    const std::string_view name = member.key();
    const auto [field, owner] = find_field(type, to, name);
    if (field == nullptr) {
      notes.unknown_fields.push_back(path.field(name));
      unknown.emplace(name, member.value());
      continue;
    }
    const FieldPath at = path.field(name);
    if (auto done = decode_member(field->type(), field->member(owner), member.value(), at, notes);
        !done)
      return fail(in_structure(std::move(done).error(), type, at.text()));
  }
  if (!unknown.empty() && type.extra != nullptr) *type.extra(to) = RawJson(std::move(unknown));
  return {};
}

void encode_fields(const Type& type, const void* value, json::object& out);

Json encode_list(const Type& type, const void* value) {
  json::array out;
  const std::size_t size = type.size(value);
  out.reserve(size);
  for (std::size_t i = 0; i < size; ++i) out.push_back(encode(type.element(), type.at(value, i)));
  return out;
}

Json encode_map(const Type& type, const void* value) {
  struct Context {
    const Type& element;
    json::object out;
  } context{type.element(), {}};
  type.each(value, &context, [](void* c, std::string_view key, const void* v) {
    auto& at = *static_cast<Context*>(c);
    at.out.emplace(key, encode(at.element, v));
  });
  return std::move(context.out);
}

// Go's omitempty does not look into structures: an empty one is still written. A Cow is not a
// pointer upstream, so it follows its value.
bool omitted(const FieldInfo& field, const void* value) {
  const Type& type = field.type();
  return !field.options.always && type.empty != nullptr && type.empty(value);
}

// Nothing but objects in it.
bool is_hollow(const Json& value) {
  return value.is_object() &&
         std::all_of(value.get_object().begin(), value.get_object().end(),
                     [](const auto& member) { return is_hollow(member.value()); });
}

void encode_fields(const Type& type, const void* value, json::object& out) {
  for (const FieldInfo& f : type.fields) {
    const void* member = f.read(value);
    if (f.options.embedded) {
      encode_fields(f.type(), member, out);
    } else if (!omitted(f, member)) {
      const Type& t = f.type();
      const bool shared = t.shape == Shape::pointer && !t.may_be_absent;
      const Shape shape = shared ? t.element().shape : t.shape;
      const bool null = (shape == Shape::list || shape == Shape::map) && t.empty(member);
      Json made = null ? Json(nullptr) : encode(t, member);
      // Neither its author nor a program has written that part of a custom resource.
      if (t.shape == Shape::verbatim && t.source(member).absent() && is_hollow(made)) continue;
      out.emplace(f.name, std::move(made));
    }
  }
  if (type.read_extra != nullptr)
    if (const Json* extra = type.read_extra(value)->get(); extra != nullptr)
      for (const auto& member : extra->get_object()) out.emplace(member.key(), member.value());
}

bool equal_scalars(const Type& type, const void* a, const void* b) {
  switch (type.shape) {
    case Shape::boolean:
      return ref<bool>(a) == ref<bool>(b);
    case Shape::int32:
      return ref<std::int32_t>(a) == ref<std::int32_t>(b);
    case Shape::int64:
      return ref<std::int64_t>(a) == ref<std::int64_t>(b);
    case Shape::number:
      return ref<double>(a) == ref<double>(b);
    case Shape::string:
      return ref<std::string>(a) == ref<std::string>(b);
    case Shape::text:
      return ref<Text>(a) == ref<Text>(b);
    case Shape::shared_text:
      return ref<SharedText>(a) == ref<SharedText>(b);
    case Shape::bytes:
      return ref<std::vector<std::uint8_t>>(a) == ref<std::vector<std::uint8_t>>(b);
    // The wire keeps whole seconds: what differs below them is no difference.
    case Shape::time:
      return ref<Time>(a).floor_seconds() == ref<Time>(b).floor_seconds();
    case Shape::micro_time:
      return ref<MicroTime>(a).time.floor_microseconds() ==
             ref<MicroTime>(b).time.floor_microseconds();
    case Shape::quantity:
      return ref<Quantity>(a) == ref<Quantity>(b);
    case Shape::int_or_string:
      return ref<IntOrString>(a) == ref<IntOrString>(b);
    default:
      return ref<RawJson>(a) == ref<RawJson>(b);
  }
}

// Most members are texts, or shared by both: those without another call.
bool equal_members(const Type& type, const void* a, const void* b) {
  // Without the call that == of two strings makes: most texts are empty, or differ in length.
  if (type.shape == Shape::string)
    return std::string_view(ref<std::string>(a)) == ref<std::string>(b);
  return (type.same != nullptr && type.same(a, b)) || equal(type, a, b);
}

void diff_json(const FieldPath& path, const Json* before, const Json* after,
               std::vector<Difference>& out) {
  if (before != nullptr && after != nullptr) {
    if (*before == *after) return;
    if (before->is_object() && after->is_object()) {
      for (const auto& member : before->get_object())
        diff_json(path.field(member.key()), &member.value(),
                  after->get_object().if_contains(member.key()), out);
      for (const auto& member : after->get_object())
        if (!before->get_object().contains(member.key()))
          diff_json(path.field(member.key()), nullptr, &member.value(), out);
      return;
    }
    if (before->is_array() && after->is_array()) {
      const auto &a = before->get_array(), &b = after->get_array();
      for (std::size_t i = 0; i < std::max(a.size(), b.size()); ++i)
        diff_json(path.item(i), i < a.size() ? &a[i] : nullptr, i < b.size() ? &b[i] : nullptr,
                  out);
      return;
    }
  }
  out.push_back(Difference{path, before != nullptr ? *before : Json(nullptr),
                           after != nullptr ? *after : Json(nullptr)});
}

// As they come; many by key: a map that lies in one piece would move all that is behind each.
std::vector<const json::key_value_pair*> members_of(const json::object& object) {
  constexpr std::size_t many = 256;
  std::vector<const json::key_value_pair*> members;
  members.reserve(object.size());
  for (const auto& member : object) members.push_back(&member);
  if (members.size() > many)
    std::sort(members.begin(), members.end(),
              [](const auto* a, const auto* b) { return a->key() < b->key(); });
  return members;
}

}  // namespace

Status decode(const Type& type, void* to, const Json& value, const FieldPath& path,
              DecodeNotes& notes) {
  if (value.is_null() && type.shape != Shape::json && type.shape != Shape::verbatim)
    return {};  // as absent
  switch (type.shape) {
    case Shape::list: {
      if (!value.is_array()) return mismatch(type, value, path);
      std::size_t i = 0;
      type.clear(to);
      for (const Json& element : value.get_array())
        TRY_VOID(decode(type.element(), type.append(to), element, path.item(i++), notes));
      return {};
    }
    case Shape::map:
      if (!value.is_object()) return mismatch(type, value, path);
      for (const auto* member : members_of(value.get_object()))
        TRY_VOID(decode(type.element(), type.insert(to, member->key()), member->value(),
                        path.field(member->key()), notes));
      return {};
    case Shape::pointer:
      return decode(type.element(), type.emplace(to), value, path, notes);
    case Shape::verbatim:
      decode_verbatim(type, to, value, path, notes);
      return {};
    case Shape::structure:
      return decode_structure(type, to, value, path, notes);
    default:
      return decode_scalar(type, to, value, path);
  }
}

Json encode(const Type& type, const void* value) {
  switch (type.shape) {
    case Shape::boolean:
      return ref<bool>(value);
    case Shape::int32:
      return ref<std::int32_t>(value);
    case Shape::int64:
      return ref<std::int64_t>(value);
    case Shape::number:
      return ref<double>(value);
    case Shape::string:
      return Json(ref<std::string>(value));
    case Shape::text:
      return Json(ref<Text>(value).view());
    case Shape::shared_text:
      return Json(ref<SharedText>(value).view());
    case Shape::bytes:
      return Json(to_base64(ref<std::vector<std::uint8_t>>(value)));
    case Shape::time:
      return Json(format_rfc3339(ref<Time>(value)));
    case Shape::micro_time:
      return Json(format_rfc3339_micro(ref<MicroTime>(value).time));
    case Shape::quantity:
      return Json(ref<Quantity>(value).str());
    case Shape::int_or_string: {
      const auto& v = ref<IntOrString>(value);
      return v.is_text ? Json(v.text) : Json(v.number);
    }
    case Shape::json: {
      const Json* raw = ref<RawJson>(value).get();
      return raw != nullptr ? *raw : Json(nullptr);
    }
    case Shape::list:
      return encode_list(type, value);
    case Shape::map:
      return encode_map(type, value);
    case Shape::pointer: {
      const void* inner = type.get(value);
      return inner != nullptr ? encode(type.element(), inner) : Json(nullptr);
    }
    case Shape::verbatim: {
      const Json* source = type.source(value).get();
      return source != nullptr ? *source : encode(type.element(), type.get(value));
    }
    case Shape::structure: {
      json::object out;
      encode_fields(type, value, out);
      return out;
    }
  }
  return nullptr;
}

bool equal(const Type& type, const void* a, const void* b) {
  switch (type.shape) {
    case Shape::list: {
      const std::size_t size = type.size(a);
      if (size != type.size(b)) return false;
      for (std::size_t i = 0; i < size; ++i)
        if (!equal(type.element(), type.at(a, i), type.at(b, i))) return false;
      return true;
    }
    case Shape::map:
      return type.equal(a, b, &equal);
    case Shape::pointer: {
      if (type.same != nullptr && type.same(a, b)) return true;
      const void *left = type.get(a), *right = type.get(b);
      if (left == nullptr || right == nullptr) return left == right;
      return equal(type.element(), left, right);
    }
    case Shape::verbatim:
      return type.same(a, b) || encode(type, a) == encode(type, b);
    case Shape::structure:
      if (type.same != nullptr && type.same(a, b)) return true;
      for (const FieldInfo& f : type.fields)
        if (!equal_members(f.type(), f.read(a), f.read(b))) return false;
      return type.read_extra == nullptr || *type.read_extra(a) == *type.read_extra(b);
    default:
      return equal_scalars(type, a, b);
  }
}

std::vector<Difference> diff(const Type& type, const void* before, const void* after) {
  std::vector<Difference> out;
  const Json left = encode(type, before), right = encode(type, after);
  diff_json({}, &left, &right, out);
  return out;
}

namespace {

const Type& type_of_kind(const KindInfo& kind) {
  return kind.type != nullptr ? kind.type() : GenericObject::type();
}

}  // namespace

Json encode(const Object& object) {
  json::object out;
  out.emplace("kind", object.kind().kind);
  out.emplace("apiVersion", object.kind().api_version());
  encode_fields(type_of_kind(object.kind()), object.body(), out);
  return out;
}

std::string to_text(const Object& object) { return json::serialize(encode(object)); }

bool equal(const Object& a, const Object& b) {
  return &a.kind() == &b.kind() && equal(type_of_kind(a.kind()), a.body(), b.body());
}

std::vector<Difference> diff(const Object& before, const Object& after) {
  std::vector<Difference> out;
  const Json left = encode(before), right = encode(after);
  diff_json({}, &left, &right, out);
  return out;
}

Result<Decoded> decode_object(const KindRegistry& kinds, Json value, const KindInfo* expected) {
  if (!value.is_object())
    return fail(Reason::bad_request, "json: cannot unmarshal " + std::string(kind_of(value)) +
                                         " into Go value of type map[string]interface {}");
  json::object& body = value.get_object();
  const std::string api_version = text_member(body, "apiVersion"),
                    kind_name = text_member(body, "kind");
  const KindInfo* kind = expected;
  if (kind == nullptr) {
    if (kind_name.empty()) return fail(Reason::bad_request, "Object 'Kind' is missing", "kind");
    kind = kinds.find(api_version, kind_name);
    if (kind == nullptr)
      return fail(Reason::not_found,
                  "no matches for kind \"" + kind_name + "\" in version \"" + api_version + "\"",
                  "kind");
  }
  body.erase("apiVersion");
  body.erase("kind");
  Decoded decoded{kinds.make(*kind), {}};
  TRY_VOID(decode_structure(type_of_kind(*kind), decoded.object->body(), value, {}, decoded.notes));
  return decoded;
}

}  // namespace ddptwin
