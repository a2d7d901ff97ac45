#include "api/shared_informers.hpp"

#include <algorithm>

namespace ddptwin::api {

Informer& SharedInformers::of(const KindInfo& kind) {
  const auto known =
      std::find_if(all_.begin(), all_.end(), [&](const Shared& one) { return &one.kind == &kind; });
  if (known != all_.end()) return known->informer;
  Informer& made = all_.emplace_back(loop_, client_, kind).informer;
  if (parts_ > 0) made.start();
  return made;
}

void SharedInformers::begin_part() {
  if (parts_++ > 0) return;
  for (Shared& one : all_) one.informer.restart();
}

void SharedInformers::end_part() {
  DDPTWIN_ASSERT(parts_ > 0);
  --parts_;
}

}  // namespace ddptwin::api
