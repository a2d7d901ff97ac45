// Keeps a Zone level with a cluster, as CoreDNS does: three watches.
#pragma once

#include "api/informer.hpp"
#include "dns/zone.hpp"

namespace ddptwin::dns {

class ZoneFeed {
 public:
  // Outlived by all three. Nothing happens before start().
  ZoneFeed(Loop& loop, api::ApiClient& client, Zone& zone);

  void start();
  // Every list has arrived once: before it, names are missing that exist.
  bool synced() const;

 private:
  api::Informer namespaces_, services_, slices_;
};

}  // namespace ddptwin::dns
