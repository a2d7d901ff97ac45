// What `read` makes of what it reads (POSIX, read; bash(1)): a line, and the fields of it.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"
#include "core/time.hpp"
#include "runtime/model/shell/words.hpp"

namespace ddptwin::model::shell {

// A command line of `read`.
struct ReadOrder {
  bool raw = false;                    // -r
  char delimiter = '\n';               // -d; NUL of -d ''
  std::optional<std::size_t> most{};   // -n, -N
  bool exact = false;                  // -N: no delimiter ends it, and nothing is split
  std::optional<Duration> patience{};  // -t
  std::string array{};                 // -a
  std::vector<std::string> names{};    // bash's none: REPLY, which is not split
};
// `words` begin with "read". Reason::invalid: what the shell says of an option that it has not.
Result<ReadOrder> read_order(const std::vector<std::string>& words, Dialect dialect);
// What of it is not modelled, "read with -u"; empty: nothing. "$" stands for any text.
std::string unknown_read(const std::vector<std::string>& words);

struct ReadLine {
  std::string text{};
  std::vector<bool> escaped{};  // of each character: a backslash stood before it
  std::size_t size = 0;         // of what was read for it
  bool whole = false;           // it has an end; without, everything was taken
};
ReadLine text_of_read(std::string_view input, const ReadOrder& order);

// At most `most` of them, of which the last has all that is left; 0: as many as there are.
std::vector<std::string> fields_of_read(const ReadLine& line, std::string_view separators,
                                        std::size_t most);

}  // namespace ddptwin::model::shell
