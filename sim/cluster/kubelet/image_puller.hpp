// How the image of a container comes to the node.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "cluster/kubelet/back_off.hpp"
#include "cluster/kubelet/container_statuses.hpp"
#include "core/loop.hpp"
#include "core/text_table.hpp"
#include "runtime/runtime.hpp"

namespace ddptwin::kubelet {

// Why there is no image: the waiting state, and for a back-off when it ends.
struct ImageFailure {
  StartFailure failure{};
  std::optional<Time> until{};
};
using ImageOutcome = tl::expected<ImageStatus, ImageFailure>;

// Who asks for the image of a container.
class ImageWaiter {
 public:
  virtual ~ImageWaiter() = default;
  // An event about the container.
  virtual void record(std::string_view type, std::string_view reason, std::string message) = 0;
  virtual void image_done(ImageOutcome outcome) = 0;
};

// Image policies, one pull at a time for the whole node, and the back-off of failing pulls. Source:
// upstream pkg/kubelet/images, spec/kubernetes.md §2.3.
class ImagePuller {
 public:
  ImagePuller(Loop& loop, PodRuntime& runtime, Duration back_off, Duration back_off_max)
      : loop_(loop), runtime_(runtime), back_off_(back_off, back_off_max) {}

  // The outcome may come inside the call.
  void ensure(const std::shared_ptr<const Pod>& pod, const Container& container,
              std::uint32_t sandbox_attempt, const std::shared_ptr<ImageWaiter>& waiter);
  void forget(std::string_view pod_uid);
  // What it knows of failed pulls, each behind its pod's uid and '_'.
  std::vector<std::string> remembered() const;

 private:
  struct Job {
    std::shared_ptr<const Pod> pod{};
    std::shared_ptr<ImageWaiter> waiter{};
    const std::string& reference;  // one of references_
    const std::string& image;      // as the pod names it, of which it is a part
    Time asked{};
    std::uint32_t sandbox_attempt = 0;
    std::uint64_t context = 0;  // that it was asked for under
  };

  void pull_next();
  void pulled(Job& job, Time began, Result<ImageStatus> result);

  Loop& loop_;
  PodRuntime& runtime_;
  // With a tag, of each image that was ever asked for. None goes.
  TextTable<std::string> references_{};
  BackOff back_off_;
  std::map<std::string, std::string, std::less<>> last_error_{};  // by back-off key
  std::deque<std::shared_ptr<Job>> queue_{};
  bool pulling_ = false;
  std::shared_ptr<int> alive_ = std::make_shared<int>(0);
};

}  // namespace ddptwin::kubelet
