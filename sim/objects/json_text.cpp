#include "objects/json_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json.hpp>
#include <boost/json/basic_parser_impl.hpp>
#include <set>

namespace ddptwin {
namespace {

namespace json = boost::json;

// Deeper texts are refused, as the API server refuses them.
constexpr std::size_t depth_max = 1000;

// Follows a text that is known to be JSON and notes members that an object already has.
class DoubledMembers {
 public:
  // What basic_parser asks of a handler; texts here are bounded by the request's size.
  static constexpr std::size_t max_object_size = static_cast<std::size_t>(-1);
  static constexpr std::size_t max_array_size = static_cast<std::size_t>(-1);
  static constexpr std::size_t max_key_size = static_cast<std::size_t>(-1);
  static constexpr std::size_t max_string_size = static_cast<std::size_t>(-1);

  bool on_document_begin(json::error_code&) { return true; }
  bool on_document_end(json::error_code&) { return true; }
  bool on_object_begin(json::error_code&) { return open(false); }
  bool on_object_end(std::size_t, json::error_code&) { return close(); }
  bool on_array_begin(json::error_code&) { return open(true); }
  bool on_array_end(std::size_t, json::error_code&) { return close(); }
  bool on_key_part(json::string_view part, std::size_t, json::error_code&) {
    key_.append(part.data(), part.size());
    return true;
  }
  bool on_key(json::string_view part, std::size_t, json::error_code&) {
    key_.append(part.data(), part.size());
    Level& here = levels_.back();
    here.member = std::exchange(key_, {});
    if (!here.seen.insert(here.member).second) note();
    return true;
  }
  bool on_string_part(json::string_view, std::size_t, json::error_code&) { return true; }
  bool on_string(json::string_view, std::size_t, json::error_code&) { return value(); }
  bool on_number_part(json::string_view, json::error_code&) { return true; }
  bool on_int64(std::int64_t, json::string_view, json::error_code&) { return value(); }
  bool on_uint64(std::uint64_t, json::string_view, json::error_code&) { return value(); }
  bool on_double(double, json::string_view, json::error_code&) { return value(); }
  bool on_bool(bool, json::error_code&) { return value(); }
  bool on_null(json::error_code&) { return value(); }
  bool on_comment_part(json::string_view, json::error_code&) { return true; }
  bool on_comment(json::string_view, json::error_code&) { return true; }

  std::vector<std::string> take() { return std::move(doubled_); }

 private:
  struct Level {
    bool array = false;
    std::size_t index = 0;  // of an array: the element that is read
    std::string member{};   // of an object
    std::set<std::string, std::less<>> seen{};
  };

  bool open(bool array) {
    levels_.push_back({array, 0, {}, {}});
    return true;
  }
  bool close() {
    levels_.pop_back();
    return value();
  }
  bool value() {
    if (!levels_.empty() && levels_.back().array) ++levels_.back().index;
    return true;
  }
  void note() {
    std::string path;
    for (const Level& level : levels_) {
      if (level.array)
        path += fmt::format("[{}]", level.index);
      else
        path += path.empty() ? level.member : "." + level.member;
    }
    if (std::find(doubled_.begin(), doubled_.end(), path) == doubled_.end())
      doubled_.push_back(std::move(path));
  }

  std::vector<Level> levels_{};
  std::string key_{};
  std::vector<std::string> doubled_{};
};

// In Go's words where they can be told without its scanner: a text that ends too early, one that
// goes on, one that does not begin.
std::string fault_of(std::string_view text, const json::error_code& error) {
  if (error == json::error::incomplete) return "unexpected end of JSON input";
  json::stream_parser parser;
  json::error_code ignored;
  const std::size_t at = parser.write_some(text.data(), text.size(), ignored);
  if (at >= text.size()) return "invalid JSON: " + error.message();
  const std::string_view where =
      error == json::error::extra_data ? "after top-level value" : "looking for beginning of value";
  return fmt::format("invalid character '{}' {}", text[at], where);
}

}  // namespace

Result<JsonText> parse_json(std::string_view text) {
  json::parse_options options;
  options.max_depth = depth_max;
  json::error_code error;
  JsonText out;
  out.value = json::parse(json::string_view(text.data(), text.size()), error, {}, options);
  if (error) return fail(Reason::bad_request, fault_of(text, error));
  json::basic_parser<DoubledMembers> parser(options);
  parser.write_some(false, text.data(), text.size(), error);
  out.doubled = parser.handler().take();
  return out;
}

std::string text_member(const boost::json::object& object, std::string_view name,
                        std::string_view otherwise) {
  const boost::json::value* member = object.if_contains(name);
  return std::string(member != nullptr && member->is_string()
                         ? std::string_view(member->get_string())
                         : otherwise);
}

}  // namespace ddptwin
