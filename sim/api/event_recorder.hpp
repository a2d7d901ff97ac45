// How a component reports what happened to an object: client-go's EventRecorder with its correlator
// (spec/kubernetes.md §1.18, spec/pytorchjob.md §5.4).
#pragma once

#include <array>
#include <boost/container/deque.hpp>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "api/client.hpp"
#include "core/hash.hpp"
#include "objects/core_v1.hpp"

namespace ddptwin::api {

// "<object>.<hex of a number>": the name of an Event about the object of that name.
Text event_name(std::string_view object, std::uint64_t number);

struct EventRecorderOptions {
  bool spam_filter = true;  // 25 events an object, one more every 300 s; the others are dropped
};

// Writes Events, one write at a time, in the order of the calls. An event equal to an earlier one
// raises its count; of those that differ in their message alone within 600 s all from the tenth on
// become one "(combined from similar events)"; a refused write is dropped, a lost one tried again.
// What it remembers ends with it, as with the process it stands for; at most 4096 keys of each
// sort.
class EventRecorder {
 public:
  using Options = EventRecorderOptions;

  EventRecorder(Loop& loop, ApiClient& client, std::string component, std::string host = {},
                Options options = {});
  ~EventRecorder();
  EventRecorder(const EventRecorder&) = delete;
  EventRecorder& operator=(const EventRecorder&) = delete;

  // `type` is Normal or Warning; `field_path` names a part: spec.containers{main}.
  void event(const Object& involved, std::string_view type, std::string_view reason,
             std::string message, std::string_view field_path = {});
  // For an object that is not at hand (a kubelet names its Node by name alone).
  void event(ObjectReference involved, std::string_view type, std::string_view reason,
             std::string message);

 private:
  class Correlator;
  struct Common;
  // Whom Events are about: the reference that they share, and what stands for it where they are
  // told apart.
  struct Subject {
    Cow<ObjectReference> reference{};
    const KindInfo* kind = nullptr;  // of the object that the reference was made of, if it was
    Fingerprint key{};
  };
  static constexpr std::uint32_t max_subjects = 16;  // two containers of each of a node's 8 pods
  // By what a recorder's events are told apart, which have their source in common: each key is the
  // beginning of the next.
  struct Keys {
    Keys(const Fingerprint& subject, const Event& event);
    Fingerprint spam, similar, same;
    Fingerprint message{};  // alone
  };
  // An Event that has no name yet, and the number that is to be in its name. It may wait for others
  // to be written: its keys are made while its texts are at hand.
  struct Draft {
    std::shared_ptr<Event> event;
    Keys keys;
    std::uint64_t number;
    std::uint64_t context;  // that it was told under
  };

  const Subject& new_subject(Cow<ObjectReference>&& reference, const KindInfo* kind);
  void tell(const Subject& subject, std::string_view type, std::string_view reason,
            std::string&& message);
  std::uint64_t next_number();
  void correlate(Draft&& draft);
  void send_next();
  void send(std::shared_ptr<const Event> event);
  void write(std::unique_ptr<Asked> asked, std::shared_ptr<const Event> event);
  void on_answer(const Result<Response>& answer, bool was_patch,
                 const std::shared_ptr<const Event>& event);
  void finish();

  Loop& loop_;
  ApiClient& client_;
  std::string component_, host_;
  Options options_;
  Lane lane_;
  // Made with the first Event: most recorders tell none. Completions hold it weakly.
  std::shared_ptr<Common> common_{};
  boost::container::deque<Draft> queue_{};  // before correlation, while another is written
  // An object's Events come close together, and in a cluster of many pods their references would
  // take as much room as all else of them.
  std::vector<Subject> subjects_{};
  // version_print() of each one's reference, in one line of a cache: nearly all are told apart by
  // it.
  std::array<std::uint32_t, max_subjects> versions_{};
  std::uint32_t next_subject_ = 0;  // whose place the next one takes
  Time last_name_{};
  int tries_ = 0;
  bool writing_ = false;
  Timer retry_{};
};

}  // namespace ddptwin::api
