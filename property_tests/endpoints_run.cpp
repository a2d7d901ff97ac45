#include "endpoints_run.hpp"

#include <algorithm>

#include "cluster/store/store.hpp"
#include "core/virtual_start.hpp"

namespace ddptwin::property {
namespace {

WorldOptions options_of(std::uint64_t seed, EndpointsRun::Watches& watches) {
  WorldOptions options;
  options.seed = seed;
  options.faults = &watches;
  return options;
}

}  // namespace

const std::vector<std::string>& EndpointsRun::processes() {
  static const std::vector<std::string> all{endpoints_process, slice_process, mirror_process};
  return all;
}

api::CallVerdict EndpointsRun::Watches::on_call(const api::Caller& caller,
                                                const api::Request& request) {
  if (!api::is_write(request) || refused.erase(caller.instance) == 0) return {};
  api::CallVerdict verdict;
  verdict.refuse = api::injected_error(500, "");
  return verdict;
}

api::EventVerdict EndpointsRun::Watches::on_event(const api::Caller& caller, const KindInfo& kind,
                                                  const api::WatchEvent&) {
  const std::vector<std::string>& all = processes();
  if (std::find(all.begin(), all.end(), caller.instance) == all.end()) return {};
  api::EventVerdict verdict;
  if (cut.erase(caller.instance + " " + std::string(kind.kind)) > 0) verdict.cut = 3s;
  if (!delays.empty()) verdict.delay = std::chrono::milliseconds(delays[seen_++ % delays.size()]);
  return verdict;
}

EndpointsRun::EndpointsRun(std::uint64_t seed)
    : loop_(Random(seed).split("loop"), virtual_start),
      world_(loop_, options_of(seed, watches), nullptr) {
  world_.store().seal();
  DDPTWIN_ASSERT(world_.start().has_value());
  rest(5s);
}

void EndpointsRun::call(const api::Request& request) {
  const auto answer = world_.call(request, "user");
  if (!answer) RC_FAIL(answer.error().message);
}

std::shared_ptr<Service> service_object(const std::string& name, bool selects) {
  auto service = std::make_shared<Service>();
  service->metadata.name = name;
  service->metadata.namespace_ = "default";
  ServiceSpec& spec = service->spec.edit();
  spec.clusterIP = "None";
  if (selects) spec.selector = {{"app", name}};
  spec.ports = {{.name = "job", .protocol = "TCP", .port = 23456}};
  return service;
}

}  // namespace ddptwin::property
