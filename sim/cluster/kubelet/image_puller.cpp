#include "cluster/kubelet/image_puller.hpp"

#include <fmt/format.h>

#include "cluster/kubelet/image_names.hpp"
#include "cluster/kubelet/node_context.hpp"
#include "cluster/kubelet/sandbox_config.hpp"

namespace ddptwin::kubelet {
namespace {

tl::unexpected<ImageFailure> refuse(std::string reason, std::string message,
                                    std::optional<Time> until = std::nullopt) {
  return tl::make_unexpected(
      ImageFailure{StartFailure{std::move(reason), std::move(message)}, until});
}

}  // namespace

void ImagePuller::ensure(const Pod& pod, const Container& container, std::uint32_t sandbox_attempt,
                         Record record, ImageDone done) {
  const Result<std::string> reference = with_default_tag(container.image);
  if (!reference) {
    record("Warning", "InspectFailed", reference.error().message);
    return done(refuse("InvalidImageName", reference.error().message));
  }
  const std::optional<ImageStatus> present = runtime_.image(*reference);
  const std::string& policy = container.imagePullPolicy;
  if (present && (policy == "Never" || policy == "IfNotPresent")) {
    record("Normal", "Pulled",
           fmt::format(
               "Container image \"{}\" already present on machine and can be accessed by the pod",
               container.image));
    return done(*present);
  }
  if (policy == "Never") {
    std::string text = fmt::format(
        "Container image \"{}\" is not present with pull policy of Never", container.image);
    record("Warning", "ErrImageNeverPull", text);
    return done(refuse("ErrImageNeverPull", std::move(text)));
  }
  std::string key = pod.metadata.uid + "_" + container.image;
  if (back_off_.waits(key, loop_.now())) {
    const std::string text = fmt::format("Back-off pulling image \"{}\"", container.image);
    record("Normal", "BackOff", text);
    return done(refuse("ImagePullBackOff",
                       fmt::format("{}: ErrImagePull: {}", text, last_error_[key]),
                       back_off_.ends(key)));
  }
  record("Normal", "Pulling", "Pulling image \"" + container.image + "\"");
  queue_.push_back(Job{std::move(key), *reference, container.image,
                       sandbox_metadata(pod, sandbox_attempt), loop_.now(), std::move(record),
                       std::move(done)});
  if (!pulling_) pull_next();
}

void ImagePuller::pull_next() {
  if (queue_.empty()) return;
  pulling_ = true;
  const auto job = std::make_shared<Job>(std::move(queue_.front()));
  queue_.pop_front();
  runtime_.pull_image(job->reference, job->sandbox,
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
    job.record("Warning", "Failed",
               fmt::format("Failed to pull image \"{}\": {}", *job.user_image, error));
    back_off_.next(job.key, now, now);
    last_error_[job.key] = error;
    return job.done(refuse("ErrImagePull", error));
  }
  last_error_.erase(job.key);
  job.record("Normal", "Pulled",
             fmt::format("Successfully pulled image \"{}\" in {} ({} including waiting). Image "
                         "size: {} bytes.",
                         *job.user_image, format_go_duration(now - began),
                         format_go_duration(now - job.asked), result->size));
  job.done(std::move(*result));
}

void ImagePuller::forget(const std::string& pod_uid) {
  const std::string prefix = pod_uid + "_";
  back_off_.forget(prefix);
  auto at = last_error_.lower_bound(prefix);
  while (at != last_error_.end() && at->first.starts_with(prefix)) at = last_error_.erase(at);
}

}  // namespace ddptwin::kubelet
