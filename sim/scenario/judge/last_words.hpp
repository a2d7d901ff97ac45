// What the last lines of a container say about its end: which of them tells most, and whether they
// only tell of somebody else's end.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace ddptwin::scenario {

// The line that tells why a program ended: the exception that a Python traceback ends with (of
// several the last, but not one that is a peer's or a child's), else the last line that says
// anything. Empty: no line does.
std::string telling_line(std::span<const std::string> lines);

// The line speaks of a connection that was lost, refused or timed out, or of a name that is not
// there: what a survivor says when a peer has ended. Words of PyTorch's Gloo and NCCL, torchrun,
// glibc and Python, and of the init container that waits for a job's master.
bool tells_of_a_peer(std::string_view line);

// The line says that a process gave up waiting for the others, who may all be there: who did not
// come says nothing itself.
bool tells_of_a_wait(std::string_view line);

// The line is the last that a rank says of a collective in which it stands, until NCCL's watchdog
// ends it (spec/gpu.md §5).
bool tells_of_standing(std::string_view line);

// What of a real run's line is this machine's doing, whose own tools took the place of an image's:
// "this machine's Python has no such module ...", with the way out. Empty: nothing.
std::string_view lack_of_host(std::string_view line);

}  // namespace ddptwin::scenario
