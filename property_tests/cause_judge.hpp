// Whether what a trace names as the cause of a record about a pod can be its cause: the law of
// docs/reference/trace.md, "Causes".
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/trace.hpp"
#include "objects/core_v1.hpp"

namespace ddptwin::property {

// A sink of a trace. What a record is about has names: "Pod/default/a", "Node//n0"; where the
// record tells no kind, "default/a" alone.
class CauseJudge {
 public:
  void on_record(const Record& record);
  // The first record whose cause has nothing to do with it, in words; empty: there is none.
  const std::string& wrong() const { return wrong_; }
  std::size_t judged() const { return judged_; }

 private:
  struct Told {
    RecordKind kind{};
    std::set<std::string> names{};
    bool of_placed_pod = false;  // it frees a place, or takes it
    std::string words{};
  };
  std::set<std::string> names_of(const Record& record) const;
  void judge(const Record& record, const Told& told);
  bool is_related(const std::string& pod, const Told& told, const Told& cause) const;

  // All that there was of a name: owners and nodes of those that were made anew too.
  std::map<std::string, std::set<std::string>> relations_{};  // by "Pod/namespace/name"
  std::vector<Told> told_{};                                  // by record id
  std::uint64_t first_ = 0;                                   // the first record heard of
  std::size_t judged_ = 0;
  std::string wrong_{};
};

}  // namespace ddptwin::property
