// A part of kube-controller-manager with a store, and nobody else: for the parts' tests.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <memory>

#include "api/shared_informers.hpp"
#include "cluster/store/store_client.hpp"
#include "core/virtual_loop.hpp"

namespace ddptwin::manager_test {

inline constexpr Time start{std::chrono::hours(24 * 365 * 50)};

// A client that counts the calls about each kind, and refuses the next writes of a kind's status,
// or of another of its subresources, as often as it is told.
class RefusingClient final : public api::ApiClient {
 public:
  RefusingClient(Loop& loop, api::ApiClient& next)
      : loop_(loop), next_(next), lane_(loop.new_lane()) {}

  void call(api::Request&& request, api::Completion done) override {
    ++calls[request.target.kind];
    int& left = refusals[request.target.kind];
    if (request.target.subresource != subresource || left == 0)
      return next_.call(std::move(request), std::move(done));
    --left;
    loop_.post(lane_, [done = std::move(done)]() mutable {
      done(fail(Reason::conflict, "the object has been modified"));
    });
  }
  std::unique_ptr<api::Watch> watch(const api::Target& target, const api::ListOptions& options,
                                    api::WatchSink sink) override {
    return next_.watch(target, options, std::move(sink));
  }
  const KindRegistry& kinds() const override { return next_.kinds(); }

  std::map<const KindInfo*, int> refusals{};  // to come
  std::map<const KindInfo*, int> calls{};
  std::string_view subresource = "status";

 private:
  Loop& loop_;
  api::ApiClient& next_;
  Lane lane_;
};

struct ManagerWorld {
  ManagerWorld() { store.seal(); }

  VirtualLoop loop{Random(3), start};
  Trace trace{loop};
  KindRegistry kinds;
  Store store{loop, Random(5), trace, kinds};
  StoreClient direct{loop, store, "kube-controller-manager"};
  RefusingClient client{loop, direct};
  api::SharedInformers informers{loop, direct};

  void run(Duration time) { loop.run_until(loop.now() + time); }
  ObjectPtr must(const api::Request& request) {
    auto answer = store.call(request, "test");
    EXPECT_TRUE(answer.has_value()) << (answer ? "" : answer.error().message);
    return answer ? answer->object : nullptr;
  }
};

}  // namespace ddptwin::manager_test
