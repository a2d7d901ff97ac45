// The store of this process as a cluster to talk to.
#pragma once

#include "api/client.hpp"
#include "cluster/store/store.hpp"

namespace ddptwin {

// Runs each request in a loop step of its own, on this client's lane, and answers in that step: the
// requests of one client are carried out in their order. The actor must outlive the trace (a
// literal).
class StoreClient final : public api::ApiClient {
 public:
  StoreClient(Loop& loop, Store& store, std::string_view actor)
      : loop_(loop), store_(store), actor_(actor), lane_(loop.new_lane()) {}

  void call(api::Request&& request, api::Completion done) override;
  void post(std::unique_ptr<api::Asked> asked) override;
  std::unique_ptr<api::Watch> watch(const api::Target& target, const api::ListOptions& options,
                                    api::WatchSink sink) override;
  const KindRegistry& kinds() const override { return store_.kinds(); }

 private:
  Loop& loop_;
  Store& store_;
  std::string_view actor_;
  Lane lane_;
};

}  // namespace ddptwin
