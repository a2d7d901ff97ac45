#include "cluster/kubelet/image_puller.hpp"

#include <fmt/format.h>

#include "cluster/kubelet/image_names.hpp"
#include "cluster/kubelet/node_context.hpp"
#include "cluster/kubelet/sandbox_config.hpp"
#include "core/concat.hpp"

namespace ddptwin::kubelet {
namespace {

tl::unexpected<ImageFailure> refuse(std::string reason, std::string message,
                                    std::optional<Time> until = std::nullopt) {
  return tl::make_unexpected(
      ImageFailure{StartFailure{std::move(reason), std::move(message)}, until});
}

std::string back_off_key(const Pod& pod, const std::string& image) {
  return concat({pod.metadata.uid, "_", image});
}

}  // namespace

void ImagePuller::ensure(const std::shared_ptr<const Pod>& pod, const Container& container,
                         std::uint32_t sandbox_attempt,
                         const std::shared_ptr<ImageWaiter>& waiter) {
  auto known = references_.find(container.image);
  if (known == references_.end()) {
    Result<std::string> made = with_default_tag(container.image);
    if (!made) {
      waiter->record("Warning", "InspectFailed", made.error().message);
      return waiter->image_done(refuse("InvalidImageName", made.error().message));
    }
    known = references_.emplace(container.image, std::move(*made)).first;
  }
  const std::string& reference = known->second;
  const std::optional<ImageStatus> present = runtime_.image(reference);
  const Text& policy = container.imagePullPolicy;
  if (present && (policy == "Never" || policy == "IfNotPresent")) {
    waiter->record(
        "Normal", "Pulled",
        fmt::format(
            "Container image \"{}\" already present on machine and can be accessed by the pod",
            container.image));
    return waiter->image_done(*present);
  }
  if (policy == "Never") {
    std::string text = fmt::format(
        "Container image \"{}\" is not present with pull policy of Never", container.image);
    waiter->record("Warning", "ErrImageNeverPull", text);
    return waiter->image_done(refuse("ErrImageNeverPull", std::move(text)));
  }
  if (!back_off_.empty()) {
    const std::string key = back_off_key(*pod, container.image);
    if (back_off_.waits(key, loop_.now())) {
      const std::string text = fmt::format("Back-off pulling image \"{}\"", container.image);
      waiter->record("Normal", "BackOff", text);
      return waiter->image_done(refuse("ImagePullBackOff",
                                       fmt::format("{}: ErrImagePull: {}", text, last_error_[key]),
                                       back_off_.ends(key)));
    }
  }
  waiter->record("Normal", "Pulling", concat({"Pulling image \"", container.image, "\""}));
  queue_.push_back(std::make_shared<Job>(
      Job{pod, waiter, reference, container.image, loop_.now(), sandbox_attempt, loop_.context()}));
  if (!pulling_) pull_next();
}

void ImagePuller::pull_next() {
  if (queue_.empty()) return;
  pulling_ = true;
  const std::shared_ptr<Job> job = std::move(queue_.front());
  queue_.pop_front();
  const ContextScope of_who_asked(loop_, job->context);
  runtime_.pull_image(job->reference, sandbox_metadata(*job->pod, job->sandbox_attempt),
                      [this, job, began = loop_.now(),
                       alive = std::weak_ptr<int>(alive_)](Result<ImageStatus> result) {
                        if (alive.expired()) return;
                        pulling_ = false;
                        pulled(*job, began, std::move(result));
                        if (!pulling_) pull_next();
                      });
}

void ImagePuller::pulled(Job& job, Time began, Result<ImageStatus> result) {
  const Time now = loop_.now();
  if (!result) {
    const std::string error = rpc_text(result.error());
    job.waiter->record("Warning", "Failed",
                       fmt::format("Failed to pull image \"{}\": {}", job.image, error));
    const std::string key = back_off_key(*job.pod, job.image);
    back_off_.next(key, now, now);
    last_error_[key] = error;
    return job.waiter->image_done(refuse("ErrImagePull", error));
  }
  if (!last_error_.empty()) last_error_.erase(back_off_key(*job.pod, job.image));
  job.waiter->record(
      "Normal", "Pulled",
      concat({"Successfully pulled image \"", job.image, "\" in ", format_go_duration(now - began),
              " (", format_go_duration(now - job.asked),
              " including waiting). Image size: ", std::to_string(result->size), " bytes."}));
  job.waiter->image_done(std::move(*result));
}

std::vector<std::string> ImagePuller::remembered() const {
  std::vector<std::string> keys = back_off_.keys();
  for (const auto& [key, error] : last_error_) keys.push_back(key);
  return keys;
}

void ImagePuller::forget(std::string_view pod_uid) {
  if (back_off_.empty() && last_error_.empty()) return;
  const std::string prefix = concat({pod_uid, "_"});
  back_off_.forget(prefix);
  auto at = last_error_.lower_bound(prefix);
  while (at != last_error_.end() && at->first.starts_with(prefix)) at = last_error_.erase(at);
}

}  // namespace ddptwin::kubelet
