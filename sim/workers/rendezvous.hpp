// What both engines do around their store client.
#pragma once

#include <string>

#include "options.hpp"

namespace ddptwin::workers {

// Looks every 20 ms whether somebody listens at host:port, for at most `window`; comes back at once
// when somebody does, and also on what c10d does not retry (no route). c10d itself looks once a
// second (1.13) or with growing pauses (2.x): spec/ddp-semantics.md §2.4, §9.2. It never throws:
// what is wrong is found again, and told, by the store client.
void await_listener(const std::string& host, int port, Duration window);

}  // namespace ddptwin::workers
