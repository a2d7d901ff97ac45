// Services and pods that come, change and go without a kubelet, and what a client hears of their
// names.
#pragma once

#include <memory>
#include <optional>
#include <ostream>
#include <set>
#include <string>
#include <vector>

#include "core/virtual_loop.hpp"
#include "dns/resolver.hpp"
#include "property.hpp"
#include "scenario/world/world.hpp"

namespace ddptwin::property {

inline constexpr std::int32_t job_port = 23456;
inline constexpr const char* alias_inside = "kubernetes.default.svc.cluster.local";

// What happens to one of two Services or three pods, in either of two namespaces.
struct DnsChange {
  enum class Kind : std::uint8_t {
    create_service,
    delete_service,
    relabel_service,    // which selects as before
    publish_not_ready,  // or no longer
    create_pod,
    start_pod,  // it has its address, and is not ready
    ready_pod,
    unready_pod,
    end_pod,  // Succeeded: nothing of it is ready
    relabel_pod,
    let_pod_terminate,
    delete_pod,
  };
  Kind kind = Kind::create_pod;
  std::string namespace_{};
  std::string service{};
  std::string pod{};
  int shape = 0;  // of what is made
};
void showValue(const DnsChange& change, std::ostream& out);
rc::Gen<DnsChange> any_dns_change();

// A name's answer as its rcode and the data in it; the order of records is chance.
struct DnsSeen {
  dns::Rcode rcode = dns::Rcode::nx_domain;
  std::multiset<std::string> records{};
  bool operator==(const DnsSeen&) const = default;
};
void showValue(const DnsSeen& seen, std::ostream& out);
std::string data_text(const dns::ResourceRecord& record);

class DnsRun {
 public:
  explicit DnsRun(std::uint64_t seed);

  void apply(const DnsChange& change);
  void settle() { loop_.run_until(loop_.now() + 2s); }

  // The question's letters are now of one case and now of the other: nobody may mind.
  DnsSeen ask(const std::string& name, dns::RecordType type);
  // What is heard of a question, and after how long; nothing: no answer within a minute.
  struct Heard {
    std::optional<dns::Answer> answer{};
    Duration after{};
  };
  Heard hear(const dns::Question& question);
  void set_fault(const dns::Verdict& verdict) {
    world_.resolver().set_fault([verdict](const dns::Query&) { return verdict; });
  }

  std::vector<std::shared_ptr<const Service>> services() const { return all<Service>(); }
  std::vector<std::shared_ptr<const Pod>> pods() const { return all<Pod>(); }
  template <class T>
  std::vector<std::shared_ptr<const T>> all() const {
    std::vector<std::shared_ptr<const T>> out;
    for (const ObjectPtr& object : world_.objects(T::info(), "")) out.push_back(as<T>(object));
    return out;
  }
  // What a user does by hand; it may be refused, and is there or gone already then.
  void call(const api::Request& request) { static_cast<void>(world_.call(request, "user")); }

 private:
  std::shared_ptr<const Pod> pod(const DnsChange& change) const {
    return as<Pod>(world_.find(Pod::info(), change.namespace_, change.pod));
  }
  void create_service(const DnsChange& change);
  void create_pod(const DnsChange& change);
  void write_status(const DnsChange& change);

  VirtualLoop loop_;
  World world_;
  int last_address_ = 0;
};

}  // namespace ddptwin::property
