// What a cluster's DNS knows: the records of Kubernetes' DNS-based service discovery 1.1.0, with
// the choices that CoreDNS makes where it leaves any (spec/kubernetes.md section 6.1, 6.2).
#pragma once

#include <boost/container/small_vector.hpp>
#include <boost/unordered/unordered_flat_map.hpp>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/hash.hpp"
#include "dns/message.hpp"
#include "objects/discovery_v1.hpp"

namespace ddptwin::dns {

struct ZoneOptions {
  std::string domain = "cluster.local";
  std::uint32_t ttl = 30;            // kubeadm's Corefile; CoreDNS alone has 5
  std::uint32_t negative_ttl = 30;   // SOA minimum and SOA TTL of NXDOMAIN and NODATA
  std::string server_ip{};           // the address of ns.dns.DOMAIN; empty: that name has none
  Rcode outside = Rcode::nx_domain;  // names of no zone of ours: there is no upstream to ask
  // But for these: NAME, in small letters and without the last dot, to its addresses.
  std::map<std::string, std::vector<std::string>, std::less<>> outside_names{};
};

// A value: the same objects give the same answers. Records are made at the question, from the
// Services, the EndpointSlices and the Namespaces it was last told of; ready endpoints only.
// Addresses come in the order of the slices; to shuffle them is for who asks.
class Zone {
 public:
  explicit Zone(const ZoneOptions& options = {});

  // One change, as api::InformerHandler hears it: `after` is null for an object that is gone.
  // Objects of other kinds are ignored.
  void change(const ObjectPtr& before, const ObjectPtr& after, Time now);

  // The answer's owner names repeat the case of the question.
  Answer answer(const Question& question) const;

  const ZoneOptions& options() const { return options_; }

 private:
  struct Entry {
    std::shared_ptr<const Service> service{};
    // By name. One, mostly.
    boost::container::small_vector<std::shared_ptr<const EndpointSlice>, 1> slices{};
  };
  // What a name within the zone stands for. A name that exists without records is found and empty.
  struct Found {
    bool exists = false;
    std::vector<ResourceRecord> records{};
    std::vector<ResourceRecord> additional{};
  };
  struct ServiceQuestion;

  // Of a namespace and a name. A table of them has no text in it that each change would have to
  // look at.
  using Key = Fingerprint;
  static Key key_of_service(std::string_view namespace_, std::string_view name);
  // The key of the Service that the object is or stands behind; nothing: none.
  static std::optional<Key> service_of(const Object& object);
  void drop(const Object& object);
  void put(const ObjectPtr& object);

  Answer answer_in_zone(const Question& question, const std::vector<std::string>& labels) const;
  Answer answer_reverse(const Question& question, const std::vector<std::string>& labels) const;
  Found find(const Question& question, const std::vector<std::string>& labels) const;
  Found find_pod(const Question& question, const std::vector<std::string>& labels) const;
  Found find_service(const Question& question, const std::vector<std::string>& labels) const;
  Found cluster_ip_records(const Entry& entry, const ServiceQuestion& asked) const;
  Found endpoint_records(const Entry& entry, const ServiceQuestion& asked) const;
  void chase_alias(const Question& question, Answer& answer) const;
  // Of one of the options' outside names; not found: of none of them.
  Found find_outside(const Question& question) const;
  std::vector<Name> names_of_ip(const std::string& ip) const;
  Name service_name(const Service& service) const;

  ResourceRecord record(const Name& name, RecordType type, RecordData data) const;
  ResourceRecord soa(const Name& zone) const;
  Answer negative(Rcode rcode, const Name& zone) const;

  ZoneOptions options_;
  Name domain_;
  Time changed_{};
  std::set<std::string, std::less<>> namespaces_{};
  // Who walks it sorts what it finds: its order cannot be seen.
  boost::unordered_flat_map<Key, Entry, std::hash<Key>> services_{};
};

}  // namespace ddptwin::dns
