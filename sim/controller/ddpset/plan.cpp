#include "controller/ddpset/plan.hpp"

#include <fmt/format.h>

#include "controller/ddpset/render.hpp"
#include "controller/ddpset/rules.hpp"
#include "controller/toolkit/ownership.hpp"

namespace ddptwin::controller::ddpset {
namespace {

// How a kind that the platform makes is spoken of.
struct Made {
  std::string_view word;
  const Rule& create;
  const Rule& render;
};
constexpr Made service_words{"Service", rules::create_service, rules::render_service};
constexpr Made statefulset_words{"StatefulSet", rules::create_statefulset,
                                 rules::render_statefulset};

class Pass {
 public:
  explicit Pass(const View& seen) : seen_(seen), set_(*seen.set) {}

  Plan run() {
    plan_.about = seen_.set;
    if (set_.metadata.deletionTimestamp) {
      add(rules::set_is_being_deleted);
      return std::move(plan_);
    }
    look_after(service_words, seen_.service, service_of(set_));
    look_after(statefulset_words, seen_.statefulset, statefulset_of(set_));
    write_status();
    return std::move(plan_);
  }

 private:
  Step& add(const Rule& rule) {
    Step& step = plan_.steps.emplace_back();
    step.rule = &rule;
    return step;
  }

  template <class T>
  void look_after(const Made& words, const std::shared_ptr<const T>& there,
                  std::shared_ptr<T> wanted) {
    const std::string name = wanted->metadata.name.str();
    if (there == nullptr) {
      Step& step = add(words.create);
      step.request = api::create(std::move(wanted));
      step.event =
          EventText{"Normal", "SuccessfulCreate", fmt::format("Created {} {}", words.word, name)};
      step.refusal.emplace() = {
          Text("FailedCreate"), fmt::format("Error creating {} {}: ", words.word, name), {}};
      return;
    }
    if (!is_controlled_by(*there, set_)) {
      Step& step = add(rules::name_is_taken);
      step.text = name;
      step.event = EventText{"Warning", "NameTaken",
                             fmt::format("{} {} is there and is not this DDPSet's: it is left as "
                                         "it is",
                                         words.word, name)};
      return;
    }
    if (is_rendered(*there, set_) || there->metadata.deletionTimestamp) return;
    auto changed = std::static_pointer_cast<T>(there->clone());
    render(*wanted, *changed);
    Step& step = add(words.render);
    step.request = api::update(std::move(changed));
    step.event =
        EventText{"Normal", "Rendered", fmt::format("Rendered {} {} anew", words.word, name)};
    step.refusal.emplace() = {Text("FailedRender"),
                              fmt::format("Error rendering {} {}: ", words.word, name),
                              Reason::conflict};
  }

  static void mark(const ObjectMeta& from, ObjectMeta& to) {
    for (const auto& [key, value] : *from.annotations) to.annotations.edit()[key] = value;
  }
  static void render(const Service& wanted, Service& to) {
    mark(wanted.metadata, to.metadata);
    ServiceSpec& spec = to.spec.edit();
    spec.selector = wanted.spec->selector;
    spec.ports = wanted.spec->ports;
    spec.publishNotReadyAddresses = wanted.spec->publishNotReadyAddresses;
  }
  static void render(const StatefulSet& wanted, StatefulSet& to) {
    mark(wanted.metadata, to.metadata);
    StatefulSetSpec& spec = to.spec.edit();
    spec.replicas = wanted.spec->replicas;
    spec.ordinals = wanted.spec->ordinals;
    spec.template_ = wanted.spec->template_;
  }

  void write_status() {
    DDPSetStatus status;
    status.observedGeneration = set_.metadata.generation;
    status.selector = fmt::format("app={}", set_.metadata.name.view());
    if (seen_.statefulset && is_controlled_by(*seen_.statefulset, set_)) {
      const StatefulSetStatus& of = seen_.statefulset->status;
      status.replicas = of.replicas;
      status.readyReplicas = of.readyReplicas;
      status.updatedReplicas = of.updatedReplicas;
    }
    if (set_.status == status) return;
    auto changed = std::static_pointer_cast<DDPSet>(set_.clone());
    changed->status = std::move(status);
    add(rules::write_status).request = api::update(std::move(changed), "status");
  }

  const View& seen_;
  const DDPSet& set_;
  Plan plan_{};
};

}  // namespace

Plan plan(const View& seen) {
  if (seen.set) return Pass(seen).run();
  Plan nothing;
  nothing.steps.emplace_back().rule = &rules::set_is_gone;
  return nothing;
}

}  // namespace ddptwin::controller::ddpset
