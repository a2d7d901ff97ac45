// The names under which a recording speaks of what differs from run to run: uids, generated names,
// addresses, times (tests/recordings/README.md, "Symbols").
#pragma once

#include <boost/json.hpp>
#include <map>
#include <string>
#include <vector>

#include "core/time.hpp"
#include "objects/object.hpp"

namespace ddptwin::golden {

class Symbols {
 public:
  // The namespace that the case runs in, shown as `default`.
  explicit Symbols(std::string case_namespace) : namespace_(std::move(case_namespace)) {}

  // Learns of a new object, and of addresses that an object has got.
  void learn(const Object& object);
  void begin_step(Time time) { step_begins_.push_back(time); }

  // "web-abc12" -> "web-~1", where the name was generated.
  std::string name_of(const Object& object) const;
  // "v1/Pod/web-~1": how `changed` and `gone` call the object.
  std::string key_of(const Object& object) const;
  // Every uid, generated name and address in a text becomes its symbol.
  std::string symbolic(std::string text) const;
  Json symbolic(const Json& value) const;
  // The other way: what a step's argument means here.
  std::string actual(std::string text) const;
  Json actual(const Json& value) const;

  // The step in which an instant lies; an instant before the first is in step 0.
  int step_of(Time time) const;
  Time begin_of(int step) const;
  void set_host_ip(std::string ip) { host_ip_ = std::move(ip); }
  void set_now(Time now) { now_ = now; }

 private:
  void learn_revision(const Object& revision);
  void replace_in_snapshot(std::string& text) const;

  std::string namespace_;
  std::string host_ip_{};
  Time now_{};
  std::vector<Time> step_begins_{};
  std::map<std::string, std::string> uids_{};  // uid -> uid(Kind/name)
  // The longest first: a generated name may be the beginning of another.
  struct LongerFirst {
    bool operator()(const std::string& a, const std::string& b) const {
      return a.size() != b.size() ? a.size() > b.size() : a < b;
    }
  };
  std::map<std::string, std::string, LongerFirst> names_{};  // generated name -> symbol
  std::map<std::string, std::string> addresses_{};           // ip -> ip(Kind/name)
  std::map<std::string, int> generated_{};                   // kind and prefix -> how many so far
  std::map<std::string, int> incarnations_{};                // group/Kind/name -> how many
  std::map<std::string, int> address_counts_{};  // Pod/name of one uid -> how many addresses so far
};

}  // namespace ddptwin::golden
