// Who belongs to whom: jobs beside each other, jobs after each other under one name, and what is
// taken away by hand (spec/pytorchjob.md §4.2, §4.3).
#include <algorithm>
#include <boost/json.hpp>

#include "running_job.hpp"

namespace ddptwin::property::job_ownership_properties_test {
namespace {

namespace json = boost::json;

// Each name leads to its own pod, and to no other job's (FM-017, FM-026).
void check_addresses(ClusterRun& run, const JobName& name, const JobShape& shape) {
  const auto pods = run.pods(name);
  const auto services = run.services(name);
  RC_ASSERT(static_cast<int>(pods.size()) == (shape.master ? 1 : 0) + shape.workers);
  for (const auto& [service_name, service] : services) {
    const auto& pod = pods.at(service_name);
    RC_ASSERT(run.resolve(service_name, name.namespace_) == Names{pod->status.rest->podIP.str()});
    const bool is_master = service_name == name.name + "-master-0";
    const int port = written_or_default(is_master ? shape.port : shape.worker_port);
    const auto& ports = service->spec->ports;
    RC_ASSERT(std::any_of(ports.begin(), ports.end(), [&](const ServicePort& one) {
      return one.name == "pytorchjob-port" && one.port == port;
    }));
  }
  for (const auto& [pod_name, pod] : pods) {
    if (!shape.master) continue;
    const std::string port = variable(*pod, "MASTER_PORT");
    RC_ASSERT(port == std::to_string(written_or_default(shape.port)));
    const std::string master = variable(*pod, "MASTER_ADDR");
    RC_ASSERT(run.resolve(master, name.namespace_) ==
              Names{pods.at(name.name + "-master-0")->status.rest->podIP.str()});
    RC_ASSERT((variable(*pod, "RANK") == "0") == (pod_name == name.name + "-master-0"));
  }
}

TEST(JobOwnership, JobsBesideEachOtherKeepToThemselves) {
  holds(
      [] {
        const std::vector<JobName> names{{"default", "j"}, {"default", "j-worker"}, {"other", "j"}};
        ClusterRun run(any_seed(), *any_profile().as("version"));
        std::vector<JobShape> shapes;
        for (const JobName& name : names) {
          shapes.push_back(plain_shape());
          shapes.back().env.clear();
          shapes.back().workers = std::min(3, shapes.back().workers);
          RC_PRE(run.create(shapes.back(), name));
        }
        run.rest(start_up);
        for (const JobName& name : names) RC_PRE(!run.pods(name).empty());
        for (std::size_t i = 0; i < names.size(); ++i) check_addresses(run, names[i], shapes[i]);
        // One of them is suspended, scaled or goes: the others do not notice.
        const auto touched = *gen::inRange<std::size_t>(0, names.size()).as("job touched");
        std::vector<std::map<std::string, std::string>> before;
        for (const JobName& name : names) before.push_back(uids_of(run.pods(name)));
        if (*gen::arbitrary<bool>().as("deleted, not suspended"))
          run.remove(*run.job(names[touched]));
        else
          run.patch_job(json::object{{"spec", {{"runPolicy", {{"suspend", true}}}}}},
                        names[touched]);
        run.rest(settling);
        for (std::size_t i = 0; i < names.size(); ++i) {
          if (i == touched) {
            RC_ASSERT(run.pods(names[i]).empty());
            RC_ASSERT(run.services(names[i]).empty());
          } else {
            RC_ASSERT(uids_of(run.pods(names[i])) == before[i]);
            check_addresses(run, names[i], shapes[i]);
          }
        }
      },
      run_cost);
}

// Pods that an earlier job of the same name left behind are not the new one's: they are neither
// counted nor deleted (§4.2 M2, FM-017).
TEST(JobOwnership, PodsOfAnEarlierJobOfTheNameAreLeftAlone) {
  holds(
      [] {
        JobShape shape = plain_shape();
        shape.clean_pod_policy = "All";
        ClusterRun run(any_seed(), *any_profile().as("version"));
        start(run, shape);
        const auto before = uids_of(run.pods());
        api::DeleteOptions orphan;
        orphan.propagation = api::Propagation::orphan;
        run.remove(*run.job(), orphan);
        run.rest(5s);
        RC_ASSERT(run.job() == nullptr);
        RC_ASSERT(run.create(shape));
        run.rest(30s);
        RC_ASSERT(uids_of(run.pods()) == before);
        suspend(run, true);
        RC_ASSERT(uids_of(run.pods()) == before);
        if (const auto& status = run.job()->status; status && status->replicaStatuses)
          for (const auto& [type, counters] : *status->replicaStatuses)
            RC_ASSERT(counters.active == 0);
      },
      2 * run_cost);
}

// Nor are those that are still going when the job is made anew: it waits for their names (Q14).
TEST(JobOwnership, ANewJobOfTheNameDoesNotCountThePodsThatGo) {
  holds(
      [] {
        const JobShape shape = plain_shape();
        ClusterRun run(any_seed(), *any_profile().as("version"));
        const Names all = expected_names(shape, shape.workers);
        for (const std::string& name : all) run.script(name, "term.pytorch", "ignore");
        start(run, shape);
        const auto before = uids_of(run.pods());
        run.remove(*run.job());
        RC_ASSERT(run.create(shape));
        run.rest(10s);
        log_job(run);
        RC_ASSERT(uids_of(run.pods()) == before);
        for (const char* type : {"Running", "Restarting", "Failed", "Succeeded"})
          RC_ASSERT(!run.conditions(true).contains(type));
        run.rest(20min);  // the operator's back-off has grown meanwhile
        log_job(run);
        RC_ASSERT(names_of(run.pods()) == all);
        for (const auto& [name, uid] : uids_of(run.pods())) RC_ASSERT(uid != before.at(name));
        RC_ASSERT(run.conditions(true) == (Names{"Created", "Running"}));
      },
      2 * run_cost);
}

// What was there once is made again under the same name: by a user's hand, or by a node's loss.
TEST(JobOwnership, APodOrServiceThatIsTakenAwayIsMadeAgain) {
  holds(
      [] {
        JobShape shape = plain_shape();
        RC_PRE(policy_of(shape) != "Never");  // Q8
        ClusterRun run(any_seed(), *any_profile().as("version"));
        start(run, shape);
        const auto before = uids_of(run.pods());
        const std::string taken = *gen::elementOf(expected_names(shape, shape.workers)).as("taken");
        const bool service = *gen::arbitrary<bool>().as("its service");
        if (service)
          run.remove(*run.services().at(taken));
        else
          run.remove(*run.pods().at(taken));
        run.rest(settling);
        log_job(run);
        RC_ASSERT(names_of(run.pods()) == expected_names(shape, shape.workers));
        RC_ASSERT(names_of(run.services()) == expected_names(shape, shape.workers));
        auto after = uids_of(run.pods());
        RC_ASSERT((after.at(taken) == before.at(taken)) == service);
        RC_ASSERT(run.conditions(true) == (Names{"Created", "Running"}));
        check_counters(run);
      },
      run_cost);
}

// --- a reference that is taken away ---

json::object with_references(json::value references) {
  return {{"metadata", {{"ownerReferences", std::move(references)}}}};
}

json::object reference_of(const Object& dependent, bool controls) {
  const OwnerReference& owner = dependent.metadata.ownerReferences->front();
  return {{"apiVersion", owner.apiVersion}, {"kind", owner.kind},     {"name", owner.name},
          {"uid", owner.uid.view()},        {"controller", controls}, {"blockOwnerDeletion", true}};
}

// Somebody takes it from its job: no reference is left, or one that does not control it, with which
// it still goes when the job does.
void release(ClusterRun& run, const Object& dependent, bool whole) {
  json::value left;
  if (!whole) left = json::array{reference_of(dependent, false)};
  run.patch_object(dependent, with_references(left));
  run.rest(5s);
}

// A pod is its job's by the reference that controls it, whatever its labels say, and nobody adopts
// it (§4.2 M2): the operator hears at once that it is gone, and finds its name taken as long as it
// is there.
TEST(JobOwnership, APodWithoutItsReferenceIsNobodysAndKeepsItsName) {
  holds(
      [] {
        const JobShape shape = plain_shape();
        ClusterRun run(any_seed(), *any_profile().as("version"));
        start(run, shape);
        const Names all = expected_names(shape, shape.workers);
        const std::string taken = *gen::elementOf(all).as("taken");
        const bool whole = *gen::arbitrary<bool>().as("no reference is left");
        const auto what =
            *gen::element<std::string>("given back", "deleted", "job deleted", "suspended")
                 .as("then");
        const auto before = uids_of(run.pods());
        const json::object owner = reference_of(*run.pods().at(taken), true);
        const int made = run.creations("pods", "default/" + taken);
        release(run, *run.pods().at(taken), whole);
        log_job(run);
        RC_ASSERT(run.creations("pods", "default/" + taken) > made);
        RC_ASSERT(uids_of(run.pods()) == before);
        // No pass comes as far as the status.
        RC_ASSERT(run.conditions(true) == (Names{"Created", "Running"}));
        check_counters(run);
        if (what == "given back") {
          run.patch_object(*run.pods().at(taken), with_references(json::array{owner}));
          run.rest(5s);
          const int tries = run.creations("pods", "default/" + taken);
          run.rest(20min);
          RC_ASSERT(run.creations("pods", "default/" + taken) == tries);
          RC_ASSERT(uids_of(run.pods()) == before);
          RC_ASSERT(run.conditions(true) == (Names{"Created", "Running"}));
        } else if (what == "deleted") {
          run.remove(*run.pods().at(taken));
          run.rest(20min);  // the operator's back-off has grown meanwhile
          log_job(run);
          RC_ASSERT(names_of(run.pods()) == all);
          for (const auto& [name, uid] : uids_of(run.pods()))
            RC_ASSERT((uid == before.at(name)) == (name != taken));
          RC_ASSERT(run.conditions(true) == (Names{"Created", "Running"}));
        } else if (what == "job deleted") {
          run.remove(*run.job());
          run.rest(settling);
          RC_ASSERT(names_of(run.pods()) == (whole ? Names{taken} : Names{}));
          RC_ASSERT(run.services().empty());
        } else {
          suspend(run, true);
          // Services go with the pods of their names (§4.7).
          RC_ASSERT(names_of(run.pods()) == Names{taken});
          RC_ASSERT(names_of(run.services()) == Names{taken});
        }
        if (run.pods().contains(taken) && what != "deleted")
          RC_ASSERT(run.pods().at(taken)->metadata.uid == before.at(taken));
      },
      run_cost);
}

// A Service is its job's by its labels (§4.2 M2): without its reference it is no less wanted and
// no less deleted, but for what the garbage collector does.
TEST(JobOwnership, AServiceWithoutItsReferenceIsStillItsJobs) {
  holds(
      [] {
        const JobShape shape = plain_shape();
        ClusterRun run(any_seed(), *any_profile().as("version"));
        start(run, shape);
        const Names all = expected_names(shape, shape.workers);
        const std::string taken = *gen::elementOf(all).as("taken");
        const bool whole = *gen::arbitrary<bool>().as("no reference is left");
        const auto what =
            *gen::element<std::string>("kept", "deleted", "job deleted", "suspended").as("then");
        const std::string uid = run.services().at(taken)->metadata.uid.str();
        const std::string path = "default/" + taken;
        const int made = run.creations("services", path);
        const auto poke = [&](const char* text) {
          run.patch_job(json::object{{"metadata", {{"annotations", {{"poke", text}}}}}});
          run.rest(5s);
        };
        release(run, *run.services().at(taken), whole);
        RC_ASSERT(run.creations("services", path) == made);
        RC_ASSERT(names_of(run.services()) == all);
        RC_ASSERT(run.resolve(taken, "default") ==
                  Names{run.pods().at(taken)->status.rest->podIP.str()});
        RC_ASSERT(run.conditions(true) == (Names{"Created", "Running"}));
        if (what == "kept") {
          poke("1");
          RC_ASSERT(run.creations("services", path) == made);
          RC_ASSERT(run.services().at(taken)->metadata.uid == uid);
        } else if (what == "deleted") {
          // Whose it was is not known any more: its end wakes nobody.
          run.remove(*run.services().at(taken));
          run.rest(10min);
          RC_ASSERT(!run.services().contains(taken));
          poke("2");
          RC_ASSERT(names_of(run.services()) == all);
          RC_ASSERT(run.services().at(taken)->metadata.ownerReferences->size() == 1u);
        } else if (what == "job deleted") {
          run.remove(*run.job());
          run.rest(settling);
          RC_ASSERT(run.pods().empty());
          RC_ASSERT(names_of(run.services()) == (whole ? Names{taken} : Names{}));
        } else {
          suspend(run, true);
          RC_ASSERT(run.pods().empty());
          RC_ASSERT(run.services().empty());
        }
      },
      run_cost);
}

}  // namespace
}  // namespace ddptwin::property::job_ownership_properties_test
