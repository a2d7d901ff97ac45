// The invariants that only the training operator promises: what each means, when it is asked, and
// which of upstream's bugs break it.
#include <array>

#include "scenario/systems/training_operator/judges.hpp"
#include "scenario/systems/training_operator/parts.hpp"

namespace ddptwin::scenario {
namespace {

using namespace invariants;
using namespace invariants::pytorchjob;

constexpr std::uint32_t about_job = topics(Topic::job), about_pod = topics(Topic::pod);
constexpr std::uint32_t never_after = 0;

constexpr std::array operator_rows{
    // ---- ends ----------------------------------------------------------------------------------
    InvariantRow{"frozen", "INV-TERMINAL",
                 "Once a job has Failed its conditions never change again.",
                 "Type, status, reason, message and time of each condition stay as they were when "
                 "Failed was "
                 "stored: later passes clean up and count, and say nothing new.",
                 "", false, about_job, &frozen, nullptr, nullptr},
    InvariantRow{
        "failed-for-a-reason", "INV-RESTART",
        "A job fails only for what its policies call a failure.",
        "When Failed is stored, a pod of a replica type with policy Never has failed (or was taken "
        "away while it ran), one with policy ExitCode has ended with a code below 128, or "
        "backoffLimit or activeDeadlineSeconds was reached. A retryable failure within the budget "
        "never ends in Failed.",
        "", false, about_job, &failed_for_a_reason, nullptr, nullptr},
    InvariantRow{
        "restarting-for-a-reason", "INV-STATUS-TRUTH",
        "A job says Restarting only when a pod of its own has failed.",
        "Or was taken away while it ran. Pods of an older job of the same name, or of another "
        "namespace, are not its own (FM-017).",
        "", false, about_job, &restarting_for_a_reason, nullptr, nullptr},
    InvariantRow{
        "completion-time-set", "INV-TIME", "A job that ends has a completionTime.",
        "Succeeded and Failed come with a completionTime in the same write. Upstream leaves it out "
        "where a permanent exit code fails the job, and a TTL then never fires.",
        "Q3", true, about_job, &completion_time_set, nullptr, nullptr},
    InvariantRow{
        "restarting-after-end", "INV-STATUS-TRUTH", "A finished job is not Restarting.",
        "The condition Restarting is withdrawn when the job ends. Upstream only turns Running off.",
        "Q10", true, about_job, &restarting_after_end, nullptr, nullptr},

    // ---- status --------------------------------------------------------------------------------
    InvariantRow{"one-condition", "B1", "A job has at most one condition of a type.",
                 "Readers look for the first one of a type; a second one would contradict it.", "",
                 false, about_job, &one_condition, nullptr, nullptr},
    InvariantRow{"one-state", "B2", "A job is not Running and Restarting at once.",
                 "The two push each other out of the list of conditions.", "", false, about_job,
                 &one_state, nullptr, nullptr},
    InvariantRow{
        "counters-are-true", "INV-STATUS-TRUTH",
        "At rest a job's active, succeeded and failed are the numbers of its pods.",
        "For each replica type of a job that has not ended and is not suspended: active is the "
        "number of Running pods, succeeded and failed those of the ended ones, a Running pod that "
        "is being deleted counting as failed (spec/pytorchjob.md §4.3).",
        "", false, never_after, nullptr, &counters_are_true, nullptr},
    InvariantRow{
        "conditions-are-true", "INV-STATUS-TRUTH",
        "At rest a job has the condition that its pods ask for.",
        "A dumb reader of the pods must come to the same condition: Succeeded when the pods that "
        "decide have succeeded, Failed when one of policy Never has failed, Running when the "
        "deciding pods run and none fails.",
        "", false, never_after, nullptr, &conditions_are_true, nullptr},
    InvariantRow{
        "permanent-failure-fails", "INV-STATUS-TRUTH, INV-PROGRESS",
        "At rest a job with a pod that failed for good has failed.",
        "Of policy ExitCode and with a code below 128. training-operator v1.7.0 decides not to "
        "restart such a pod, and says Restarting for ever.",
        "Q2, FM-002 (v1.7.0)", false, never_after, nullptr, &permanent_failure_fails, nullptr},
    InvariantRow{"created-first", "INV-STATUS-TRUTH", "The first condition of a job is Created.",
                 "Upstream keeps Created in its cache until its first write of the status, and "
                 "loses it when "
                 "the job is updated in between.",
                 "Q23", true, about_job, &created_first, nullptr, nullptr},
    InvariantRow{"running-is-true", "INV-STATUS-TRUTH",
                 "A job that says Running has a pod that runs.",
                 "Upstream never withdraws Running because pods went Pending or were deleted.",
                 "Q40", true, never_after, nullptr, &running_is_true, nullptr},
    InvariantRow{
        "finished-counters", "INV-STATUS-TRUTH",
        "The active pods of a finished job are those that still run.",
        "Upstream moves active into succeeded after success while pods may still run, and leaves "
        "the numbers as they were after failure.",
        "Q25", true, never_after, nullptr, &finished_counters, nullptr},

    // ---- replicas ------------------------------------------------------------------------------
    InvariantRow{
        "environment", "INV-ENV",
        "Each pod of a job with a Master is given its rank, the world's size and the Master's "
        "name.",
        "When the operator makes a pod: RANK is 0 for the Master and index + 1 for a worker, "
        "WORLD_SIZE is the number of processes that a spec of this job means, and MASTER_ADDR is "
        "the Master's own Service.",
        "", false, about_pod, &environment, nullptr, nullptr},
    InvariantRow{"world-agrees-after-scaling", "INV-ENV",
                 "Also after scaling all pods of a job have the WORLD_SIZE of its spec.",
                 "Upstream does not restart the old pods when a job that is not elastic is scaled "
                 "(spec/pytorchjob.md §7, C107): the new ones never meet them.",
                 "scaling a job without elasticPolicy", false, never_after, nullptr,
                 &world_agrees_after_scaling, nullptr},
    InvariantRow{
        "creation-order", "B13",
        "Pods are made in the order of their indices, Services after them.",
        "The first pod of an index comes after the first pods of all lower ones of its type, and "
        "the first Service of a type after all pods of the type.",
        "", false, topics(Topic::pod, Topic::service), &creation_order, nullptr, nullptr},
    InvariantRow{
        "type-removed", "INV-COUNT",
        "At rest nothing is left of a replica type that was taken out of the spec.",
        "No pod, no Service, and no active ones in the job's status. Upstream no longer looks at "
        "such a type (spec/pytorchjob.md §4.2, M10): its pods train on and hold their GPUs until "
        "the job ends.",
        "taking a replica type out of the spec", false, never_after, nullptr, &type_removed,
        nullptr},
    InvariantRow{"owned-services", "INV-OWNED",
                 "The operator deletes only Services that a job owns.",
                 "Upstream lists Services by labels without looking at their owner.", "Q14", false,
                 topics(Topic::service), &owned_services, nullptr, nullptr},
    InvariantRow{
        "no-needless-restart", "INV-BUDGET", "The operator deletes no healthy pod that is wanted.",
        "A pod that it deletes has Failed, has an index that the spec does not want, or belongs to "
        "a job that has finished, is suspended or has reached a limit. Upstream deletes by name: a "
        "stale pass may hit the new pod where the failed one stood, for 5 s. In a run in which no "
        "process fails nothing is restarted.",
        "", false, about_pod, &needless_deletion, nullptr, nullptr},
    InvariantRow{
        "backoff-limit", "INV-BUDGET",
        "A job is not restarted for its own failures more often than its backoffLimit.",
        "Restarts of containers in place and pods made anew for failed ones are one budget. A pod "
        "that was preempted or evicted, or lost with its node, has not failed: it is not counted, "
        "and is named. Upstream looks at the restartCounts of living pods only, and a pod that it "
        "makes anew begins at 0: "
        "with policy ExitCode a retryable failure is restarted for ever.",
        "Q1, Q42, FM-001", false, about_pod, &backoff_limit, nullptr, nullptr},
    InvariantRow{
        "disruptions", "INV-BUDGET, INV-RESTART",
        "No job is failed for what others did to its pods.",
        "When Failed is stored of a job whose pods were preempted, evicted or lost with their "
        "node (their condition DisruptionTarget, or the kubelet's reason), failures of its own "
        "must have reached its policies' limits; those who took the pods are named. Upstream does "
        "not tell them apart: backoffLimit 0 fails the job at the first pod that is Failed, and so "
        "does, under policy ExitCode, an evicted pod that ends with a code below 128. Policy Never "
        "asks for no second try at all.",
        "Q22, exit codes of evicted pods (§4.3)", false, about_job, &disruptions, nullptr, nullptr},
    InvariantRow{
        "backoff-limit-in-place", "INV-BUDGET",
        "At rest restarts in place have not used the backoffLimit up.",
        "The restartCounts of a job's Running pods add up to less than its backoffLimit, or it has "
        "failed. Pods of policy Never are not restarted.",
        "", false, never_after, nullptr, &backoff_limit_in_place, nullptr},

    // ---- what is left --------------------------------------------------------------------------
    InvariantRow{
        "clean-up", "INV-CLEANUP", "At rest a finished job has only the pods its policy leaves.",
        "cleanPodPolicy All leaves none, Running none that is Pending or Running, on every path to "
        "the end.",
        "", false, never_after, nullptr, &clean_up, nullptr},
    InvariantRow{
        "pods-kept", "INV-CLEANUP", "cleanPodPolicy None leaves the pods of a failed job alone.",
        "Upstream up to v1.9.3 deletes all of them where a limit fails the job, and with them the "
        "logs that say why.",
        "Q5, FM-006", true, about_job, &pods_kept, nullptr, nullptr},
    InvariantRow{
        "finished-pods-stop", "INV-CLEANUP", "At rest no pod of a finished job runs.",
        "With cleanPodPolicy None, the default, the other pods of a job that failed under policy "
        "Never run on and hold their GPUs.",
        "Q39, FM-003", true, never_after, nullptr, &finished_pods_stop, nullptr},
    InvariantRow{"suspend-with-ttl", "INV-SUSPEND",
                 "At rest a job with a TTL that is to be suspended says Suspended.",
                 "training-operator v1.7.0 and v1.8.0 stop in an error before they say so.",
                 "Q16, FM-007 (v1.7.0, v1.8.0)", false, never_after, nullptr, &suspend_with_ttl,
                 nullptr},
    InvariantRow{"services-have-pods", "INV-CLEANUP", "At rest each Service of a job has its pod.",
                 "Upstream cleans Services up by the list of pods: where the pod is gone already, "
                 "its Service "
                 "stays until the job goes.",
                 "Q15", true, never_after, nullptr, &services_have_pods, nullptr},
    InvariantRow{
        "endpoints", "INV-DNS", "A replica's Service leads to the pod of its name only.",
        "A selector that is too wide sends ranks to the wrong Master now and then (FM-026).", "",
        false, topics(Topic::slice), &endpoints, nullptr, nullptr},
    InvariantRow{
        "endpoints-are-true", "INV-DNS", "At rest a replica's Service leads to its Ready pod.",
        "Its EndpointSlice has the pod's address while the pod is Ready, and none otherwise.", "",
        false, never_after, nullptr, &endpoints_are_true, nullptr},
    InvariantRow{
        "names", "INV-DNS",
        "A replica's name is answered with the address of its current pod only.",
        "Or with that of the pod before, for 30 s after its end: the answer travels through "
        "EndpointSlices and caches. Pods on the host's network share their node's address. Not "
        "judged while faults are made on purpose, nor for 20 min "
        "afterwards: what failed under them may be tried again only then.",
        "", false, topics(Topic::dns), &names, nullptr, nullptr},

    // ---- liveness ------------------------------------------------------------------------------
    InvariantRow{
        "ttl-after-all", "INV-TIME",
        "A job that failed without a completionTime, or is suspended, is deleted in time too.",
        "Upstream never deletes a job that a permanent exit code has failed, nor a finished one "
        "while "
        "it is suspended.",
        "Q3, Q17", false, about_job, &ttl_after_all, nullptr, &ttl_after_all,
        "30s after the job's ttlSecondsAfterFinished are over"},
    InvariantRow{"quiesce-at-zero", "INV-QUIESCE",
                 "Also for a replica type of zero the operator stops writing.",
                 "Zero replicas make upstream create and delete a pod for ever.", "Q6", false,
                 topics(Topic::job, Topic::pod, Topic::service), &quiesce_at_zero, nullptr,
                 nullptr},
    InvariantRow{"visible-without-types", "INV-VALID",
                 "A job without replica types says that it does nothing.",
                 "Upstream admits it and never looks at it again.", "Q31, FM-024", false,
                 never_after, nullptr, &visible_without_types, nullptr},
};

}  // namespace

std::span<const InvariantRow> training_operator_invariants() { return operator_rows; }

}  // namespace ddptwin::scenario
