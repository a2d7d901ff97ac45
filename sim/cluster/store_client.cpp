#include "cluster/store_client.hpp"

#include <memory>

namespace ddptwin {

void StoreClient::call(api::Request&& request, api::Completion done) {
  struct Asked {
    api::Request request;
    api::Completion done;
  };
  // In one piece of memory: the loop hands on a pointer, not each part of it.
  std::unique_ptr<Asked> asked(new Asked{std::move(request), std::move(done)});
  loop_.post(lane_, [this, asked = std::move(asked)] {
    asked->done(store_.call(std::move(asked->request), actor_));
  });
}

std::unique_ptr<api::Watch> StoreClient::watch(const api::Target& target,
                                               const api::ListOptions& options,
                                               api::WatchSink sink) {
  return store_.watch(target, options, std::move(sink));
}

}  // namespace ddptwin
