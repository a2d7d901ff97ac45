#include "scenario/run/trace_hash.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <boost/json/value.hpp>

#include "objects/kinds.hpp"

namespace ddptwin::scenario {
namespace {

namespace json = boost::json;

// What is there, so that an absent part and an empty one differ.
enum Mark : std::uint64_t { absent, present, list_of, map_of, structure_of, end };

template <class T>
const T& ref(const void* value) {
  return *static_cast<const T*>(value);
}

std::uint64_t word_of(std::int64_t number) { return static_cast<std::uint64_t>(number); }
std::uint64_t word_of(Duration duration) { return word_of(duration.count()); }

void add_json(Digest& digest, const json::value& value) {
  digest.add(static_cast<std::uint64_t>(value.kind()));
  switch (value.kind()) {
    case json::kind::null:
      return;
    case json::kind::bool_:
      return digest.add(value.get_bool() ? 1 : 0);
    case json::kind::int64:
      return digest.add(word_of(value.get_int64()));
    case json::kind::uint64:
      return digest.add(value.get_uint64());
    case json::kind::double_:
      return digest.add(std::bit_cast<std::uint64_t>(value.get_double()));
    case json::kind::string:
      return digest.add(std::string_view(value.get_string()));
    case json::kind::array:
      for (const json::value& element : value.get_array()) add_json(digest, element);
      return digest.add(Mark::end);
    case json::kind::object:
      for (const auto& member : value.get_object()) {
        digest.add(std::string_view(member.key()));
        add_json(digest, member.value());
      }
      return digest.add(Mark::end);
  }
}

void add_raw(Digest& digest, const RawJson& part) {
  if (const Json* value = part.get(); value != nullptr) return add_json(digest, *value);
  digest.add(Mark::absent);
}

void add_value(Digest& digest, const Type& type, const void* value);

void add_quantity(Digest& digest, const Quantity& quantity) {
  digest.add(static_cast<std::uint64_t>(quantity.nanos()));
  digest.add(static_cast<std::uint64_t>(quantity.nanos() >> 64));
  digest.add(static_cast<std::uint64_t>(quantity.format()));
}

void add_scalar(Digest& digest, const Type& type, const void* value) {
  switch (type.shape) {
    case Shape::boolean:
      return digest.add(ref<bool>(value) ? 1 : 0);
    case Shape::int32:
      return digest.add(word_of(ref<std::int32_t>(value)));
    case Shape::int64:
      return digest.add(word_of(ref<std::int64_t>(value)));
    case Shape::number:
      return digest.add(std::bit_cast<std::uint64_t>(ref<double>(value)));
    case Shape::string:
      return digest.add(ref<std::string>(value));
    case Shape::text:
      return digest.add(ref<Text>(value).view());
    case Shape::shared_text:
      return digest.add(ref<SharedText>(value).view());
    case Shape::bytes: {
      const auto& bytes = ref<std::vector<std::uint8_t>>(value);
      return digest.add(
          std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
    }
    // As the wire shows them.
    case Shape::time:
      return digest.add(word_of(ref<Time>(value).floor_seconds().since_epoch()));
    case Shape::micro_time:
      return digest.add(word_of(ref<MicroTime>(value).time.floor_microseconds().since_epoch()));
    case Shape::quantity:
      return add_quantity(digest, ref<Quantity>(value));
    case Shape::int_or_string:
      digest.add(word_of(ref<IntOrString>(value).number));
      digest.add(ref<IntOrString>(value).is_text ? 1 : 0);
      return digest.add(ref<IntOrString>(value).text);
    default:
      return add_raw(digest, ref<RawJson>(value));
  }
}

void add_list(Digest& digest, const Type& type, const void* value) {
  digest.add(Mark::list_of);
  const std::size_t size = type.size(value);
  for (std::size_t i = 0; i < size; ++i) add_value(digest, type.element(), type.at(value, i));
  digest.add(Mark::end);
}

void add_map(Digest& digest, const Type& type, const void* value) {
  digest.add(Mark::map_of);
  struct Context {
    Digest& digest;
    const Type& element;
  } context{digest, type.element()};
  type.each(value, &context, [](void* c, std::string_view key, const void* element) {
    auto& at = *static_cast<Context*>(c);
    at.digest.add(key);
    add_value(at.digest, at.element, element);
  });
  digest.add(Mark::end);
}

// Empty fields are left out, as they are on the wire.
void add_structure(Digest& digest, const Type& type, const void* value) {
  digest.add(Mark::structure_of);
  for (std::size_t i = 0; i < type.fields.size(); ++i) {
    const FieldInfo& field = type.fields[i];
    const void* member = field.read(value);
    const Type& member_type = field.type();
    if (member_type.empty != nullptr && member_type.empty(member)) continue;
    if (field.name == "managedFields") continue;
    digest.add(i);
    add_value(digest, member_type, member);
  }
  if (type.read_extra != nullptr) add_raw(digest, *type.read_extra(value));
  digest.add(Mark::end);
}

void add_value(Digest& digest, const Type& type, const void* value) {
  switch (type.shape) {
    case Shape::structure:
      return add_structure(digest, type, value);
    case Shape::list:
      return add_list(digest, type, value);
    case Shape::map:
      return add_map(digest, type, value);
    case Shape::verbatim:
      if (const RawJson& source = type.source(value); source.get() != nullptr)
        return add_raw(digest, source);
      return add_value(digest, type.element(), type.get(value));
    case Shape::pointer: {
      const void* held = type.get(value);
      if (held == nullptr) return digest.add(Mark::absent);
      // How a value is held in memory is nobody's business.
      if (type.may_be_absent) digest.add(Mark::present);
      return add_value(digest, type.element(), held);
    }
    default:
      return add_scalar(digest, type, value);
  }
}

void add_object(Digest& digest, const Object& object) {
  const KindInfo& kind = object.kind();
  digest.add(kind.group);
  digest.add(kind.kind);
  add_structure(digest, kind.type != nullptr ? kind.type() : GenericObject::type(), object.body());
}

}  // namespace

void Digest::add(std::uint64_t word) {
  // A round of SplitMix64's finalizer: each bit of the state and of the word reaches all others.
  std::uint64_t mixed = (state_ ^ word) * 0xbf58476d1ce4e5b9ULL;
  mixed = (mixed ^ (mixed >> 27U)) * 0x94d049bb133111ebULL;
  state_ = mixed ^ (mixed >> 31U);
}

void Digest::add(std::string_view text) {
  add(text.size());
  while (!text.empty()) {
    std::uint64_t word = 0;
    const std::size_t taken = std::min<std::size_t>(text.size(), 8);
    for (std::size_t i = 0; i < taken; ++i)
      word |= static_cast<std::uint64_t>(static_cast<unsigned char>(text[i])) << (8 * i);
    add(word);
    text.remove_prefix(taken);
  }
}

TraceHash::TraceHash() { digest_.add(std::string_view(DDPTWIN_VERSION)); }

void TraceHash::on_record(const Record& record) {
  ++records_;
  if (record.kind == RecordKind::image) return;  // names files, and where they lie
  digest_.add(record.id);
  digest_.add(record.cause);
  digest_.add(word_of(record.time.since_epoch()));
  digest_.add(to_string(record.kind));
  digest_.add(record.actor);
  digest_.add(record.subject);
  digest_.add(record.rule);
  digest_.add(record.text);
  for (const auto& [name, value] : record.values) {
    digest_.add(name);
    digest_.add(value);
  }
  if (const Object* object = record.after ? record.after.get() : record.before.get())
    add_object(digest_, *object);
}

std::string hash_text(std::uint64_t hash) { return fmt::format("{:016x}", hash); }

std::uint64_t hash_of(const Object& object) {
  Digest digest;
  add_object(digest, object);
  return digest.value();
}

}  // namespace ddptwin::scenario
