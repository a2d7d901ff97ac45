#include "dns/zone_feed.hpp"

namespace ddptwin::dns {

ZoneFeed::ZoneFeed(Loop& loop, api::ApiClient& client, Zone& zone)
    : namespaces_(loop, client, {.kind = &Namespace::info()}),
      services_(loop, client, {.kind = &Service::info()}),
      slices_(loop, client, {.kind = &EndpointSlice::info()}) {
  for (api::Informer* informer : {&namespaces_, &services_, &slices_})
    informer->add_handler([&loop, &zone](const ObjectPtr& before, const ObjectPtr& after) {
      zone.change(before, after, loop.now());
    });
}

void ZoneFeed::start() {
  for (api::Informer* informer : {&namespaces_, &services_, &slices_}) informer->start();
}

bool ZoneFeed::synced() const {
  return namespaces_.synced() && services_.synced() && slices_.synced();
}

}  // namespace ddptwin::dns
