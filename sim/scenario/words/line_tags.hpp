// What stands before the words of a rank in its log.
#pragma once

#include <string_view>

namespace ddptwin::scenario {

// The line without "[default0]:" (role and local rank: torchrun's --tee, spec/ddp-semantics.md §4),
// "[rank0]: " (PyTorch 2.x before a traceback's lines, §9.2) and the blanks behind them.
std::string_view without_tags(std::string_view line);

}  // namespace ddptwin::scenario
