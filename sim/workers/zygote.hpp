// The zygote's side of zygote_protocol.hpp.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace ddptwin::workers {

// Serves until the other end closes the socket, then kills its workers and gives 0. `worker` runs
// in a forked child, inside its pod; what it gives is the exit code. Precondition: this process has
// one thread, which is checked (1 and a line on stderr if not).
int serve_zygote(int socket,
                 const std::function<int(const std::vector<std::string>& argv)>& worker);

}  // namespace ddptwin::workers
