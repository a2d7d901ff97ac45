#include "cluster/kubelet/cluster_view.hpp"

#include "cluster/kubelet/env.hpp"

namespace ddptwin::kubelet {

ClusterView::ClusterView(Loop& loop, api::ApiClient& client, PodRuntime& runtime)
    : loop_(loop),
      client_(client),
      nodes_(watch("Node")),
      services_(watch("Service")),
      config_maps_(watch("ConfigMap")),
      secrets_(watch("Secret")) {
  const KindRegistry& kinds = client_.kinds();
  if (kinds.find("v1", "PersistentVolumeClaim") && kinds.find("v1", "PersistentVolume")) {
    claims_ = watch("PersistentVolumeClaim");
    volumes_ = watch("PersistentVolume");
  }
  for (api::Informer* informer :
       {config_maps_.get(), secrets_.get(), claims_.get(), volumes_.get()})
    if (informer != nullptr)
      informer->add_handler([this](const ObjectPtr& before, const ObjectPtr& after) {
        tell(after ? *after : *before);
      });
  services_->add_handler(
      [this](const ObjectPtr& before, const ObjectPtr& after) { on_service(before, after); });
  runtime.listen([this, alive = std::weak_ptr<int>(alive_)](const RuntimeEvent& event) {
    if (alive.expired()) return;
    const auto sink = sinks_.find(event.pod_uid);
    if (sink != sinks_.end()) sink->second(event);
  });
}

std::unique_ptr<api::Informer> ClusterView::watch(std::string_view kind) {
  api::Target target;
  target.kind = client_.kinds().find("v1", kind);
  auto informer = std::make_unique<api::Informer>(loop_, client_, target);
  return informer;
}

void ClusterView::start() {
  if (started_) return;
  started_ = true;
  for (api::Informer* informer : {nodes_.get(), services_.get(), config_maps_.get(), secrets_.get(),
                                  claims_.get(), volumes_.get()})
    if (informer != nullptr) informer->start();
}

bool ClusterView::synced() const {
  return nodes_->synced() && services_->synced() && config_maps_->synced() && secrets_->synced() &&
         (!claims_ || (claims_->synced() && volumes_->synced()));
}

void ClusterView::tell(const Object& object) {
  // A listener may add or remove listeners.
  std::vector<Listener> listeners;
  for (const auto& [id, listener] : listeners_) listeners.push_back(listener);
  for (const Listener& listener : listeners) listener(object);
}

std::shared_ptr<void> ClusterView::listen(Listener listener) {
  const std::uint64_t id = ++last_listener_;
  listeners_.emplace(id, std::move(listener));
  const auto forget = [this, id, alive = std::weak_ptr<int>(alive_)](void*) {
    if (!alive.expired()) listeners_.erase(id);
  };
  return std::shared_ptr<void>(static_cast<void*>(this), forget);
}

void ClusterView::route(const SharedText& pod_uid, EventSink sink) {
  sinks_[pod_uid] = std::move(sink);
}

std::shared_ptr<const Node> ClusterView::node(std::string_view name) const {
  return as<Node>(nodes_->find(name));
}

std::shared_ptr<const ConfigMap> ClusterView::config_map(std::string_view namespace_,
                                                         std::string_view name) const {
  return as<ConfigMap>(config_maps_->find(namespace_, name));
}

std::shared_ptr<const Secret> ClusterView::secret(std::string_view namespace_,
                                                  std::string_view name) const {
  return as<Secret>(secrets_->find(namespace_, name));
}

ClaimPtr ClusterView::claim(std::string_view namespace_, std::string_view name) const {
  return as<PersistentVolumeClaim>(claims_->find(namespace_, name));
}

VolumePtr ClusterView::volume(std::string_view name) const {
  return as<PersistentVolume>(volumes_->find({}, name));
}

void ClusterView::on_service(const ObjectPtr& before, const ObjectPtr& after) {
  const auto old = as<Service>(before), fresh = as<Service>(after);
  told_services_.clear();
  if (old && has_cluster_ip(*old)) {
    const auto space = addressed_.find(old->metadata.namespace_);
    space->second.erase(old->metadata.name.str());
    if (space->second.empty()) addressed_.erase(space);
  }
  if (fresh && has_cluster_ip(*fresh))
    addressed_[fresh->metadata.namespace_.str()].insert_or_assign(fresh->metadata.name.str(),
                                                                  linked(fresh));
}

Cow<std::vector<LinkedService>> ClusterView::services(std::string_view namespace_) {
  if (const auto told = told_services_.find(namespace_); told != told_services_.end())
    return told->second;
  std::vector<LinkedService> found;
  if (const auto space = addressed_.find(namespace_); space != addressed_.end()) {
    found.reserve(space->second.size() + 1);
    for (const auto& [name, service] : space->second) found.push_back(service);
  }
  if (namespace_ != "default")
    if (const auto space = addressed_.find("default"); space != addressed_.end())
      if (const auto master = space->second.find("kubernetes"); master != space->second.end())
        found.push_back(master->second);
  return told_services_.emplace(namespace_, std::move(found)).first->second;
}

}  // namespace ddptwin::kubelet
