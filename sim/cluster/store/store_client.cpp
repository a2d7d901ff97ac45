#include "cluster/store/store_client.hpp"

#include <memory>

namespace ddptwin {

void StoreClient::call(api::Request&& request, api::Completion done) {
  post(std::unique_ptr<api::Asked>(new api::Asked{std::move(request), std::move(done)}));
}

void StoreClient::post(std::unique_ptr<api::Asked> asked) {
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
