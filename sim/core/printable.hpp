// Text of others (what a container prints, what an event says) as it may stand in a row of a
// report: it stays in its row, and does nothing to the terminal that shows it.
#pragma once

#include <string>
#include <string_view>

namespace ddptwin {

// Line ends, other control characters and the characters that turn the direction of writing as
// escapes: \n, \r, \t, \x1b, \u009b. All else as it is.
std::string printable(std::string_view text);
// For lines of a program: its colours and other escape sequences (ECMA-48) are left out, a tab is
// a blank; what is left as above.
std::string printable_line(std::string_view line);

}  // namespace ddptwin
