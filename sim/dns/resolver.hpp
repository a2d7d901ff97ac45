// Answers questions out of a zone: the place where time, chance, faults and the trace meet it. The
// server asks here, and so does a modelled worker in virtual time, without sockets.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>

#include "core/random.hpp"
#include "core/trace.hpp"
#include "dns/zone.hpp"

namespace ddptwin::dns {

struct Query {
  Question question{};
  std::string client{};  // the asker's address or name; for the trace and for faults
};

// What a fault does to one answer. The default lets it pass.
struct Verdict {
  Duration delay{};              // the answer is given later; what it says is looked up then
  bool lose = false;             // no answer at all: the client runs into its timeout
  std::optional<Rcode> rcode{};  // this instead of the answer: SERVFAIL, NXDOMAIN, ...
  std::optional<std::vector<Ipv4>> addresses{};  // these in place of the A records
};

class Resolver {
 public:
  using Fault = std::function<Verdict(const Query&)>;
  // Nothing: the answer was lost.
  using Done = UniqueFunction<void(std::optional<Answer>)>;

  // The zone, loop and trace outlive the resolver. Address records are given in an order drawn from
  // `random`, as CoreDNS's loadbalance plugin does.
  Resolver(Loop& loop, Trace& trace, Random random, const Zone& zone);

  // The fault port (design.md section 6). It is asked once a question.
  void set_fault(Fault fault) { fault_ = std::move(fault); }
  // `done` is posted, never called inside. The resolver's end forgets what is still open.
  void ask(Query query, Done done);

 private:
  void finish(std::uint64_t id);
  Answer judged(const Query& query, const Verdict& verdict);
  void shuffle(std::vector<ResourceRecord>& records);

  struct Open {
    Query query;
    Verdict verdict;
    Done done;
    Timer timer;
  };

  Loop& loop_;
  Trace& trace_;
  Random random_;
  const Zone& zone_;
  Lane lane_;
  Fault fault_{};
  std::map<std::uint64_t, Open> open_{};
  std::uint64_t last_id_ = 0;
};

}  // namespace ddptwin::dns
