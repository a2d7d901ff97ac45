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

  // A part of the process begins or ends. Handlers stay; who does not run ignores what they hear.
  // What an informer already holds is for the part to look at: nobody tells it.
  void begin_part();
  void end_part();

 private:
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

}  // namespace ddptwin::api
