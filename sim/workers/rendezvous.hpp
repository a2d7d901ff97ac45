// What both engines do around their store client.
#pragma once

#include "environment.hpp"
#include "options.hpp"

namespace ddptwin::workers {

// Looks every 20 ms whether somebody listens at the master's address, for at most `window`; the
// rank that is to listen there itself only looks whether the name has an address yet, as a pod's
// own name has none until the cluster has published it. Comes back at once when it is so, and also
// on what c10d does not retry (no route). c10d itself looks once a second (1.13) or with growing
// pauses (2.x): spec/ddp-semantics.md §2.4, §9.2. It never throws: what is wrong is found again,
// and told, by the store client.
void await_master(const RankEnvironment& environment, Duration window);

}  // namespace ddptwin::workers
