#include "cluster/store/seals.hpp"

#include <cstdio>

#include "core/hash.hpp"
#include "objects/codec.hpp"
#include "objects/strategy.hpp"

namespace ddptwin {
namespace {

std::uint64_t seal_of(const Object& object) { return fnv1a(to_text(object)); }

}  // namespace

void Seals::put_on(const Object& published) { seals_[&published] = seal_of(published); }

void Seals::require_whole(const Object& published) const {
  const auto seal = seals_.find(&published);
  if (seal == seals_.end()) return;
  const bool is_as_published = seal->second == seal_of(published);
  if (!is_as_published)
    std::fprintf(stderr, "ddptwin: it was published and edited since: %s %s\n",
                 published.kind().kind.c_str(), to_text(published).c_str());
  DDPTWIN_ASSERT(is_as_published);
}

}  // namespace ddptwin
