// The pods' network without packets: who listens where, what a connection attempt meets, which
// pairs of pods are cut, slow or reset, and who learns when a process ends.
// Source: spec/ddp-semantics.md §3.3, §3.5, §6.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "core/loop.hpp"
#include "core/result.hpp"
#include "runtime/model/port_answers.hpp"

namespace ddptwin::model {

using ProcessId = std::uint32_t;

// What is done to what goes between two pods. The default lets it pass.
struct LinkFault {
  // Packets vanish, both ways: nothing is told to anybody until TCP gives up.
  bool drop = false;
  // nft reject with tcp reset, in the first of the two pods: the second is told that the connection
  // is gone when it sends next, the first is told nothing. New connections are refused.
  bool reset = false;
  Duration delay{};  // added one way, both ways
  bool none() const { return !reset && !drop && delay == Duration::zero(); }
  friend bool operator==(const LinkFault&, const LinkFault&) = default;
};

enum class Connect : std::uint8_t {
  accepted,     // after one round trip
  refused,      // ECONNREFUSED, after one round trip
  no_host,      // EHOSTUNREACH: an address of the pods' or nodes' range that nobody has
  unreachable,  // ENETUNREACH: no route
  timed_out,    // ETIMEDOUT: SYNs vanish until the caller's patience ends
};
int errno_of(Connect outcome);  // 0 for accepted

// What listens behind a port. A null one is a foreign program: it accepts and never answers.
class Service {
 public:
  virtual ~Service() = default;
  // Its process has ended: the other ends are told by the kernel.
  virtual void owner_ended() {}
};

class Network {
 public:
  // `no_host`: how long it takes to find out that nobody has an address (ARP).
  Network(Loop& loop, Duration round_trip, Duration no_host);
  ~Network();
  Network(const Network&) = delete;

  // Pods. An address is attached at most once at a time, but for a node's: the pods on its network
  // share it, ports and all, and it stays.
  void attach(const std::string& address);
  // Nobody answers there any more; faults of its links stay until they heal.
  void detach(const std::string& address);
  bool is_attached(const std::string& address) const { return hosts_.contains(address); }

  // Faults: between two addresses, or of all that goes to and from one. All that is installed acts,
  // and delays add up. A default fault heals.
  void set_link(const std::string& one, const std::string& other, const LinkFault& fault);
  void set_host(const std::string& address, const LinkFault& fault);
  // Of both directions together; `reset` says whether `other` is told of it.
  LinkFault link(const std::string& one, const std::string& other) const;
  // The loop's context in which what is wrong between them was installed; 0: nothing is.
  std::uint64_t cause_between(const std::string& one, const std::string& other) const;
  bool any_fault() const { return !links_.empty() || !isolated_.empty(); }
  // Called after every change of a fault; the returned number ends it.
  std::uint64_t watch_links(std::function<void()> changed);
  void unwatch_links(std::uint64_t watch) { watches_.erase(watch); }

  // A listening socket on all addresses of a pod. The error is EADDRINUSE. It ends with unlisten(),
  // or with its process. Port 0 takes a free one.
  Result<std::uint16_t> listen(const std::string& address, std::uint16_t port, ProcessId owner,
                               Service* service, const PortAnswers& answers = {});
  void unlisten(const std::string& address, std::uint16_t port);
  struct Listener {
    ProcessId owner = 0;
    Service* service = nullptr;
    PortAnswers answers{};
  };
  const Listener* listener(const std::string& address, std::uint16_t port) const;

  // What an attempt made now would meet. 127.0.0.0/8 is the caller itself.
  Connect would_connect(const std::string& from, const std::string& to, std::uint16_t port) const;
  // One attempt: what the network is like when the packets arrive. Nothing is held open: who wants
  // to know of the other's end is StoreClient or a member of a group. `patience` bounds what would
  // never be answered. The answer of an attempt whose caller ended must be ignored by it.
  void connect(const std::string& from, const std::string& to, std::uint16_t port,
               Duration patience, Lane lane, UniqueFunction<void(Connect)> done);

  // A node's request to one of its pods: an attempt, and then what the listener's answers say.
  // Without patience (zero) it waits for as long as it takes.
  void ask(const PortRequest& request, Duration patience, Lane lane,
           UniqueFunction<void(Result<PortReply>)> done);

  Duration round_trip(const std::string& one, const std::string& other) const;

  // The sockets of a process are closed.
  void close_all(ProcessId owner);

 private:
  struct Attempt;
  struct Question;
  void finish(std::uint64_t id);
  void put(const PortRequest& request, Time end, bool patient, Lane lane,
           UniqueFunction<void(Result<PortReply>)> done);
  void reply(std::uint64_t id, Duration delay, PortReply reply);
  void changed();

  Loop& loop_;
  Duration round_trip_;
  Duration no_host_;
  std::set<std::string, std::less<>> hosts_;
  std::map<std::pair<std::string, std::uint16_t>, Listener> listeners_;
  // As it was installed, and in which context.
  struct Installed : LinkFault {
    std::uint64_t cause = 0;
  };
  void install(Installed& known, const LinkFault& fault);
  std::map<std::pair<std::string, std::string>, Installed> links_;
  std::map<std::string, Installed, std::less<>> isolated_;
  std::map<std::uint64_t, std::function<void()>> watches_;
  std::map<std::uint64_t, std::unique_ptr<Attempt>> attempts_;
  std::map<std::uint64_t, std::unique_ptr<Question>> questions_;
  std::uint64_t last_id_ = 0;
  std::uint16_t last_port_ = 32767;
};

}  // namespace ddptwin::model
