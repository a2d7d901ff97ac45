#include "cluster/kubelet/container_start.hpp"

#include <fmt/format.h>

#include "cluster/kubelet/container_config.hpp"
#include "cluster/kubelet/container_stop.hpp"
#include "core/concat.hpp"

namespace ddptwin::kubelet {
namespace {

class StartJob final : public ImageWaiter, public std::enable_shared_from_this<StartJob> {
 public:
  StartJob(const std::shared_ptr<NodeContext>& node, StartRequest request,
           UniqueFunction<void(StartOutcome)> done)
      : node_(node), in_(std::move(request)), done_(std::move(done)) {}

  void begin() {
    const std::shared_ptr<NodeContext> node = node_.lock();
    if (waits(*node)) return;
    node->images.ensure(in_.pod, *in_.container, in_.sandbox_attempt, shared_from_this());
  }

  void record(std::string_view type, std::string_view reason, std::string message) override {
    if (const auto live = node_.lock()) event(*live, type, reason, std::move(message));
  }
  void image_done(ImageOutcome outcome) override {
    if (const auto live = node_.lock()) on_image(*live, std::move(outcome));
  }

 private:
  void event(const NodeContext& node, std::string_view type, std::string_view reason,
             std::string message) const {
    node.event(*in_.pod, type, reason, std::move(message), *in_.container, in_.init);
  }

  void fail_with(const NodeContext& node, std::string reason, std::string message) {
    event(node, "Warning", "Failed", "Error: " + message);
    done_(StartOutcome{StartFailure{std::move(reason), std::move(message)}, std::nullopt});
  }

  // Whether the last end of the container is too near.
  bool waits(const NodeContext& node) {
    const ContainerInstance* last = in_.seen->find_exited(in_.container->name);
    if (last == nullptr) return false;
    const std::string key = restart_key(*in_.pod, in_.container->name);
    const Time end = last->finished_at.value_or(Time{});
    if (!node.restarts.waits_since(key, end, node.loop.now())) {
      node.restarts.next(key, end, node.loop.now());
      return false;
    }
    const std::string label = pod_label(*in_.pod);
    event(node, "Warning", "BackOff",
          fmt::format("Back-off restarting failed container {} in pod {}", in_.container->name,
                      label));
    const Duration delay = node.restarts.delay(key);
    done_(StartOutcome{
        StartFailure{"CrashLoopBackOff",
                     fmt::format("back-off {} restarting failed container={} pod={}",
                                 format_go_duration(delay), in_.container->name, label)},
        end + delay});
    return true;
  }

  void on_image(NodeContext& node, ImageOutcome outcome) {
    if (!outcome) {
      ImageFailure& bad = outcome.error();
      event(node, "Warning", "Failed", "Error: " + bad.failure.reason);
      done_(StartOutcome{std::move(bad.failure), bad.until});
      return;
    }
    image_ = std::move(*outcome);
    const ContainerInstance* last = in_.seen->find(in_.container->name);
    attempt_ = last == nullptr ? 0 : last->attempt + 1;
    Notices notices;
    const MakePodContext context = [&] { return node.pod_context(in_.pod); };
    Result<ContainerOrder> order =
        container_order(*in_.pod, context, *in_.container, attempt_, image_, in_.volumes, &notices);
    node.notices(*in_.pod, notices);
    if (!order) return fail_with(node, "CreateContainerConfigError", order.error().message);
    node.runtime.create_container(in_.sandbox, std::move(*order),
                                  [self = shared_from_this()](Result<ContainerId> id) {
                                    if (const auto live = self->node_.lock())
                                      self->on_created(*live, std::move(id));
                                  });
  }

  void on_created(NodeContext& node, Result<ContainerId> id) {
    if (!id) return fail_with(node, "CreateContainerError", id.error().message);
    id_ = std::move(*id);
    ContainerInstance instance;
    instance.id = id_;
    instance.shown =
        ShownContainer{concat({"containerd://", id_}), in_.container->image, image_.ref};
    instance.name = in_.container->name;
    instance.attempt = attempt_;
    instance.created_at = node.loop.now();
    node.inventory.add_container(in_.pod->metadata.uid, std::move(instance));
    event(node, "Normal", "Created", "Container created");
    node.runtime.start_container(id_, [self = shared_from_this()](Result<void> result) {
      if (const auto live = self->node_.lock()) self->on_started(live, result);
    });
  }

  void on_started(const std::shared_ptr<NodeContext>& node, const Result<void>& result) {
    node->inventory.refresh(in_.pod->metadata.uid, id_, *in_.container);
    if (!result) return fail_with(*node, "RunContainerError", result.error().message);
    event(*node, "Normal", "Started", "Container started");
    node->record(*in_.pod, in_.container->name, "started");
    const auto& lifecycle = in_.container->lifecycle;
    if (!lifecycle || !lifecycle->postStart) return done_(StartOutcome{});
    if (lifecycle->postStart->sleep) {
      timer_ =
          node->loop.after(node->lane, std::chrono::seconds(lifecycle->postStart->sleep->seconds),
                           [self = shared_from_this()] { self->done_(StartOutcome{}); });
      return;
    }
    const std::vector<std::string>& ips = node->inventory.state(in_.pod->metadata.uid)->ips;
    const std::string ip = ips.empty() ? std::string() : ips.front();
    node->prober.hook(ProbeSubject{*in_.pod, *in_.container, id_, ip}, *lifecycle->postStart,
                      [self = shared_from_this()](Result<void> answer) {
                        if (const auto live = self->node_.lock()) self->on_hook(live, answer);
                      });
  }

  void on_hook(const std::shared_ptr<NodeContext>& node, const Result<void>& answer) {
    if (answer) return done_(StartOutcome{});
    event(*node, "Warning", "FailedPostStartHook", "PostStartHook failed");
    StopRequest stop;
    stop.id = id_;
    stop.name = in_.container->name;
    stop.message = "FailedPostStartHook";
    stop_containers(
        node, in_.pod, {std::move(stop)}, false,
        [self = shared_from_this(), message = answer.error().message] {
          self->done_(StartOutcome{StartFailure{"PostStartHookError", message}, std::nullopt});
        });
  }

  std::weak_ptr<NodeContext> node_;  // gone when the kubelet's process is
  StartRequest in_;
  UniqueFunction<void(StartOutcome)> done_;
  ImageStatus image_{};
  std::uint32_t attempt_ = 0;
  ContainerId id_{};
  Timer timer_{};
};

}  // namespace

std::string restart_key(const Pod& pod, std::string_view container) {
  return concat({pod.metadata.uid, "/", container});
}

void start_container(const std::shared_ptr<NodeContext>& node, StartRequest request,
                     UniqueFunction<void(StartOutcome)> done) {
  std::make_shared<StartJob>(node, std::move(request), std::move(done))->begin();
}

}  // namespace ddptwin::kubelet
