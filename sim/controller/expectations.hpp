#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/text_table.hpp"
#include "core/time.hpp"

namespace ddptwin::controller {

// What a controller has asked for and not yet seen in its cache: creations and deletions by key.
// Kept in memory only; a crash of the controller loses it. Source: client-go
// ControllerExpectations as Kubeflow's common library copied it (spec/pytorchjob.md §4.1).
class Expectations {
 public:
  static constexpr Duration timeout = std::chrono::minutes(5);

  // Replaces the record of the key.
  void set(const std::string& key, int adds, int dels, Time now);
  // Adds to it, without moving its age; makes it where there is none.
  void raise(const std::string& key, int adds, int dels, Time now);
  // Something was seen. Without a record nothing happens; counters may go below zero.
  void lower(const std::string& key, int adds, int dels);
  void forget(const std::string& key) { records_.erase(key); }
  void clear() { records_.clear(); }

  // No record, or both counters at or below zero, or older than the timeout.
  bool satisfied(std::string_view key, Time now) const;

 private:
  struct Record {
    int adds = 0;
    int dels = 0;
    Time since{};
  };
  TextTable<Record> records_;
};

}  // namespace ddptwin::controller
