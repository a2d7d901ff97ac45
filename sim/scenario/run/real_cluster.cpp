#include "scenario/run/real_cluster.hpp"

#include "dns/server.hpp"
#include "scenario/run/stand_ins.hpp"

namespace ddptwin::scenario {
namespace {

constexpr std::uint16_t dns_port = 53;

Result<dns::Sockets> open_sockets(ProcessRuntime& runtime, const std::string& address) {
  dns::Sockets sockets;
  sockets.port = dns_port;
  TRY(sockets.udp, runtime.bind_udp(address, dns_port));
  TRY(sockets.tcp, runtime.listen_tcp(address, dns_port));
  return sockets;
}

}  // namespace

// Members end in the reverse order of their making.
struct RealCluster::Parts {
  Parts(RealLoop& loop, WorldOptions options, std::unique_ptr<ProcessRuntime> r)
      : runtime(std::move(r)), world(loop, std::move(options), runtime.get()) {}

  std::unique_ptr<ProcessRuntime> runtime;
  World world;
  std::unique_ptr<dns::Server> server{}, node_server{};
};

RealCluster::RealCluster(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
RealCluster::~RealCluster() = default;

Result<std::unique_ptr<RealCluster>> RealCluster::make(RealLoop& loop, WorldOptions options,
                                                       const std::vector<NamedImage>& images,
                                                       bool warm_workers) {
  const std::string address = options.dns.address;
  TRY(auto runtime, ProcessRuntime::start(loop, {.warm_workers = warm_workers,
                                                 .stand_in = stand_in_commands(images)}));
  for (const NamedImage& image : images) {
    if (image.missing)
      runtime->add_missing_image(image.name);
    else
      runtime->add_image(image.name, image.image);
  }
  TRY(const dns::Sockets sockets, open_sockets(*runtime, address));
  std::optional<dns::Sockets> node_sockets;
  if (!options.dns.host.servers.empty()) {
    TRY(node_sockets, open_sockets(*runtime, options.dns.host.servers.front()));
  }
  options.kubelet.connect = [&pods = *runtime](const std::string& host, std::uint16_t port,
                                               Duration timeout, Done<int> done) {
    pods.try_connect(host, port, timeout, std::move(done));
  };
  options.kubelet.ask = [&pods = *runtime](const PortRequest& request, Duration timeout,
                                           UniqueFunction<void(Result<PortReply>)> done) {
    pods.ask(request, timeout, std::move(done));
  };
  auto parts = std::make_unique<Parts>(loop, std::move(options), std::move(runtime));
  parts->server = std::make_unique<dns::Server>(loop, parts->world.resolver(), sockets);
  if (node_sockets)
    parts->node_server =
        std::make_unique<dns::Server>(loop, parts->world.node_resolver(), *node_sockets);
  return std::unique_ptr<RealCluster>(new RealCluster(std::move(parts)));
}

Status RealCluster::start() { return parts_->world.start(); }
World& RealCluster::world() { return parts_->world; }
ProcessRuntime& RealCluster::runtime() { return *parts_->runtime; }

}  // namespace ddptwin::scenario
