// Whether what the store has published stays as it was: for tests, in which nobody may edit an
// object that others see already.
#pragma once

#include <cstdint>
#include <unordered_map>

#include "objects/object.hpp"

namespace ddptwin {

// Knows objects by their address: who seals one keeps it until it is checked for the last time.
class Seals {
 public:
  void put_on(const Object& published);
  // Ends the program, and says which object it is, where it is not what it was. One without a seal
  // was there before there were any.
  void require_whole(const Object& published) const;
  void break_off(const Object& published) { seals_.erase(&published); }

 private:
  // Looked up only: its order cannot be seen.
  std::unordered_map<const Object*, std::uint64_t> seals_{};
};

}  // namespace ddptwin
