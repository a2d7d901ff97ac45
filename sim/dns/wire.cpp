#include "dns/wire.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace ddptwin::dns {
namespace {

constexpr std::size_t header_size = 12;
constexpr std::size_t pointer_target_max = 0x3fff;
constexpr std::size_t opt_size = 11;  // root name, type, class, ttl, length 0

class Reader {
 public:
  explicit Reader(std::span<const std::uint8_t> bytes) : bytes_(bytes) {}

  std::size_t at() const { return at_; }
  std::size_t left() const { return bytes_.size() - at_; }

  Result<std::uint8_t> u8() {
    if (left() < 1) return short_of("a byte");
    return bytes_[at_++];
  }
  Result<std::uint16_t> u16() {
    if (left() < 2) return short_of("two bytes");
    const auto value = static_cast<std::uint16_t>(bytes_[at_] << 8 | bytes_[at_ + 1]);
    at_ += 2;
    return value;
  }
  Result<std::uint32_t> u32() {
    TRY(const std::uint32_t high, u16());
    TRY(const std::uint32_t low, u16());
    return high << 16 | low;
  }
  Result<Bytes> take(std::size_t count) {
    if (left() < count) return short_of("record data");
    Bytes out(bytes_.begin() + static_cast<std::ptrdiff_t>(at_),
              bytes_.begin() + static_cast<std::ptrdiff_t>(at_ + count));
    at_ += count;
    return out;
  }
  Result<Name> name();

  tl::unexpected<Error> wrong(std::string_view what) const {
    return fail(Reason::bad_input, fmt::format("{} at byte {}", what, at_));
  }

 private:
  tl::unexpected<Error> short_of(std::string_view what) const {
    return wrong(fmt::format("message ends where {} should be", what));
  }

  std::span<const std::uint8_t> bytes_;
  std::size_t at_ = 0;
};

// Follows pointers by a cursor of its own; each must point before everything read of this name so
// far, so that it ends.
Result<Name> Reader::name() {
  Name name;
  std::size_t cursor = at_;
  std::size_t lowest = at_;
  std::optional<std::size_t> after;  // where reading goes on: behind the first pointer
  std::size_t size = 1;
  for (;;) {
    if (cursor >= bytes_.size()) return short_of("a name");
    const std::uint8_t length = bytes_[cursor];
    if (length == 0) {
      at_ = after.value_or(cursor + 1);
      return name;
    }
    if ((length & 0xc0) == 0xc0) {
      if (cursor + 1 >= bytes_.size()) return short_of("a name");
      const std::size_t target = static_cast<std::size_t>(length & 0x3f) << 8 | bytes_[cursor + 1];
      if (target >= lowest) return wrong("compression pointer that does not point backwards");
      if (!after) after = cursor + 2;
      cursor = lowest = target;
      continue;
    }
    if ((length & 0xc0) != 0) return wrong("label of an unknown kind");
    if (bytes_.size() - cursor - 1 < length) return short_of("a name");
    size += 1U + length;
    if (size > name_size_max) return wrong("name of more than 255 bytes");
    const auto* first = bytes_.data() + cursor + 1;
    name.labels.emplace_back(first, first + length);
    cursor += 1U + length;
  }
}

Result<Soa> read_soa(Reader& in) {
  Soa soa;
  TRY(soa.mname, in.name());
  TRY(soa.rname, in.name());
  TRY(soa.serial, in.u32());
  TRY(soa.refresh, in.u32());
  TRY(soa.retry, in.u32());
  TRY(soa.expire, in.u32());
  TRY(soa.minimum, in.u32());
  return soa;
}

Result<Srv> read_srv(Reader& in) {
  Srv srv;
  TRY(srv.priority, in.u16());
  TRY(srv.weight, in.u16());
  TRY(srv.port, in.u16());
  TRY(srv.target, in.name());
  return srv;
}

Result<Txt> read_txt(Reader& in, std::size_t length) {
  Txt txt;
  const std::size_t end = in.at() + length;
  while (in.at() < end) {
    TRY(const std::uint8_t size, in.u8());
    TRY(const Bytes bytes, in.take(size));
    txt.strings.emplace_back(bytes.begin(), bytes.end());
  }
  return txt;
}

template <class Address>
Result<RecordData> read_address(Reader& in) {
  Address address{};
  TRY(const Bytes bytes, in.take(address.size()));
  std::copy(bytes.begin(), bytes.end(), address.begin());
  return RecordData(address);
}

template <class T>
Result<RecordData> as_data(Result<T> value) {
  if (!value) return tl::make_unexpected(std::move(value).error());
  return RecordData(std::move(*value));
}

Result<RecordData> read_data(Reader& in, RecordType type, std::size_t length) {
  switch (type) {
    case RecordType::a:
      return read_address<Ipv4>(in);
    case RecordType::aaaa:
      return read_address<Ipv6>(in);
    case RecordType::ns:
    case RecordType::cname:
    case RecordType::ptr:
      return as_data(in.name());
    case RecordType::soa:
      return as_data(read_soa(in));
    case RecordType::srv:
      return as_data(read_srv(in));
    case RecordType::txt:
      return as_data(read_txt(in, length));
    default: {
      TRY(Bytes bytes, in.take(length));
      return RecordData(Opaque{std::move(bytes)});
    }
  }
}

Result<ResourceRecord> read_record(Reader& in) {
  ResourceRecord record;
  TRY(record.name, in.name());
  TRY(const std::uint16_t type, in.u16());
  record.type = RecordType{type};
  TRY(record.class_, in.u16());
  TRY(record.ttl, in.u32());
  TRY(const std::uint16_t length, in.u16());
  if (in.left() < length) return in.wrong("record longer than the message");
  const std::size_t end = in.at() + length;
  TRY(record.data, read_data(in, record.type, length));
  if (in.at() != end) return in.wrong("record data of the wrong length");
  return record;
}

Result<Question> read_question(Reader& in) {
  Question question;
  TRY(question.name, in.name());
  TRY(const std::uint16_t type, in.u16());
  question.type = RecordType{type};
  TRY(question.class_, in.u16());
  return question;
}

Status read_records(Reader& in, std::size_t count, std::vector<ResourceRecord>& out) {
  for (std::size_t i = 0; i < count; ++i) {
    TRY(ResourceRecord record, read_record(in));
    out.push_back(std::move(record));
  }
  return {};
}

void read_flags(std::uint16_t flags, Message& message) {
  message.response = (flags & 0x8000) != 0;
  message.opcode = flags >> 11 & 0xf;
  message.authoritative = (flags & 0x0400) != 0;
  message.truncated = (flags & 0x0200) != 0;
  message.recursion_desired = (flags & 0x0100) != 0;
  message.recursion_available = (flags & 0x0080) != 0;
  message.authentic_data = (flags & 0x0020) != 0;
  message.checking_disabled = (flags & 0x0010) != 0;
  message.rcode = Rcode{static_cast<std::uint16_t>(flags & 0xf)};
}

std::uint16_t flags_of(const Message& message, bool truncated) {
  const auto bit = [](bool set, unsigned value) { return set ? value : 0U; };
  return static_cast<std::uint16_t>(
      bit(message.response, 0x8000) | (message.opcode & 0xfU) << 11 |
      bit(message.authoritative, 0x0400) | bit(truncated, 0x0200) |
      bit(message.recursion_desired, 0x0100) | bit(message.recursion_available, 0x0080) |
      bit(message.authentic_data, 0x0020) | bit(message.checking_disabled, 0x0010) |
      (static_cast<unsigned>(message.rcode) & 0xfU));
}

// The OPT record says in its class and ttl what has no place in the header (RFC 6891 section 6.1).
Status take_edns(Message& message) {
  const auto is_opt = [](const ResourceRecord& r) { return r.type == RecordType::opt; };
  auto& records = message.additional;
  const auto found = std::find_if(records.begin(), records.end(), is_opt);
  if (found == records.end()) return {};
  if (std::count_if(records.begin(), records.end(), is_opt) > 1)
    return fail(Reason::bad_input, "more than one OPT record");
  if (!found->name.labels.empty())
    return fail(Reason::bad_input, "OPT record of another name than the root");
  message.edns = Edns{found->class_, static_cast<std::uint8_t>(found->ttl >> 16 & 0xff),
                      (found->ttl & 0x8000) != 0};
  message.rcode = Rcode{
      static_cast<std::uint16_t>(static_cast<unsigned>(message.rcode) | (found->ttl >> 24) << 4)};
  records.erase(found);
  return {};
}

class Writer {
 public:
  Bytes bytes{};

  void u8(unsigned value) { bytes.push_back(static_cast<std::uint8_t>(value)); }
  void u16(unsigned value) {
    u8(value >> 8);
    u8(value & 0xff);
  }
  void u32(std::uint32_t value) {
    u16(value >> 16);
    u16(value & 0xffff);
  }
  void put16(std::size_t at, std::size_t value) {
    bytes[at] = static_cast<std::uint8_t>(value >> 8);
    bytes[at + 1] = static_cast<std::uint8_t>(value & 0xff);
  }
  // Points at an earlier place where the same tail stands, byte for byte.
  void name(const Name& name, bool compress = true) {
    for (std::size_t i = 0; i < name.labels.size(); ++i) {
      std::vector<std::string> tail(name.labels.begin() + static_cast<std::ptrdiff_t>(i),
                                    name.labels.end());
      const auto seen = places_.find(tail);
      if (compress && seen != places_.end()) return u16(0xc000U | unsigned(seen->second));
      if (seen == places_.end() && bytes.size() <= pointer_target_max)
        places_.emplace(std::move(tail), bytes.size());
      u8(static_cast<unsigned>(name.labels[i].size()));
      bytes.insert(bytes.end(), name.labels[i].begin(), name.labels[i].end());
    }
    u8(0);
  }
  // Back to an earlier size.
  void cut(std::size_t size) {
    bytes.resize(size);
    std::erase_if(places_, [&](const auto& place) { return place.second >= size; });
  }

 private:
  std::map<std::vector<std::string>, std::size_t> places_{};
};

struct DataWriter {
  Writer& out;
  void operator()(const Opaque& data) const { append(data.bytes); }
  void operator()(const Ipv4& address) const { append(address); }
  void operator()(const Ipv6& address) const { append(address); }
  void operator()(const Name& name) const { out.name(name); }
  void operator()(const Soa& soa) const {
    out.name(soa.mname);
    out.name(soa.rname);
    for (const std::uint32_t value : {soa.serial, soa.refresh, soa.retry, soa.expire, soa.minimum})
      out.u32(value);
  }
  void operator()(const Srv& srv) const {
    out.u16(srv.priority);
    out.u16(srv.weight);
    out.u16(srv.port);
    out.name(srv.target, false);  // RFC 2782: not compressed
  }
  void operator()(const Txt& txt) const {
    for (const std::string& part : txt.strings) {
      out.u8(static_cast<unsigned>(part.size()));
      append(part);
    }
  }
  template <class Range>
  void append(const Range& range) const {
    out.bytes.insert(out.bytes.end(), range.begin(), range.end());
  }
};

void write_record(Writer& out, const ResourceRecord& record) {
  out.name(record.name);
  out.u16(static_cast<unsigned>(record.type));
  out.u16(record.class_);
  out.u32(record.ttl);
  const std::size_t length_at = out.bytes.size();
  out.u16(0);
  std::visit(DataWriter{out}, record.data);
  out.put16(length_at, out.bytes.size() - length_at - 2);
}

// Writes as many as fit; false when some did not.
bool write_records(Writer& out, const std::vector<ResourceRecord>& records, std::size_t limit,
                   std::size_t& written) {
  for (const ResourceRecord& record : records) {
    const std::size_t before = out.bytes.size();
    write_record(out, record);
    if (out.bytes.size() > limit) {
      out.cut(before);
      return false;
    }
    ++written;
  }
  return true;
}

void write_opt(Writer& out, const Edns& edns, Rcode rcode) {
  out.u8(0);
  out.u16(static_cast<unsigned>(RecordType::opt));
  out.u16(edns.udp_size);
  out.u32((static_cast<std::uint32_t>(rcode) >> 4) << 24 |
          static_cast<std::uint32_t>(edns.version) << 16 | (edns.dnssec_ok ? 0x8000U : 0U));
  out.u16(0);
}

}  // namespace

Result<Message> decode(std::span<const std::uint8_t> bytes) {
  Reader in(bytes);
  Message message;
  TRY(message.id, in.u16());
  TRY(const std::uint16_t flags, in.u16());
  read_flags(flags, message);
  std::array<std::size_t, 4> counts{};
  for (std::size_t& count : counts) {
    TRY(count, in.u16());
  }
  for (std::size_t i = 0; i < counts[0]; ++i) {
    TRY(Question question, read_question(in));
    message.questions.push_back(std::move(question));
  }
  TRY_VOID(read_records(in, counts[1], message.answers));
  TRY_VOID(read_records(in, counts[2], message.authority));
  TRY_VOID(read_records(in, counts[3], message.additional));
  TRY_VOID(take_edns(message));
  return message;
}

Bytes encode(const Message& message, std::size_t limit) {
  Writer out;
  out.bytes.resize(header_size);
  for (const Question& question : message.questions) {
    out.name(question.name);
    out.u16(static_cast<unsigned>(question.type));
    out.u16(question.class_);
  }
  const std::size_t room = limit - (message.edns ? opt_size : 0);
  std::array<std::size_t, 3> written{};
  const bool whole = write_records(out, message.answers, room, written[0]) &&
                     write_records(out, message.authority, room, written[1]) &&
                     write_records(out, message.additional, room, written[2]);
  if (message.edns) write_opt(out, *message.edns, message.rcode);
  out.put16(0, message.id);
  out.put16(2, flags_of(message, message.truncated || !whole));
  out.put16(4, message.questions.size());
  out.put16(6, written[0]);
  out.put16(8, written[1]);
  out.put16(10, written[2] + (message.edns ? 1 : 0));
  return std::move(out.bytes);
}

}  // namespace ddptwin::dns
