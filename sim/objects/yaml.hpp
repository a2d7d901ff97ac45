// YAML text to JSON values, each of which knows the line it was written on.
#pragma once

#include <boost/json/value.hpp>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/result.hpp"

namespace ddptwin {

// Both count from 1.
struct YamlPosition {
  std::uint32_t line = 1;
  std::uint32_t column = 1;
  bool operator==(const YamlPosition&) const = default;
};

// Where each value of a document was written: a tree of the same shape as the value. An alias
// shares the node of its anchor.
class YamlPositions {
 public:
  struct Node {
    YamlPosition here{};
    std::vector<std::uint32_t> children{};  // in the order of the object's members or the list
  };
  std::uint32_t add(YamlPosition here) {
    nodes_.push_back(Node{here, {}});
    return static_cast<std::uint32_t>(nodes_.size() - 1);
  }
  Node& operator[](std::uint32_t index) { return nodes_[index]; }
  const Node& operator[](std::uint32_t index) const { return nodes_[index]; }

 private:
  std::vector<Node> nodes_{};
};

// A key that a map has twice.
struct RepeatedKey {
  std::string key{};
  YamlPosition at{};     // of the one that holds, the last
  YamlPosition first{};  // of the one before it
};
std::string text_of(const RepeatedKey& repeated);

struct YamlDocument {
  boost::json::value value{};
  std::string file{};  // as the caller named it
  YamlPositions positions{};
  std::uint32_t root = 0;
  // As they were written, by their nodes: numbers whose shortest text is another (1.10, 1e3, 0x1f).
  std::map<std::uint32_t, std::string> odd_numbers{};
  std::vector<RepeatedKey> repeated{};  // where the last one holds: YamlLimits::last_key_holds

  // Of the field at a path such as "spec.containers[0].image": its key, or the list's element;
  // where the path leads nowhere, of the last part that exists. Keys with dots are found both as
  // they are and in brackets ("metadata.annotations[example.com/a]").
  YamlPosition position(std::string_view path) const;
  // "file:line:column path", or without the path where it is empty: Error::where of any later
  // stage.
  std::string where(std::string_view path) const;
  // The value at a path, or the last part of it that exists.
  const boost::json::value& value_at(std::string_view path) const;
  // The number at a path as its author wrote it.
  std::string number_at(std::string_view path, const boost::json::value& number) const;

 private:
  std::pair<const boost::json::value*, std::uint32_t> find(std::string_view path) const;
};

// The shortest text of a number: "1.13", "5".
std::string number_text(const boost::json::value& number);

// Bounds on what one text may hold.
struct YamlLimits {
  std::size_t document_bytes = 3 * 1024 * 1024;  // the API server's limit on a request body
  int depth = 100;
  // What aliases may add to a document, in bytes of the JSON text that it would make (alias bombs).
  std::size_t alias_bytes = 1024 * 1024;
  // Whether a plain y or n is a boolean, as kubectl reads it; the Python tools read a letter.
  bool letters_are_booleans = true;
  // Of a key that is given twice: taken and noted, as kubectl takes it. Refused otherwise.
  bool last_key_holds = false;
};

// Every document of the stream that is not empty, read as Kubernetes' tools read YAML: see
// yaml_scalar.hpp; keys become strings; `<<` merges; JSON text is YAML too. Refused, with
// "file:line:column": text that is not YAML or not UTF-8, a key given twice, tags other than
// !!str, !!map and !!seq, whatever is beyond the limits. Throws nothing.
Result<std::vector<YamlDocument>> parse_yaml(std::string_view text, std::string file,
                                             const YamlLimits& limits = {});

}  // namespace ddptwin
