// Objects by what they carry or ask for, so that a controller need not look at all of a kind.
#pragma once

#include <boost/container/small_vector.hpp>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/print_table.hpp"
#include "objects/object_map.hpp"

namespace ddptwin {
struct Service;
}

namespace ddptwin::api {

// Labels that objects of a namespace are asked for: what stands for their values is worked out once
// for all indices and times.
class LabelQuery {
 public:
  LabelQuery() = default;  // asks for nothing
  LabelQuery(Text space, Cow<StringMap> labels);
  const Text& name_space() const { return namespace_; }
  const StringMap& labels() const { return labels_; }
  const Fingerprint& keys() const { return keys_; }
  const Fingerprint& values() const { return values_; }

 private:
  Text namespace_{};
  Cow<StringMap> labels_{};
  Fingerprint keys_{}, values_{};
};

// Objects by namespace and the values of some labels. Looked up by value only, never walked. It
// knows the places where an ObjectMap keeps them: another object of the same name that comes to
// such a place need not be put again while its labels stay.
class LabelIndex {
 public:
  using Labels = const StringMap& (*)(const Object&);

  // `keys` are in order. `labels` says which of the object's maps is meant; its labels, unless
  // something else is given.
  explicit LabelIndex(std::vector<Text> keys, Labels labels = &labels_of);

  void put(const ObjectPtr& place);
  void put(ObjectPtr&&) = delete;  // a place stays
  // Before the place is given up.
  void drop(const Object& object);
  // Where those are that carry these values for the index's keys, by name; until it changes.
  using Places = std::span<const ObjectPtr* const>;
  Places find(std::string_view namespace_, const StringMap& labels) const;
  // The same of labels whose keys are the index's and no others; nothing where they are not.
  std::optional<Places> find_exactly(std::string_view namespace_, const StringMap& labels) const;
  std::optional<Places> find_exactly(const LabelQuery& query) const;
  // Of an index of one key.
  Places find(std::string_view namespace_, std::string_view value) const;
  const std::vector<Text>& keys() const { return keys_; }

 private:
  static const StringMap& labels_of(const Object& object) { return *object.metadata.labels; }
  // What stands for the namespace and the values; nothing unless all keys are there.
  std::optional<Fingerprint> project(std::string_view namespace_, const StringMap& labels) const;
  Places at(const Fingerprint& values) const;

  std::vector<Text> keys_;
  Fingerprint print_of_keys_{};
  Labels labels_;
  // In the order of their names. Most values are those of one object.
  class List {
   public:
    // Until any list of the index changes.
    Places places() const {
      if (several_ != nullptr) return *several_;
      return {&one_, one_ != nullptr ? std::size_t{1} : 0};
    }
    void put(const ObjectPtr& place);
    void drop(std::string_view name);

   private:
    const ObjectPtr* one_ = nullptr;
    std::unique_ptr<std::vector<const ObjectPtr*>> several_{};  // once there have been two
  };
  PrintTable<List> places_{};
};

// The labels of the pods that a Service has endpoints made for; an ExternalName's selector selects
// nothing.
const StringMap& endpoint_selector(const Service& service);

// Services by these. Those that ask for the same keys share a table by the values.
class SelectorIndex {
 public:
  void put(const ObjectPtr& place);
  void put(ObjectPtr&&) = delete;
  void drop(const Object& object);
  // Whether they may have different selectors.
  bool tells_apart(const Object& before, const Object& after) const;
  // Where the Services of that namespace are that select an object with these labels, by name;
  // until it changes or is asked again.
  using Places = boost::container::small_vector<const ObjectPtr*, 4>;
  const Places& selecting(std::string_view namespace_, const Cow<StringMap>& labels) const;

 private:
  LabelIndex* table_of(const StringMap& selector);

  std::vector<LabelIndex> by_keys_{};
  // What was asked last: several controllers ask of the same pod in turn.
  struct Answer {
    std::string namespace_{};
    Cow<StringMap> labels{};  // held, so that no other labels come to be the same memory
    Places places{};
  };
  mutable std::optional<Answer> last_{};
};

}  // namespace ddptwin::api
