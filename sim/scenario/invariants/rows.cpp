// The table of invariants: what each means, when it is asked, and which of upstream's bugs break
// it.
#include <array>

#include "scenario/invariants/judges.hpp"

namespace ddptwin::scenario {
namespace {

using namespace invariants;

constexpr std::uint32_t job = topics(Topic::job), pod = topics(Topic::pod);
constexpr std::uint32_t never = 0;

constexpr std::array all_rows{
    // ---- ends ----------------------------------------------------------------------------------
    InvariantRow{
        "terminal", "INV-TERMINAL", "What has Succeeded or Failed stays so: pods and jobs.",
        "A pod's phase never leaves Succeeded or Failed, and a job's condition Succeeded or Failed "
        "is never withdrawn or turned into the other, whatever happens to its pods, its spec or "
        "the "
        "operator afterwards. Pipelines act on the first end they read.",
        "", false, job | pod, &terminal, nullptr, nullptr},
    InvariantRow{
        "no-new-pods", "INV-TERMINAL", "A finished job gets no new pods.",
        "No pass that sees the finished job makes a pod for it. The operator may still see the job "
        "unfinished for a moment after its own write; then its next write of the status is refused "
        "as a conflict, and the pod is put down to the stale cache (Q37), not to this rule. What "
        "is "
        "made and followed by a status that is accepted, or by rest, is a violation.",
        "", false, topics(Topic::job, Topic::pod, Topic::refused), &no_new_pods, &no_new_pods,
        nullptr},
    InvariantRow{"frozen", "INV-TERMINAL",
                 "Once a job has Failed its conditions never change again.",
                 "Type, status, reason, message and time of each condition stay as they were when "
                 "Failed was "
                 "stored: later passes clean up and count, and say nothing new.",
                 "", false, job, &frozen, nullptr, nullptr},
    InvariantRow{
        "one-end", "INV-STATUS-TRUTH", "A job is not Succeeded and Failed at once.",
        "A reader of either condition must come to the same end. Upstream sets both where one "
        "worker "
        "of an elastic job without a Master succeeds and another fails under policy Never in the "
        "same pass.",
        "Q10", false, job, &one_end, nullptr, nullptr},
    InvariantRow{
        "failed-for-a-reason", "INV-RESTART",
        "A job fails only for what its policies call a failure.",
        "When Failed is stored, a pod of a replica type with policy Never has failed (or was taken "
        "away while it ran), one with policy ExitCode has ended with a code below 128, or "
        "backoffLimit or activeDeadlineSeconds was reached. A retryable failure within the budget "
        "never ends in Failed.",
        "", false, job, &failed_for_a_reason, nullptr, nullptr},
    InvariantRow{
        "restarting-for-a-reason", "INV-STATUS-TRUTH",
        "A job says Restarting only when a pod of its own has failed.",
        "Or was taken away while it ran. Pods of an older job of the same name, or of another "
        "namespace, are not its own (FM-017).",
        "", false, job, &restarting_for_a_reason, nullptr, nullptr},
    InvariantRow{"succeeded-for-a-reason", "INV-EXIT",
                 "A job succeeds only when the pods that decide it succeeded.",
                 "When Succeeded is stored, the Master's pod has been in phase Succeeded; without "
                 "a Master all "
                 "workers have, or any of an elastic job.",
                 "", false, job, &succeeded_for_a_reason, nullptr, nullptr},
    InvariantRow{
        "trained-to-the-end", "INV-EXIT", "A job whose workers count their steps did all of them.",
        "When Succeeded is stored and the workers print `step N/TOTAL`, one of them has ended the "
        "last step. A Master that is deleted and ends with 0 on SIGTERM makes upstream report "
        "success of a training that was cut off.",
        "Q8, FM-071", false, job, &trained_to_the_end, nullptr, nullptr},
    InvariantRow{
        "completion-time-set", "INV-TIME", "A job that ends has a completionTime.",
        "Succeeded and Failed come with a completionTime in the same write. Upstream leaves it out "
        "where a permanent exit code fails the job, and a TTL then never fires.",
        "Q3", true, job, &completion_time_set, nullptr, nullptr},
    InvariantRow{
        "restarting-after-end", "INV-STATUS-TRUTH", "A finished job is not Restarting.",
        "The condition Restarting is withdrawn when the job ends. Upstream only turns Running off.",
        "Q10", true, job, &restarting_after_end, nullptr, nullptr},

    // ---- status --------------------------------------------------------------------------------
    InvariantRow{"one-condition", "B1", "A job has at most one condition of a type.",
                 "Readers look for the first one of a type; a second one would contradict it.", "",
                 false, job, &one_condition, nullptr, nullptr},
    InvariantRow{"one-state", "B2", "A job is not Running and Restarting at once.",
                 "The two push each other out of the list of conditions.", "", false, job,
                 &one_state, nullptr, nullptr},
    InvariantRow{"monotone", "INV-MONO", "Generations and restart counts never decrease.",
                 "metadata.generation of jobs and pods, and the restartCount of a container of one "
                 "pod, only "
                 "grow: a reader that has seen a number never sees a smaller one.",
                 "", false, job | pod, &monotone, nullptr, nullptr},
    InvariantRow{"times", "INV-TIME", "A job's startTime is not after its completionTime.",
                 "Durations computed from the two are never negative.", "", false, job, &times,
                 nullptr, nullptr},
    InvariantRow{"completion-time", "B7", "A completionTime stands only in a finished job.",
                 "What is stored with a completionTime has Succeeded or Failed.", "", false, job,
                 &completion_time, nullptr, nullptr},
    InvariantRow{"start-time", "B8", "A job's startTime changes on resume only.",
                 "It is set once, and anew when a suspended job goes on: deadlines count from it.",
                 "", false, job, &start_time, nullptr, nullptr},
    InvariantRow{"spec-untouched", "INV-OWNED",
                 "The operator changes nothing of a job but its status.",
                 "Spec, labels and annotations of a job are its user's (appendix B12).", "", false,
                 job, &spec_untouched, nullptr, nullptr},
    InvariantRow{
        "counters-are-true", "INV-STATUS-TRUTH",
        "At rest a job's active, succeeded and failed are the numbers of its pods.",
        "For each replica type of a job that has not ended and is not suspended: active is the "
        "number of Running pods, succeeded and failed those of the ended ones, a Running pod that "
        "is being deleted counting as failed (spec/pytorchjob.md §4.3).",
        "", false, never, nullptr, &counters_are_true, nullptr},
    InvariantRow{
        "conditions-are-true", "INV-STATUS-TRUTH",
        "At rest a job has the condition that its pods ask for.",
        "A dumb reader of the pods must come to the same condition: Succeeded when the pods that "
        "decide have succeeded, Failed when one of policy Never has failed, Running when the "
        "deciding pods run and none fails.",
        "", false, never, nullptr, &conditions_are_true, nullptr},
    InvariantRow{
        "permanent-failure-fails", "INV-STATUS-TRUTH, INV-PROGRESS",
        "At rest a job with a pod that failed for good has failed.",
        "Of policy ExitCode and with a code below 128. training-operator v1.7.0 decides not to "
        "restart such a pod, and says Restarting for ever.",
        "Q2, FM-002 (v1.7.0)", false, never, nullptr, &permanent_failure_fails, nullptr},
    InvariantRow{"created-first", "INV-STATUS-TRUTH", "The first condition of a job is Created.",
                 "Upstream keeps Created in its cache until its first write of the status, and "
                 "loses it when "
                 "the job is updated in between.",
                 "Q23", true, job, &created_first, nullptr, nullptr},
    InvariantRow{"running-is-true", "INV-STATUS-TRUTH",
                 "A job that says Running has a pod that runs.",
                 "Upstream never withdraws Running because pods went Pending or were deleted.",
                 "Q40", true, never, nullptr, &running_is_true, nullptr},
    InvariantRow{
        "finished-counters", "INV-STATUS-TRUTH",
        "The active pods of a finished job are those that still run.",
        "Upstream moves active into succeeded after success while pods may still run, and leaves "
        "the numbers as they were after failure.",
        "Q25", true, never, nullptr, &finished_counters, nullptr},

    // ---- replicas ------------------------------------------------------------------------------
    InvariantRow{
        "no-duplicates", "INV-NO-DUP", "A replica has at most one pod that has not ended.",
        "Two live pods of one job, replica type and index would be two processes of one rank: a "
        "rendezvous sees the rank twice, and a checkpoint has two writers.",
        "", false, pod, &no_duplicates, nullptr, nullptr},
    InvariantRow{
        "environment", "INV-ENV",
        "Each pod of a job with a Master is given its rank, the world's size and the Master's "
        "name.",
        "When the operator makes a pod: RANK is 0 for the Master and index + 1 for a worker, "
        "WORLD_SIZE is the number of processes that a spec of this job means, and MASTER_ADDR is "
        "the Master's own Service.",
        "", false, pod, &environment, nullptr, nullptr},
    InvariantRow{"distinct-ranks", "INV-ENV",
                 "The pods of a job with a Master have different ranks.",
                 "A new pod's RANK is not that of another pod that lives and stays (appendix B10).",
                 "", false, pod, &distinct_ranks, nullptr, nullptr},
    InvariantRow{
        "world-agrees", "INV-ENV", "At rest all pods of a job have the WORLD_SIZE of its spec.",
        "Ranks that were told different sizes never form one group. Of jobs that were not scaled.",
        "", false, never, nullptr, &world_agrees, nullptr},
    InvariantRow{"world-agrees-after-scaling", "INV-ENV",
                 "Also after scaling all pods of a job have the WORLD_SIZE of its spec.",
                 "Upstream does not restart the old pods when a job that is not elastic is scaled "
                 "(spec/pytorchjob.md §7, C107): the new ones never meet them.",
                 "scaling a job without elasticPolicy", false, never, nullptr,
                 &world_agrees_after_scaling, nullptr},
    InvariantRow{
        "creation-order", "B13",
        "Pods are made in the order of their indices, Services after them.",
        "The first pod of an index comes after the first pods of all lower ones of its type, and "
        "the first Service of a type after all pods of the type.",
        "", false, topics(Topic::pod, Topic::service), &creation_order, nullptr, nullptr},
    InvariantRow{
        "count", "INV-COUNT",
        "At rest a job has exactly one pod of each index that its spec wants.",
        "Of a job that has not ended and is not suspended. A pod that cannot leave blocks its "
        "index "
        "and is told by no-leak; a name that is taken by somebody else's pod blocks it too.",
        "", false, never, nullptr, &count, nullptr},
    InvariantRow{
        "type-removed", "INV-COUNT",
        "At rest nothing is left of a replica type that was taken out of the spec.",
        "No pod, no Service, and no active ones in the job's status. Upstream no longer looks at "
        "such a type (spec/pytorchjob.md §4.2, M10): its pods train on and hold their GPUs until "
        "the job ends.",
        "taking a replica type out of the spec", false, never, nullptr, &type_removed, nullptr},
    InvariantRow{
        "owned", "INV-OWNED", "The operator deletes only pods that a job owns.",
        "A pod that it deletes has a controller reference with the uid of a job that exists: pods "
        "of an older job of the same name, or of nobody, are left alone (appendix B11).",
        "", false, pod, &owned, nullptr, nullptr},
    InvariantRow{"owned-services", "INV-OWNED",
                 "The operator deletes only Services that a job owns.",
                 "Upstream lists Services by labels without looking at their owner.", "Q14", false,
                 topics(Topic::service), &owned, nullptr, nullptr},
    InvariantRow{
        "no-needless-restart", "INV-BUDGET", "The operator deletes no healthy pod that is wanted.",
        "A pod that it deletes has Failed, has an index that the spec does not want, or belongs to "
        "a job that has finished, is suspended or has reached a limit. Upstream deletes by name: a "
        "stale pass may hit the new pod where the failed one stood, for 5 s. In a run in which no "
        "process fails nothing is restarted.",
        "", false, pod, &needless_deletion, nullptr, nullptr},
    InvariantRow{
        "backoff-limit", "INV-BUDGET",
        "A job is not restarted for its own failures more often than its backoffLimit.",
        "Restarts of containers in place and pods made anew for failed ones are one budget. A pod "
        "that was preempted or evicted, or lost with its node, has not failed: it is not counted, "
        "and is named. Upstream looks at the restartCounts of living pods only, and a pod that it "
        "makes anew begins at 0: "
        "with policy ExitCode a retryable failure is restarted for ever.",
        "Q1, Q42, FM-001", false, pod, &backoff_limit, nullptr, nullptr},
    InvariantRow{
        "disruptions", "INV-BUDGET, INV-RESTART",
        "No job is failed for what others did to its pods.",
        "When Failed is stored of a job whose pods were preempted, evicted or lost with their "
        "node (their condition DisruptionTarget, or the kubelet's reason), failures of its own "
        "must have reached its policies' limits; those who took the pods are named. Upstream does "
        "not tell them apart: backoffLimit 0 fails the job at the first pod that is Failed, and so "
        "does, under policy ExitCode, an evicted pod that ends with a code below 128. Policy Never "
        "asks for no second try at all.",
        "Q22, exit codes of evicted pods (§4.3)", false, job, &disruptions, nullptr, nullptr},
    InvariantRow{
        "backoff-limit-in-place", "INV-BUDGET",
        "At rest restarts in place have not used the backoffLimit up.",
        "The restartCounts of a job's Running pods add up to less than its backoffLimit, or it has "
        "failed. Pods of policy Never are not restarted.",
        "", false, never, nullptr, &backoff_limit_in_place, nullptr},
    InvariantRow{"exit-code", "INV-EXIT",
                 "A container that was killed with signal 9 is reported with 137.",
                 "The end that a pod's status tells of is the one that was made.", "", false, pod,
                 &exit_code, nullptr, nullptr},

    // ---- what is left --------------------------------------------------------------------------
    InvariantRow{
        "clean-up", "INV-CLEANUP", "At rest a finished job has only the pods its policy leaves.",
        "cleanPodPolicy All leaves none, Running none that is Pending or Running, on every path to "
        "the end.",
        "", false, never, nullptr, &clean_up, nullptr},
    InvariantRow{
        "pods-kept", "INV-CLEANUP", "cleanPodPolicy None leaves the pods of a failed job alone.",
        "Upstream up to v1.9.3 deletes all of them where a limit fails the job, and with them the "
        "logs that say why.",
        "Q5, FM-006", true, job, &pods_kept, nullptr, nullptr},
    InvariantRow{
        "finished-pods-stop", "INV-CLEANUP", "At rest no pod of a finished job runs.",
        "With cleanPodPolicy None, the default, the other pods of a job that failed under policy "
        "Never run on and hold their GPUs.",
        "Q39, FM-003", true, never, nullptr, &finished_pods_stop, nullptr},
    InvariantRow{
        "suspended", "INV-SUSPEND", "At rest all pods of a suspended job are being deleted.",
        "A pod that was not yet in the operator's cache goes in the next pass (appendix B9).", "",
        false, never, nullptr, &suspended, nullptr},
    InvariantRow{"suspend-is-reached", "INV-SUSPEND",
                 "At rest a job that is to be suspended says Suspended.",
                 "Of jobs without ttlSecondsAfterFinished.", "", false, never, nullptr,
                 &suspend_is_reached, nullptr},
    InvariantRow{"suspend-with-ttl", "INV-SUSPEND",
                 "At rest a job with a TTL that is to be suspended says Suspended.",
                 "training-operator v1.7.0 and v1.8.0 stop in an error before they say so.",
                 "Q16, FM-007 (v1.7.0, v1.8.0)", false, never, nullptr, &suspend_with_ttl, nullptr},
    InvariantRow{"services-have-pods", "INV-CLEANUP", "At rest each Service of a job has its pod.",
                 "Upstream cleans Services up by the list of pods: where the pod is gone already, "
                 "its Service "
                 "stays until the job goes.",
                 "Q15", true, never, nullptr, &services_have_pods, nullptr},
    InvariantRow{
        "endpoints", "INV-DNS", "A replica's Service leads to the pod of its name only.",
        "A selector that is too wide sends ranks to the wrong Master now and then (FM-026).", "",
        false, topics(Topic::slice), &endpoints, nullptr, nullptr},
    InvariantRow{
        "endpoints-are-true", "INV-DNS", "At rest a replica's Service leads to its Ready pod.",
        "Its EndpointSlice has the pod's address while the pod is Ready, and none otherwise.", "",
        false, never, nullptr, &endpoints_are_true, nullptr},
    InvariantRow{
        "names", "INV-DNS",
        "A replica's name is answered with the address of its current pod only.",
        "Or with that of the pod before, for 30 s after its end: the answer travels through "
        "EndpointSlices and caches. Pods on the host's network share their node's address. Not "
        "judged while faults are made on purpose, nor for 20 min "
        "afterwards: what failed under them may be tried again only then.",
        "", false, topics(Topic::dns), &names, nullptr, nullptr},

    // ---- training ------------------------------------------------------------------------------
    InvariantRow{
        "rendezvous", "INV-RDZV", "Only the members of a job's newest group train.",
        "Members of a group agree on the world's size and have different ranks within it. A rank "
        "that joins with another size, or a rank that joins a second time, begins a new group: who "
        "does not join it ends no further step. Lines come as pods print them, so a second of "
        "overlap is allowed.",
        "", false, topics(Topic::log), &rendezvous, nullptr, nullptr},
    InvariantRow{
        "lockstep", "INV-COLL", "Ranks begin with the same step and are never two steps apart.",
        "Each step has an all-reduce: nobody ends step N + 1 before everybody has ended step N.",
        "", false, topics(Topic::log), &lockstep, nullptr, nullptr},
    InvariantRow{"checkpoint", "INV-CKPT",
                 "A restarted training goes on from the newest checkpoint.",
                 "The first step of a new process is not before the newest checkpoint that was "
                 "complete when it joined, and not after a step that nobody has done.",
                 "", false, topics(Topic::log), &checkpoint, nullptr, nullptr},
    InvariantRow{"parameters", "INV-NUM", "All ranks finish with the same parameters.",
                 "The hashes in the ranks' `finished` lines are equal for one world size and "
                 "number of steps, "
                 "also after restarts.",
                 "", false, topics(Topic::log), &parameters, nullptr, nullptr},

    // ---- liveness ------------------------------------------------------------------------------
    InvariantRow{
        "progress", "INV-PROGRESS, INV-RECOVER", "A job comes further, or ends.",
        "A step that nobody had done, a checkpoint, a pod that is placed, starts or ends well "
        "bring "
        "it further, and new lines of its main containers as long as it tells of no steps. What it "
        "had reached before counts on one way back only: a container that crashes again and again, "
        "or steps that are repeated again and again, bring nobody further. 45 minutes where "
        "somebody is missing, stopped, kept by a sidecar or cannot start; 4 hours where a "
        "container "
        "crashes again and again, where all run and may be computing (or three times the longest "
        "step), and while a node fetches an image or an init container of the user's runs; a pod "
        "that no node takes may wait "
        "for as long as another job goes on. invariants.progressWithin is one bound for all. Who "
        "waits for what is told. Not judged of suspended jobs, nor while something is kept broken "
        "on purpose.",
        "", false, job, &progress, nullptr, &progress,
        "45m0s after the job last came further, 4h0m0s where all of it runs"},
    InvariantRow{"deadline", "INV-TIME",
                 "A job that outlives its activeDeadlineSeconds is failed for it.",
                 "Within 30 s. Upstream has no timer for it: a quiet job lives on until something "
                 "happens to "
                 "it.",
                 "Q4", false, job, &deadline, nullptr, &deadline,
                 "30s after the job's activeDeadlineSeconds are over"},
    InvariantRow{"deadline-is-seen", "INV-TIME",
                 "At rest a job that changed after its activeDeadlineSeconds has failed for it.",
                 "Whatever happens to the job or its pods makes the operator look at the clock.",
                 "", false, never, nullptr, &deadline_is_seen, nullptr},
    InvariantRow{
        "ttl", "INV-TIME", "A finished job is deleted when its ttlSecondsAfterFinished is over.",
        "Within 30 s. Of jobs that have a completionTime and are not suspended.", "", false, job,
        &ttl, nullptr, &ttl, "30s after the job's ttlSecondsAfterFinished are over"},
    InvariantRow{
        "ttl-after-all", "INV-TIME",
        "A job that failed without a completionTime, or is suspended, is deleted in time too.",
        "Upstream never deletes a job that a permanent exit code has failed, nor a finished one "
        "while "
        "it is suspended.",
        "Q3, Q17", false, job, &ttl_after_all, nullptr, &ttl_after_all,
        "30s after the job's ttlSecondsAfterFinished are over"},
    InvariantRow{"quiesce", "INV-QUIESCE",
                 "The operator stops writing when nothing happens any more.",
                 "40 writes and 20 for each pod are more than any cascade needs.", "", false,
                 topics(Topic::job, Topic::pod, Topic::service), &quiesce, nullptr, nullptr},
    InvariantRow{"quiesce-at-zero", "INV-QUIESCE",
                 "Also for a replica type of zero the operator stops writing.",
                 "Zero replicas make upstream create and delete a pod for ever.", "Q6", false,
                 topics(Topic::job, Topic::pod, Topic::service), &quiesce_at_zero, nullptr,
                 nullptr},
    InvariantRow{
        "no-refused-writes", "INV-QUIESCE",
        "The operator asks for nothing that the API finds invalid or forbidden.",
        "Conflicts and names that are taken come from caches and are tried again; what is invalid "
        "stays so. Mostly it only hands on what the manifest says: then that is blamed. Judged in "
        "runs without faults.",
        "Q36", false, topics(Topic::refused), &no_refused_writes, nullptr, nullptr},
    InvariantRow{
        "no-panic", "INV-NOPANIC", "No object makes a controller crash.",
        "One bad job would stop all others. Some jobs that the webhook of upstream lets pass do.",
        "Q12, FM-014", false, topics(Topic::other), &no_panic, nullptr, nullptr},
    InvariantRow{"no-leak", "INV-NOLEAK", "Nothing waits for its deletion for ever.",
                 "At rest no job, and no pod of one, is there half a minute after its grace "
                 "period. A pod of "
                 "a node that is lost for good would be (Q38); after faults nodes are back.",
                 "", false, never, nullptr, &no_leak, nullptr},
    InvariantRow{"visible", "INV-VALID", "A job that gets no pods says why.",
                 "At rest a job that was admitted has pods, a condition, or a Warning about it.",
                 "", false, never, nullptr, &visible, nullptr},
    InvariantRow{"visible-without-types", "INV-VALID",
                 "A job without replica types says that it does nothing.",
                 "Upstream admits it and never looks at it again.", "Q31, FM-024", false, never,
                 nullptr, &visible_without_types, nullptr},
};

}  // namespace

std::span<const InvariantRow> invariant_rows() { return all_rows; }

}  // namespace ddptwin::scenario
