// The informers of one process, shared by its parts.
#pragma once

#include <list>

#include "api/informer.hpp"

namespace ddptwin::api {

// One informer for each kind, however many parts of the process ask for it. They are filled anew
// when the first part begins, as in a new process; a part that begins beside others finds what they
// have. Source: client-go's SharedInformerFactory, of which kube-controller-manager has one
// (createControllerContext upstream).
class SharedInformers {
 public:
  SharedInformers(Loop& loop, ApiClient& client) : loop_(loop), client_(client) {}
  SharedInformers(const SharedInformers&) = delete;
  SharedInformers& operator=(const SharedInformers&) = delete;

  // Stays as long as this. It lists at once where a part runs, else when one begins.
  Informer& of(const KindInfo& kind);

 private:
  friend class ProcessPart;
  void begin_part();
  void end_part();

  struct Shared {
    Shared(Loop& loop, ApiClient& client, const KindInfo& of_kind)
        : kind(of_kind), informer(loop, client, {&of_kind, {}, {}, {}}) {}
    const KindInfo& kind;
    Informer informer;
  };

  Loop& loop_;
  ApiClient& client_;
  std::list<Shared> all_{};
  int parts_ = 0;
};

// A part of the process, as a controller is of its manager: it hears of what the shared informers
// show and calls the API from its begin to its end, as often as it begins.
class ProcessPart {
 public:
  // Both outlive it.
  ProcessPart(ApiClient& client, SharedInformers& informers);
  ~ProcessPart();
  ProcessPart(const ProcessPart&) = delete;
  ProcessPart& operator=(const ProcessPart&) = delete;

  // Of the kind's objects `handler` hears while the part runs: first, where other parts have gone
  // on meanwhile, of all that the informer holds; when the part begins in the order of these calls.
  // A second handler of a kind is not taken.
  Informer& hear(const KindInfo& kind, InformerHandler handler);

  // The process begins, anew after end(). Precondition: not running.
  void begin();
  // It ends now, perhaps between two writes: it hears of nothing, not of what it has asked either.
  void end();
  bool running() const { return life_ != nullptr; }
  // While begin() or hear() tells of what is there.
  bool is_told_of_old() const { return told_of_old_; }

  // `then` gets the answer, unless the part has ended meanwhile.
  template <class Then>
  void call(Request&& request, Then then) {
    client_.call(std::move(request), until_end(std::move(then)));
  }
  // What hands an answer to `then`, unless the part has ended meanwhile.
  template <class Then>
  auto until_end(Then then) const {
    return [life = std::weak_ptr<int>(life_),
            then = std::move(then)](Result<Response>&& answer) mutable {
      if (!life.expired()) then(std::move(answer));
    };
  }

 private:
  struct Heard {
    const KindInfo* kind;
    Informer* informer;
    InformerHandler handler;
  };
  void tell_of_old(const Heard& heard);

  ApiClient& client_;
  SharedInformers& informers_;
  std::list<Heard> heard_{};
  std::shared_ptr<int> life_{};  // of the process that runs; calls hold it weakly
  bool told_of_old_ = false;
};

}  // namespace ddptwin::api
