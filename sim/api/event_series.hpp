// Events as the scheduler writes them, of events.k8s.io: the newer form (eventTime, action,
// reportingController), where an event that comes again is a series on the first
// (spec/kubernetes.md §3.2).
#pragma once

#include <map>
#include <string>
#include <unordered_map>

#include "api/client.hpp"
#include "core/hash.hpp"
#include "objects/core_v1.hpp"

namespace ddptwin::api {

// Of equal events within series_time the second makes the first a series of two; later ones are
// kept back, as the real recorder does, which would write their number half an hour later. Events
// are equal when they regard the same version of the same object in the same words.
class EventSeries {
 public:
  static constexpr Duration series_time = std::chrono::minutes(6);
  static constexpr std::size_t remembered_max = 4096;

  EventSeries(Loop& loop, ApiClient& client, std::string_view component)
      : loop_(loop), client_(client), component_(component) {}

  struct Words {
    std::string_view type{};
    std::string_view reason{};
    std::string_view action{};
    std::string message{};
  };
  void event(const Object& regarding, Words words, const Object* related = nullptr);

 private:
  // When one came last; of one instant in the order of their coming.
  using Age = std::pair<Time, std::uint64_t>;
  struct Known {
    std::uint64_t number = 0;  // of its name
    Age last{};
    int count = 1;
  };
  void forget_oldest();
  void forget_old();

  Loop& loop_;
  ApiClient& client_;
  // By object, version and words. Looked up only: its order cannot be seen.
  std::unordered_map<Fingerprint, Known> known_{};
  std::map<Age, Fingerprint> by_age_{};
  std::uint64_t comings_ = 0;
  Time last_name_{};
  const Text component_;
};

}  // namespace ddptwin::api
