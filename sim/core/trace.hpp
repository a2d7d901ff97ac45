// The one stream of everything that happens. Terminal output, expectations, invariants, reports and
// the determinism hash read it, and nothing else (design.md section 7).
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/loop.hpp"

namespace ddptwin {

struct Object;  // objects/object.hpp; core only hands it on

enum class RecordKind : std::uint8_t {
  object_added,     // after
  object_modified,  // before, after
  object_deleted,   // before
  api_refused,      // subject: verb and object; text: the error
  rule,         // a controller's rule was taken: subject the object, rule its name, text the action
  schedule,     // the scheduler decided: subject the pod, text the node or why none
  container,    // a container's or sandbox's life: subject "namespace/pod/container", text what
  log,          // a line a container printed: subject "namespace/pod/container", text the line
  image,        // a part of an image or of a manifest has no effect
  dns,          // a question answered: subject the name, text the answer
  connection,   // one failed, by a fault or its peer: subject "pod -> pod", text how
  fault,        // a fault acted
  step,         // a scenario step began or ended
  expectation,  // a verdict
  invariant,    // a violation
  note,
};
std::string_view to_string(RecordKind kind);

// A text that stays with its owner. No temporary one: it would be gone before it is read.
class TextRef : public std::string_view {
 public:
  TextRef() = default;
  TextRef(const char* text) : std::string_view(text) {}         // NOLINT: stands for the text
  TextRef(std::string_view text) : std::string_view(text) {}    // NOLINT
  TextRef(const std::string& text) : std::string_view(text) {}  // NOLINT
  TextRef(std::string&&) = delete;
};

// Its texts are its author's, and there while it is written: who keeps it copies them.
struct Record {
  std::uint64_t id = 0;     // 1, 2, 3, ... set by Trace
  std::uint64_t cause = 0;  // the record that led to this one; 0: none. Set by Trace
  Time time{};              // set by Trace
  RecordKind kind = RecordKind::note;
  std::string_view
      actor{};  // who did it: "pytorchjob-controller"; must outlive the trace (a literal)
  std::shared_ptr<const Object> before{};
  std::shared_ptr<const Object> after{};
  TextRef subject{};        // what it is about, where that is not an object
  std::string_view rule{};  // must outlive the trace (a literal)
  TextRef text{};
  std::vector<std::pair<std::string_view, std::string>>
      values{};  // further facts, keys are literals
};

class Trace {
 public:
  using Sink = std::function<void(const Record&)>;
  using Keeper = std::function<void(Record&&)>;

  explicit Trace(Loop& loop) : loop_(loop) {}

  // Numbers and times the record, names its cause from the loop's context, hands it to every sink
  // in their order, and makes it the cause of what follows in this callback.
  std::uint64_t write(Record&& record);
  // The same of what is no cause of what follows.
  std::uint64_t write_alone(Record&& record) {
    const ContextScope of_this_record(loop_);
    return write(std::move(record));
  }
  // Whether some sink reads records of that kind. Where none does, who would write one may call
  // skip() instead and not make it: the numbers and causes of all others stay the same.
  bool wants(RecordKind kind) const { return (wanted_ & bit(kind)) != 0; }
  std::uint64_t skip();
  // Sinks are added before the run and stay. A sink may not write.
  void add_sink(Sink sink);
  // It hears of these kinds only.
  void add_sink(Sink sink, std::initializer_list<RecordKind> kinds);
  // Who keeps records: each becomes its own once every sink has read it. There is one at most.
  void set_keeper(Keeper keeper) { keeper_ = std::move(keeper); }
  std::uint64_t last() const { return last_; }
  // The first few that were written before there was anybody to hear of them: what a cluster begins
  // with. Without their texts, which were their author's.
  const std::vector<Record>& unheard() const { return unheard_; }

 private:
  static std::uint32_t bit(RecordKind kind) { return 1U << static_cast<unsigned>(kind); }
  struct Listener {
    Sink sink;
    std::uint32_t kinds;
  };

  Loop& loop_;
  std::vector<Listener> listeners_{};
  std::vector<Record> unheard_{};
  Keeper keeper_{};
  std::uint32_t wanted_ = 0;
  std::uint64_t last_ = 0;
};

}  // namespace ddptwin
