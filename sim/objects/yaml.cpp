#include "objects/yaml.hpp"

#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <boost/json/parse.hpp>
#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <variant>

#include "core/utf8.hpp"
#include "objects/yaml_scalar.hpp"

namespace ddptwin {
namespace {

namespace json = boost::json;

// Leaves yaml-cpp's parser from inside an event; caught in parse_stream().
struct Refused {
  YamlPosition at;
  std::string message;
};

YamlPosition position_of(const YAML::Mark& mark) {
  if (mark.is_null()) return {};
  return {static_cast<std::uint32_t>(mark.line) + 1, static_cast<std::uint32_t>(mark.column) + 1};
}

std::string where_of(const std::string& file, YamlPosition at) {
  return fmt::format("{}:{}:{}", file, at.line, at.column);
}

// A finished value, the node of its position, and what copying it costs.
struct Built {
  json::value value{};
  std::uint32_t node = 0;
  std::size_t weight = 0;  // about the bytes of its JSON text
  int height = 0;          // levels of lists and maps in it
};

// A list or map whose end has not come yet.
struct Open {
  bool is_map = false;
  Built built{};
  YAML::anchor_t anchor = YAML::NullAnchor;
  std::optional<std::string> key{};  // of a map: read, its value still to come
  bool key_merges = false;           // the key was `<<`
  YamlPosition key_at{};
  std::set<std::string, std::less<>> merged{};  // keys that came by `<<` and may be given again
};

constexpr std::size_t value_weight = 4;  // quotes or brackets, a comma, a colon

std::string key_text(const json::value& key, YamlPosition at) {
  if (key.is_string()) return std::string(key.as_string());
  if (key.is_bool()) return key.as_bool() ? "true" : "false";
  if (key.is_number()) return number_text(key);
  throw Refused{at, key.is_null() ? "a mapping key may not be null"
                                  : "a mapping key must be a scalar, not a list or a map"};
}

// yaml-cpp writes the escapes \N (U+0085) and \_ (U+00A0) as single bytes; all else is UTF-8, as
// the text it read is.
std::string as_utf8(const std::string& text) {
  std::string out;
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t length = utf8_length(std::string_view(text).substr(i));
    if (length == 0) out += '\xC2';
    out.append(text, i, std::max<std::size_t>(length, 1));
    i += std::max<std::size_t>(length, 1);
  }
  return out;
}

class Builder final : public YAML::EventHandler {
 public:
  Builder(const std::string& file, const YamlLimits& limits) : file_(file), limits_(limits) {}

  std::optional<YamlDocument> take() { return std::exchange(finished_, std::nullopt); }

  void OnDocumentStart(const YAML::Mark& mark) override {
    // yaml-cpp leaves what cannot begin a value, such as a comma, where it is and would read it for
    // ever.
    if (mark.pos == last_start_)
      throw Refused{position_of(mark), "not valid YAML: no value can begin here"};
    last_start_ = mark.pos;
    document_ = YamlDocument{};
    document_.file = file_;
    open_.clear();
    anchors_.clear();
    alias_bytes_ = 0;
  }
  void OnDocumentEnd() override {
    if (!document_.value.is_null()) finished_ = std::move(document_);
  }
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    scalar(mark, json::value(nullptr), anchor, false);
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& read) override {
    const std::string text = as_utf8(read);
    if (tag == "!" || tag == "tag:yaml.org,2002:str")
      return scalar(mark, json::value(text), anchor, false);
    refuse_tag(mark, tag, "");
    static constexpr std::string_view letters = "yYnN";
    if (!limits_.letters_are_booleans && text.size() == 1 &&
        letters.find(text[0]) != std::string_view::npos)
      return scalar(mark, json::value(text), anchor, false);
    auto value = resolve_plain_scalar(text);
    if (!value) throw Refused{position_of(mark), fmt::format("{} has no JSON value", text)};
    const bool is_odd = value->is_number() && number_text(*value) != text;
    scalar(mark, std::move(*value), anchor, text == "<<", is_odd ? text : std::string());
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override;
  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    refuse_tag(mark, tag, "tag:yaml.org,2002:seq");
    begin(mark, anchor, false, json::array());
  }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    refuse_tag(mark, tag, "tag:yaml.org,2002:map");
    begin(mark, anchor, true, json::object());
  }
  void OnSequenceEnd() override { end(); }
  void OnMapEnd() override { end(); }

 private:
  static void refuse_tag(const YAML::Mark& mark, const std::string& tag, std::string_view allowed) {
    if (tag.empty() || tag == "?" || tag == allowed) return;
    throw Refused{position_of(mark),
                  fmt::format("the tag {} is not supported; Kubernetes objects carry none", tag)};
  }
  bool wants_key() const { return !open_.empty() && open_.back().is_map && !open_.back().key; }

  // `written`: of a number that is written in a way of its own.
  void scalar(const YAML::Mark& mark, json::value value, YAML::anchor_t anchor, bool merges,
              std::string written = {});
  void begin(const YAML::Mark& mark, YAML::anchor_t anchor, bool is_map, json::value empty);
  void end();
  void check_depth(int height, YamlPosition at) const;
  // Hands a finished value to the list or map it is in, or makes it the document.
  void attach(Built built);
  void attach_member(Open& map, Built built);
  void merge(Open& map, const Built& built);
  void merge_one(Open& map, const json::object& members, const Built& from);

  const std::string& file_;
  const YamlLimits& limits_;
  YamlDocument document_{};
  std::optional<YamlDocument> finished_{};
  std::vector<Open> open_{};
  std::map<YAML::anchor_t, Built> anchors_{};  // an anchor whose value is not finished is absent
  std::size_t alias_bytes_ = 0;
  int last_start_ = -1;  // of a document, in the text
};

void Builder::scalar(const YAML::Mark& mark, json::value value, YAML::anchor_t anchor, bool merges,
                     std::string written) {
  const YamlPosition at = position_of(mark);
  const std::size_t weight = value_weight + (value.is_string() ? value.as_string().size() : 0);
  if (wants_key()) {
    Open& map = open_.back();
    if (anchor != YAML::NullAnchor)
      anchors_[anchor] = Built{value, document_.positions.add(at), weight, 0};
    map.key = key_text(value, at);
    map.key_at = at;
    map.key_merges = merges;
    return;
  }
  Built built{std::move(value), document_.positions.add(at), weight, 0};
  if (!written.empty()) document_.odd_numbers.emplace(built.node, std::move(written));
  if (anchor != YAML::NullAnchor) anchors_[anchor] = built;
  attach(std::move(built));
}

void Builder::begin(const YAML::Mark& mark, YAML::anchor_t anchor, bool is_map, json::value empty) {
  const YamlPosition at = position_of(mark);
  if (wants_key()) key_text(empty, at);
  check_depth(1, at);
  Open open;
  open.is_map = is_map;
  open.anchor = anchor;
  open.built = Built{std::move(empty), document_.positions.add(at), value_weight, 1};
  open_.push_back(std::move(open));
}

void Builder::end() {
  Open open = std::move(open_.back());
  open_.pop_back();
  if (open.anchor != YAML::NullAnchor) anchors_[open.anchor] = open.built;
  attach(std::move(open.built));
}

void Builder::check_depth(int height, YamlPosition at) const {
  if (static_cast<int>(open_.size()) + height > limits_.depth)
    throw Refused{at, fmt::format("lists and maps are nested more than {} deep", limits_.depth)};
}

void Builder::OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) {
  const YamlPosition at = position_of(mark);
  const auto found = anchors_.find(anchor);
  if (found == anchors_.end()) throw Refused{at, "an alias stands inside its own anchor's value"};
  const Built& source = found->second;
  if (wants_key()) return scalar(mark, source.value, YAML::NullAnchor, false);
  check_depth(source.height, at);
  alias_bytes_ += source.weight;
  if (alias_bytes_ > limits_.alias_bytes)
    throw Refused{at, fmt::format("excessive aliasing: aliases would add more than {} bytes",
                                  limits_.alias_bytes)};
  Built copy = source;
  copy.node = document_.positions.add(at);
  document_.positions[copy.node].children = document_.positions[source.node].children;
  if (const auto odd = document_.odd_numbers.find(source.node); odd != document_.odd_numbers.end())
    document_.odd_numbers.emplace(copy.node, odd->second);
  attach(std::move(copy));
}

void Builder::attach(Built built) {
  if (open_.empty()) {
    document_.value = std::move(built.value);
    document_.root = built.node;
    return;
  }
  Open& parent = open_.back();
  parent.built.weight += built.weight;
  parent.built.height = std::max(parent.built.height, built.height + 1);
  if (parent.is_map) return attach_member(parent, std::move(built));
  document_.positions[parent.built.node].children.push_back(built.node);
  parent.built.value.as_array().push_back(std::move(built.value));
}

void Builder::attach_member(Open& map, Built built) {
  const std::string key = *std::exchange(map.key, std::nullopt);
  if (map.key_merges) return merge(map, built);
  map.built.weight += key.size();
  json::object& members = map.built.value.as_object();
  auto& children = document_.positions[map.built.node].children;
  document_.positions[built.node].here = map.key_at;
  const auto existing = members.find(key);
  if (existing == members.end()) {
    children.push_back(built.node);
    members.emplace(key, std::move(built.value));
    return;
  }
  const auto index = static_cast<std::size_t>(existing - members.begin());
  if (map.merged.erase(key) == 0) {
    RepeatedKey repeated{key, map.key_at, document_.positions[children[index]].here};
    if (!limits_.last_key_holds) throw Refused{map.key_at, text_of(repeated)};
    document_.repeated.push_back(std::move(repeated));
  }
  children[index] = built.node;
  existing->value() = std::move(built.value);
}

// `<<: *other` or `<<: [*one, *two]`: members that the map does not have yet; the first source of a
// key wins.
void Builder::merge(Open& map, const Built& built) {
  if (built.value.is_object()) return merge_one(map, built.value.as_object(), built);
  constexpr std::string_view message = "<< takes a map or a list of maps";
  if (!built.value.is_array()) throw Refused{map.key_at, std::string(message)};
  const std::vector<std::uint32_t> children = document_.positions[built.node].children;
  const json::array& list = built.value.as_array();
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (!list[i].is_object()) throw Refused{map.key_at, std::string(message)};
    Built from;
    from.node = children[i];
    merge_one(map, list[i].as_object(), from);
  }
}

void Builder::merge_one(Open& map, const json::object& members, const Built& from) {
  json::object& target = map.built.value.as_object();
  std::size_t index = 0;
  for (const auto& member : members) {
    const std::uint32_t child = document_.positions[from.node].children[index++];
    if (!target.emplace(member.key(), member.value()).second) continue;
    map.merged.emplace(member.key());
    document_.positions[map.built.node].children.push_back(child);
  }
}

// What can be said of the text before it is parsed: its encoding and the size of its documents.
Status check_text(std::string_view text, const std::string& file, const YamlLimits& limits) {
  YamlPosition at;
  std::size_t document_start = 0;
  YamlPosition document_at;
  for (std::size_t i = 0; i < text.size();) {
    if (at.column == 1 && text.substr(i).starts_with("---")) {
      document_start = i;
      document_at = at;
    }
    if (i - document_start >= limits.document_bytes)
      return fail(Reason::bad_input,
                  fmt::format("a document is larger than {} bytes", limits.document_bytes),
                  where_of(file, document_at));
    const std::size_t length = utf8_length(text.substr(i));
    const auto byte = static_cast<unsigned char>(text[i]);
    if (length == 0)
      return fail(Reason::bad_input, fmt::format("the text is not UTF-8: byte 0x{:02x}", byte),
                  where_of(file, at));
    if ((byte < 0x20 && byte != '\t' && byte != '\n' && byte != '\r') || byte == 0x7f)
      return fail(Reason::bad_input,
                  fmt::format("control characters are not allowed: byte 0x{:02x}", byte),
                  where_of(file, at));
    i += length;
    at = byte == '\n' ? YamlPosition{at.line + 1, 1} : YamlPosition{at.line, at.column + 1};
  }
  return {};
}

struct SyntaxError {
  Error error;
};

// The only function that calls yaml-cpp, and so the only one that meets its exceptions.
tl::expected<std::vector<YamlDocument>, std::variant<SyntaxError, Error>> parse_stream(
    std::string_view text, const std::string& file, const YamlLimits& limits) {
  std::vector<YamlDocument> documents;
  Builder builder(file, limits);
  try {
    std::istringstream stream{std::string(text)};
    YAML::Parser parser(stream);
    while (parser.HandleNextDocument(builder)) {
      if (auto document = builder.take()) documents.push_back(std::move(*document));
    }
  } catch (const Refused& refused) {
    return tl::make_unexpected(
        Error{Reason::bad_input, where_of(file, refused.at), refused.message, nullptr, 0});
  } catch (const YAML::Exception& exception) {
    return tl::make_unexpected(
        SyntaxError{Error{Reason::bad_input, where_of(file, position_of(exception.mark)),
                          "not valid YAML: " + exception.msg, nullptr, 0}});
  }
  return documents;
}

// JSON that yaml-cpp cannot read, as escaped surrogate pairs. Its values know no lines.
std::optional<YamlDocument> parse_json(std::string_view text, const std::string& file,
                                       const YamlLimits& limits) {
  const std::size_t start = text.find_first_not_of(" \t\r\n");
  if (start == text.npos || text[start] != '{') return std::nullopt;
  json::parse_options options;
  options.max_depth = static_cast<std::size_t>(limits.depth);
  json::error_code error;
  YamlDocument document;
  document.value = json::parse(json::string_view(text.data(), text.size()), error, {}, options);
  document.file = file;
  document.root = document.positions.add({});
  return error ? std::nullopt : std::optional(std::move(document));
}

// The member of an object that a path begins with: the longest key that ends where the path has
// ".", "[" or its end. Takes it off the path.
std::optional<std::size_t> take_member(const json::object& object, std::string_view& path) {
  const bool bracket = path.starts_with('[');
  std::optional<std::size_t> best;
  std::size_t best_length = 0;
  std::size_t index = 0;
  for (const auto& member : object) {
    const std::string_view key(member.key().data(), member.key().size());
    const std::string written = bracket ? fmt::format("[{}]", key) : std::string(key);
    const bool ends = path.size() == written.size() ||
                      (path.size() > written.size() &&
                       (path[written.size()] == '.' || path[written.size()] == '['));
    if (ends && path.starts_with(written) && (!best || written.size() > best_length)) {
      best = index;
      best_length = written.size();
    }
    ++index;
  }
  path.remove_prefix(best_length);
  return best;
}

std::optional<std::size_t> take_index(const json::array& array, std::string_view& path) {
  const std::size_t close = path.find(']');
  if (!path.starts_with('[') || close == path.npos) return std::nullopt;
  std::size_t index = 0;
  for (const char c : path.substr(1, close - 1)) {
    if (c < '0' || c > '9' || index > array.size()) return std::nullopt;
    index = index * 10 + static_cast<std::size_t>(c - '0');
  }
  path.remove_prefix(close + 1);
  return index < array.size() ? std::optional(index) : std::nullopt;
}

}  // namespace

std::string text_of(const RepeatedKey& repeated) {
  return fmt::format("the key \"{}\" is given twice (first on line {})", repeated.key,
                     repeated.first.line);
}

std::string number_text(const json::value& number) {
  if (number.is_int64()) return std::to_string(number.as_int64());
  if (number.is_uint64()) return std::to_string(number.as_uint64());
  return fmt::format("{}", number.as_double());
}

std::pair<const json::value*, std::uint32_t> YamlDocument::find(std::string_view path) const {
  const json::value* here = &value;
  std::uint32_t node = root;
  while (!path.empty()) {
    if (path.front() == '.') path.remove_prefix(1);
    std::optional<std::size_t> step;
    if (here->is_object()) step = take_member(here->as_object(), path);
    if (here->is_array()) step = take_index(here->as_array(), path);
    if (!step || *step >= positions[node].children.size()) break;
    here = here->is_object()
               ? &(here->as_object().begin() + static_cast<std::ptrdiff_t>(*step))->value()
               : &here->as_array()[*step];
    node = positions[node].children[*step];
  }
  return {here, node};
}

YamlPosition YamlDocument::position(std::string_view path) const {
  return positions[find(path).second].here;
}

const json::value& YamlDocument::value_at(std::string_view path) const { return *find(path).first; }

std::string YamlDocument::number_at(std::string_view path, const json::value& number) const {
  const auto odd = odd_numbers.find(find(path).second);
  return odd == odd_numbers.end() ? number_text(number) : odd->second;
}

std::string YamlDocument::where(std::string_view path) const {
  const std::string place = where_of(file, position(path));
  return path.empty() ? place : fmt::format("{} {}", place, path);
}

Result<std::vector<YamlDocument>> parse_yaml(std::string_view text, std::string file,
                                             const YamlLimits& limits) {
  constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";
  if (text.starts_with(byte_order_mark)) text.remove_prefix(byte_order_mark.size());
  TRY_VOID(check_text(text, file, limits));
  auto parsed = parse_stream(text, file, limits);
  if (parsed) return std::move(*parsed);
  if (Error* refused = std::get_if<Error>(&parsed.error())) return fail(std::move(*refused));
  if (auto document = parse_json(text, file, limits)) {
    std::vector<YamlDocument> documents;
    documents.push_back(std::move(*document));
    return documents;
  }
  return fail(std::move(std::get<SyntaxError>(parsed.error()).error));
}

}  // namespace ddptwin
