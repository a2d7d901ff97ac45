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

ProcessPart::ProcessPart(ApiClient& client, SharedInformers& informers)
    : client_(client), informers_(informers) {}

ProcessPart::~ProcessPart() = default;

Informer& ProcessPart::hear(const KindInfo& kind, InformerHandler handler) {
  Informer& informer = informers_.of(kind);
  const bool is_heard = std::any_of(heard_.begin(), heard_.end(),
                                    [&](const Heard& heard) { return heard.kind == &kind; });
  if (is_heard) return informer;
  const Heard& heard = heard_.emplace_back(Heard{&kind, &informer, std::move(handler)});
  informer.add_handler([this, &heard](const ObjectPtr& before, const ObjectPtr& after) {
    if (running()) heard.handler(before, after);
  });
  if (running()) tell_of_old(heard);
  return informer;
}

void ProcessPart::begin() {
  DDPTWIN_ASSERT(!running());
  life_ = std::make_shared<int>(0);
  informers_.begin_part();
  for (const Heard& heard : heard_) tell_of_old(heard);
}

void ProcessPart::end() {
  if (!running()) return;
  life_.reset();
  informers_.end_part();
}

void ProcessPart::tell_of_old(const Heard& heard) {
  // A copy: what hears of one may change them.
  std::vector<ObjectPtr> all;
  for (const auto& [key, object] : heard.informer->objects()) all.push_back(object);
  told_of_old_ = true;
  for (const ObjectPtr& object : all) {
    const ContextScope of_this_object(informers_.loop_);
    if (running()) heard.handler(nullptr, object);
  }
  told_of_old_ = false;
}

}  // namespace ddptwin::api
