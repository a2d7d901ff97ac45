#include "workload_run.hpp"

#include <array>
#include <boost/json.hpp>
#include <ostream>

#include "cluster/store/store.hpp"
#include "core/virtual_start.hpp"
#include "memory_laws.hpp"
#include "objects/pod_phase.hpp"

namespace ddptwin::property {
namespace {

using Kind = Happening::Kind;

WorldOptions options_of_run(std::uint64_t seed, const WorkloadRow& row) {
  WorldOptions options;
  options.seed = seed;
  options.scheduler = true;
  options.kinds = {&row.kind()};
  if (row.system != nullptr)
    options.systems = {
        {.system = row.system, .version = row.system->default_version(), .flags = {}}};
  options.nodes = {{.name = "n0", .address = "192.168.0.1"},
                   {.name = "n1", .address = "192.168.0.2"}};
  return options;
}

}  // namespace

void showValue(const Happening& one, std::ostream& out) {
  constexpr std::array names{"exit", "delete", "lose", "", "crash", "kubelets", "rest"};
  out << (one.doing.edit != nullptr ? one.doing.edit->name
                                    : names[static_cast<std::size_t>(one.doing.kind)])
      << " pod " << one.pod << " number " << one.number << ", then " << one.seconds << " s";
}

rc::Gen<std::vector<Happening>> any_happenings(const WorkloadRow& row,
                                               const std::vector<Kind>& kinds, int size) {
  std::vector<Happening::Doing> doings;
  for (const Kind kind : kinds) {
    if (kind != Kind::edit) doings.push_back({kind, nullptr});
    if (kind == Kind::edit)
      for (const UserEdit* edit : row.edits) doings.push_back({kind, edit});
  }
  return gen::resize(
      size,
      gen::vector_of(gen::build<Happening>(
          gen::set(&Happening::doing, gen::elementOf(std::move(doings))),
          gen::set(&Happening::pod, gen::resize(rc::kNominalSize, gen::inRange(0, row.pods_max))),
          gen::set(&Happening::number,
                   gen::elementOf(std::vector<int>(row.numbers.begin(), row.numbers.end()))),
          gen::set(&Happening::seconds, gen::element(0, 1, 2, 5, 20, 60)))));
}

WorkloadRun::WorkloadRun(std::uint64_t seed, const WorkloadRow& row, ObjectPtr object)
    : row_(row),
      name_(object->metadata.name.str()),
      loop_(Random(seed).split("loop"), virtual_start),
      runtime_(loop_),
      world_(loop_, options_of_run(seed, row), &runtime_) {
  world_.trace().add_sink([this](const Record& record) {
    const ObjectPtr& about = record.after ? record.after : record.before;
    if (about == nullptr) return;
    if (const Pod* pod = as<Pod>(*about)) on_pod(record, *pod);
    if (&about->kind() == &row_.kind()) on_workload(record);
  });
  world_.store().seal();
  DDPTWIN_ASSERT(world_.start().has_value());
  rest(std::chrono::seconds(1));
  DDPTWIN_ASSERT(world_.call(api::create(std::move(object)), "user").has_value());
}

void WorkloadRun::live_through(const std::vector<Happening>& events) {
  for (const Happening& one : events) {
    apply(one);
    require_safe();
  }
  come_to_rest();
  require_safe();
  require_settled();
  require_no_memory_of_what_is_gone(world_);
  require_crashes_to_forget(world_);
}

void WorkloadRun::apply(const Happening& one) {
  switch (one.doing.kind) {
    case Kind::exit:
      if (const auto pod = pod_at(one.pod)) end_pod(*pod, one.number);
      break;
    case Kind::remove:
      if (const auto pod = pod_at(one.pod))
        (void)world_.call(api::remove(*pod, {.grace_period_seconds = 1 + one.number}), "user");
      break;
    case Kind::lose:
      if (const auto pod = pod_at(one.pod))
        runtime_.sandbox_dies("default", pod->metadata.name.str());
      break;
    case Kind::edit:
      if (const ObjectPtr now = object()) patch(one.doing.edit->body(*now, one.number));
      break;
    case Kind::crash:
      crashed_ = true;
      (void)world_.crash_controller(row_.controller);
      rest(std::chrono::seconds(one.number));
      (void)world_.start_controller(row_.controller);
      break;
    case Kind::kubelets:
      world_.restart_kubelets();
      break;
    case Kind::rest:
      break;
  }
  rest(std::chrono::seconds(one.seconds));
}

ObjectPtr WorkloadRun::object() const { return world_.find(row_.kind(), "default", name_); }

std::vector<std::shared_ptr<const Pod>> WorkloadRun::pods() const {
  std::vector<std::shared_ptr<const Pod>> found;
  for (const ObjectPtr& pod : world_.objects(Pod::info(), "default"))
    found.push_back(std::static_pointer_cast<const Pod>(pod));
  return found;
}

std::shared_ptr<const Pod> WorkloadRun::pod_at(int index) const {
  auto running = pods();
  std::erase_if(running, [](const auto& pod) { return is_terminal_phase(pod->status.phase); });
  return running.empty() ? nullptr : running[static_cast<std::size_t>(index) % running.size()];
}

void WorkloadRun::patch(const Json& body) {
  if (const ObjectPtr now = object())
    (void)world_.call(api::patch(*now, api::PatchType::merge, body), "user");
}

void WorkloadRun::end_pod(const Pod& pod, int code) {
  runtime_.container_exit("default", pod.metadata.name.str(), "c", code);
}

void WorkloadRun::require_safe() const {
  if (!violations_.empty()) RC_FAIL(violations_.front());
}

}  // namespace ddptwin::property
