// A store with a client of it: for what needs no more of a cluster.
#pragma once

#include "api/shared_informers.hpp"
#include "cluster/store/store.hpp"
#include "cluster/store/store_client.hpp"
#include "core/virtual_loop.hpp"
#include "core/virtual_start.hpp"

namespace ddptwin::property {

struct BareStore {
  BareStore() { store.seal(); }
  void rest(Duration duration) { loop.run_until(loop.now() + duration); }

  VirtualLoop loop{Random(1), virtual_start};
  Trace trace{loop};
  KindRegistry kinds{};
  Store store{loop, Random(7), trace, kinds};
  StoreClient client{loop, store, "test"};
  api::SharedInformers informers{loop, client};
};

}  // namespace ddptwin::property
