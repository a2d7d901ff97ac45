#include "cluster/store_client.hpp"

namespace ddptwin {

void StoreClient::call(api::Request request, api::Completion done) {
  loop_.post(lane_, [this, request = std::move(request), done = std::move(done)]() mutable {
    done(store_.call(request, actor_));
  });
}

std::unique_ptr<api::Watch> StoreClient::watch(api::Target target, api::ListOptions options,
                                               api::WatchSink sink) {
  return store_.watch(target, options, std::move(sink));
}

}  // namespace ddptwin
