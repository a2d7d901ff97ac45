#include "generators.hpp"

#include <boost/json.hpp>
#include <ostream>
#include <set>

#include "controller/training_operator/names.hpp"
#include "objects/codec.hpp"
#include "objects/kinds.hpp"

namespace ddptwin::property {
namespace {

namespace pj = controller::pytorchjob;

constexpr int depth_max = 7;
constexpr int elements_max = 4;  // of a list or a map: less than this
constexpr int fields_max = 8;    // set of one structure: less than this
constexpr int year_seconds = 365 * 24 * 3600;

// Fills values of any type that has a table. Runs inside a generator: every draw is RapidCheck's.
class Filler {
 public:
  void fill(const Type& type, void* value, int depth);
  int unknown() const { return unknown_; }

 private:
  void fill_structure(const Type& type, void* value, int depth);
  void fill_scalar(const Type& type, void* value);
  void fill_field(const FieldInfo& field, void* structure, int depth);

  int unknown_ = 0;
};

std::string text() {
  return *gen::element<std::string>("", "a", "b-1", "x.example.com/y", "two words", "\"\\\n", "π");
}
std::string key() { return *gen::element<std::string>("a", "b", "c.io/d"); }

Json any_json() {
  return *gen::element<Json>(Json(1), Json("t"), Json(true), Json(-2.5), Json(boost::json::array{}),
                             Json(boost::json::object{{"k", {1, "2", nullptr}}}));
}

template <class T>
T& as_a(void* value) {
  return *static_cast<T*>(value);
}

Time any_second() { return Time(std::chrono::seconds(*gen::inRange(0, 60 * year_seconds / 2))); }

void Filler::fill_scalar(const Type& type, void* value) {
  switch (type.shape) {
    case Shape::boolean:
      as_a<bool>(value) = *gen::arbitrary<bool>();
      return;
    case Shape::int32:
      as_a<std::int32_t>(value) = *gen::arbitrary<std::int32_t>();
      return;
    case Shape::int64:
      as_a<std::int64_t>(value) = *gen::arbitrary<std::int64_t>();
      return;
    case Shape::number:
      as_a<double>(value) = *gen::inRange(-4000, 4000) / 8.0;
      return;
    case Shape::string:
      as_a<std::string>(value) = text();
      return;
    case Shape::text:
      as_a<Text>(value) = text();
      return;
    case Shape::shared_text:
      as_a<SharedText>(value) = text();
      return;
    case Shape::bytes:
      as_a<std::vector<std::uint8_t>>(value) = *gen::arbitrary<std::vector<std::uint8_t>>();
      return;
    case Shape::time:
      as_a<Time>(value) = any_second();
      return;
    case Shape::micro_time:
      as_a<MicroTime>(value).time =
          any_second() + std::chrono::microseconds(*gen::inRange(0, 1'000'000));
      return;
    case Shape::quantity:
      as_a<Quantity>(value) = *Quantity::parse(*quantity_text());
      return;
    case Shape::int_or_string:
      if (*gen::arbitrary<bool>())
        as_a<IntOrString>(value) = {0, *gen::element<std::string>("http", "25%"), true};
      else
        as_a<IntOrString>(value) = {*gen::inRange(0, 70000), {}, false};
      return;
    default:
      as_a<RawJson>(value) = RawJson(any_json());
      return;
  }
}

void Filler::fill_field(const FieldInfo& field, void* structure, int depth) {
  fill(field.type(), field.member(structure), depth + 1);
}

void Filler::fill_structure(const Type& type, void* value, int depth) {
  if (type.fields.empty()) return;
  const int fields = *gen::inRange(depth < 2 ? 1 : 0, fields_max);
  std::set<std::size_t> chosen;
  for (int i = 0; i < fields; ++i) chosen.insert(*gen::inRange<std::size_t>(0, type.fields.size()));
  for (const std::size_t i : chosen) fill_field(type.fields[i], value, depth);
  // Of an embedded structure they would be its parent's.
  if (type.extra == nullptr || *gen::inRange(0, 3) != 0) return;
  *type.extra(value) = RawJson(boost::json::object{{"xNobodyKnows", any_json()}});
  ++unknown_;
}

void Filler::fill(const Type& type, void* value, int depth) {
  if (depth > depth_max) return;
  switch (type.shape) {
    case Shape::list:
      for (int n = *gen::inRange(0, elements_max); n > 0; --n)
        fill(type.element(), type.append(value), depth + 1);
      return;
    case Shape::map:
      // A key may come twice: its value is then filled once more.
      for (int n = *gen::inRange(0, elements_max); n > 0; --n) {
        const std::string at = "k" + std::to_string(n) + key();
        fill(type.element(), type.insert(value, at), depth + 1);
      }
      return;
    case Shape::pointer:
    case Shape::verbatim:
      return fill(type.element(), type.emplace(value), depth + 1);
    case Shape::structure:
      return fill_structure(type, value, depth);
    default:
      return fill_scalar(type, value);
  }
}

AnyObject make_any_object() {
  std::vector<const KindInfo*> kinds;
  for (const KindInfo* kind : built_in_kinds())
    if (kind->type != nullptr && kind->make != nullptr) kinds.push_back(kind);
  const KindInfo& kind = **gen::elementOf(kinds);
  AnyObject any;
  any.object = kind.make();
  Filler filler;
  filler.fill(kind.type(), any.object->body(), 0);
  any.unknown = filler.unknown();
  return any;
}

template <class T>
void write(std::ostream& out, const char* name, const T& value, bool written) {
  if (written) out << ", " << name << ": " << value;
}

ReplicaSpec replica_of(const JobShape& shape, int replicas, int port) {
  ReplicaSpec replica;
  replica.replicas = replicas;
  replica.restartPolicy = shape.restart_policy;
  Container container;
  container.name = pj::container_name;
  container.image = "busybox";
  for (const std::string& name : shape.env)
    container.env.push_back({.name = name, .value = "user"});
  if (port != 0)
    container.ports.edit().push_back({.name = std::string(pj::port_name), .containerPort = port});
  replica.template_.spec.edit().containers.edit().push_back(std::move(container));
  return replica;
}

ElasticPolicy elastic_of(const JobShape& shape) {
  ElasticPolicy elastic;
  if (shape.elastic_bounds) {
    elastic.minReplicas = 1;
    elastic.maxReplicas = std::max(1, shape.workers);
  }
  if (shape.elastic_nproc) elastic.nProcPerNode = 2;
  if (shape.rdzv_port != 0) elastic.rdzvPort = shape.rdzv_port;
  elastic.rdzvBackend = "c10d";
  return elastic;
}

void write_run_policy(const JobShape& shape, RunPolicy& policy) {
  if (!shape.clean_pod_policy.empty()) policy.cleanPodPolicy = shape.clean_pod_policy;
  if (shape.backoff_limit >= 0) policy.backoffLimit = shape.backoff_limit;
  if (shape.active_deadline_seconds > 0)
    policy.activeDeadlineSeconds = shape.active_deadline_seconds;
  if (shape.ttl_seconds >= 0) policy.ttlSecondsAfterFinished = shape.ttl_seconds;
}

}  // namespace

// Ranges grow with RapidCheck's size, which begins at 0: these are small as they are.
rc::Gen<AnyObject> any_object() {
  return gen::resize(rc::kNominalSize, gen::exec(make_any_object));
}

void showValue(const AnyObject& any, std::ostream& out) {
  out << to_text(*any.object) << " (" << any.unknown << " unknown)";
}

rc::Gen<std::string> quantity_text() {
  return gen::resize(rc::kNominalSize, gen::exec([] {
                       std::string text = *gen::element<std::string>("", "-", "+");
                       text += std::to_string(*gen::inRange(0, 100'000));
                       if (*gen::arbitrary<bool>()) {
                         text += ".";
                         text += std::to_string(*gen::inRange(0, 10'000));
                       }
                       text +=
                           *gen::element<std::string>("", "m", "u", "n", "k", "M", "G", "T", "Ki",
                                                      "Mi", "Gi", "Ti", "e3", "E2", "e-3");
                       return text;
                     }));
}

rc::Gen<JobShape> job_shape() {
  static const std::vector<std::vector<std::string>> env_lists{
      {}, {"OTHER"}, {"RANK", "WORLD_SIZE"}, {"MASTER_ADDR", "PET_NNODES", "OTHER"}};
  using gen::element;
  using gen::set;
  return gen::resize(
      rc::kNominalSize,
      gen::suchThat(
          gen::build<JobShape>(
              set(&JobShape::master, gen::arbitrary<bool>()),
              set(&JobShape::workers, gen::inRange(0, 7)),
              set(&JobShape::empty_worker, gen::arbitrary<bool>()),
              set(&JobShape::restart_policy,
                  element<std::string>("", "Never", "OnFailure", "Always", "ExitCode")),
              set(&JobShape::nproc, element<std::string>("", "auto", "cpu", "gpu", "1", "2", "8")),
              set(&JobShape::elastic, gen::weightedElement<bool>({{3, false}, {1, true}})),
              set(&JobShape::elastic_bounds, gen::arbitrary<bool>()),
              set(&JobShape::elastic_nproc, gen::arbitrary<bool>()),
              set(&JobShape::clean_pod_policy, element<std::string>("", "None", "Running", "All")),
              set(&JobShape::backoff_limit, gen::inRange(-1, 4)),
              set(&JobShape::active_deadline_seconds, element(0, 0, 0, 20, 120)),
              set(&JobShape::ttl_seconds, element(-1, -1, 0, 30)),
              set(&JobShape::port, element(0, 0, 29500)),
              set(&JobShape::worker_port, element(0, 0, 29500, 29600)),
              set(&JobShape::rdzv_port, element(0, 0, 29700)),
              set(&JobShape::env, gen::elementOf(env_lists))),
          [](const JobShape& shape) {
            return (shape.master || shape.workers > 0) && (!shape.elastic || shape.workers > 0);
          }));
}

void showValue(const JobShape& shape, std::ostream& out) {
  out << "{master: " << shape.master << ", workers: " << shape.workers;
  write(out, "empty_worker", true, shape.empty_worker);
  write(out, "restartPolicy", shape.restart_policy, !shape.restart_policy.empty());
  write(out, "nprocPerNode", shape.nproc, !shape.nproc.empty());
  write(out, "elastic", true, shape.elastic);
  write(out, "elastic bounds", true, shape.elastic_bounds);
  write(out, "elastic nProcPerNode", true, shape.elastic_nproc);
  write(out, "cleanPodPolicy", shape.clean_pod_policy, !shape.clean_pod_policy.empty());
  write(out, "backoffLimit", shape.backoff_limit, shape.backoff_limit >= 0);
  write(out, "activeDeadlineSeconds", shape.active_deadline_seconds,
        shape.active_deadline_seconds > 0);
  write(out, "ttlSecondsAfterFinished", shape.ttl_seconds, shape.ttl_seconds >= 0);
  write(out, "port", shape.port, shape.port != 0);
  write(out, "worker port", shape.worker_port, shape.worker_port != 0);
  write(out, "rdzvPort", shape.rdzv_port, shape.elastic && shape.rdzv_port != 0);
  for (const std::string& name : shape.env) out << ", env " << name;
  out << "}";
}

std::shared_ptr<PyTorchJob> job_of(const JobShape& shape) {
  auto job = std::make_shared<PyTorchJob>();
  job->metadata.name = "j";
  job->metadata.namespace_ = "default";
  PyTorchJobSpec& spec = job->spec.edit();
  ReplicaSpecs& replicas = spec.pytorchReplicaSpecs.emplace();
  if (shape.master) replicas.emplace(pj::master_type, replica_of(shape, 1, shape.port));
  if (shape.workers > 0 || shape.empty_worker)
    replicas.emplace(pj::worker_type, replica_of(shape, shape.workers, shape.worker_port));
  // The two places for one number exclude each other (spec/pytorchjob.md §1.4).
  const bool elastic_nproc = shape.elastic && shape.elastic_nproc;
  if (!shape.nproc.empty() && !elastic_nproc) spec.nprocPerNode = shape.nproc;
  if (shape.elastic) spec.elasticPolicy = elastic_of(shape);
  write_run_policy(shape, spec.runPolicy);
  return job;
}

rc::Gen<controller::pytorchjob::Profile> any_profile() {
  const auto all = pj::profiles();
  return gen::elementOf(std::vector<pj::Profile>(all.begin(), all.end()));
}

}  // namespace ddptwin::property

namespace ddptwin::controller::pytorchjob {
void showValue(const Profile& profile, std::ostream& out) { out << profile.version; }
}  // namespace ddptwin::controller::pytorchjob
