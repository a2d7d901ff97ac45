#include "scenario/run/real_cluster.hpp"

#include <map>

#include "dns/server.hpp"
#include "runtime/model/network.hpp"
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

using Links = std::vector<sandbox::SetLinks::Link>;

Error cannot_cut(const Error& refused) {
  Error error = refused;
  error.message = "faults of links and nodes need nf_tables: " + refused.message;
  return error;
}

}  // namespace

Status can_cut_links(ProcessRuntime& runtime) {
  // Of addresses that nobody has (RFC 5737).
  for (Links tried : {Links{{"192.0.2.1", "192.0.2.2", true, false}}, Links{}})
    if (const Status can = runtime.try_links(std::move(tried)); !can)
      return fail(cannot_cut(can.error()));
  return {};
}

// Members end in the reverse order of their making.
struct RealCluster::Parts {
  Parts(RealLoop& loop, WorldOptions options, std::unique_ptr<ProcessRuntime> r)
      : runtime(std::move(r)), world(loop, std::move(options), runtime.get()) {}

  void set_links(std::function<void(const Error&)> failed);

  std::unique_ptr<ProcessRuntime> runtime;
  // What is wrong now, by address and by pair of them.
  std::map<std::string, model::LinkFault> hosts{};
  std::map<std::pair<std::string, std::string>, model::LinkFault> links{};
  World world;
  std::unique_ptr<dns::Server> server{}, node_server{};
};

void RealCluster::Parts::set_links(std::function<void(const Error&)> failed) {
  Links all;
  for (const auto& [address, fault] : hosts)
    if (!fault.none()) all.push_back({address, "", fault.drop, fault.reset});
  for (const auto& [pair, fault] : links)
    if (!fault.none()) all.push_back({pair.first, pair.second, fault.drop, fault.reset});
  runtime->set_links(std::move(all), [failed = std::move(failed)](const Result<void>& result) {
    if (!result) failed(cannot_cut(result.error()));
  });
}

RuntimePorts RealCluster::fault_ports(std::function<void(const Error&)> failed) {
  RuntimePorts made;
  made.signal = [this](const RunningContainer& container, int signal) {
    runtime().signal_container(container.id, signal, {}, [](const Result<void>&) {});
  };
  made.signal_chosen = [this](const RunningContainer& container, int signal,
                              const ProcessChoice& choice, Done<void> done) {
    runtime().signal_container(container.id, signal, choice, std::move(done));
  };
  made.exit = [this](const RunningContainer& container, int code) {
    runtime().exit_container(container.id, code, [](const Result<void>&) {});
  };
  made.set_host = [this, failed](const std::string& address, const model::LinkFault& fault) {
    parts_->hosts[address] = fault;
    parts_->set_links(failed);
  };
  made.set_link = [this, failed](const std::string& from, const std::string& to,
                                 const model::LinkFault& fault) {
    // A link that heals does so both ways.
    if (fault.none()) parts_->links.erase({to, from});
    parts_->links[{from, to}] = fault;
    parts_->set_links(failed);
  };
  return made;
}

RealCluster::RealCluster(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
RealCluster::~RealCluster() = default;

Result<std::unique_ptr<RealCluster>> RealCluster::make(RealLoop& loop, WorldOptions options,
                                                       const std::vector<NamedImage>& images,
                                                       bool warm_workers, bool cuts_links) {
  const std::string address = options.dns.address;
  TRY(auto runtime, ProcessRuntime::start(loop, {.warm_workers = warm_workers,
                                                 .stand_in = stand_in_commands(images)}));
  if (cuts_links) TRY_VOID(can_cut_links(*runtime));
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
