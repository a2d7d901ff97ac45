// The invariants that hold for all systems: what each means, when it is asked, and which of
// upstream's bugs break it.
#include <algorithm>
#include <array>
#include <vector>

#include "scenario/invariants/judges.hpp"

namespace ddptwin::scenario {
namespace {

using namespace invariants;
using namespace std::string_view_literals;

constexpr std::uint32_t on_job = topics(Topic::job), on_pod = topics(Topic::pod);
constexpr std::uint32_t never = 0;

constexpr std::array rows_of_all{
    // ---- ends ----------------------------------------------------------------------------------
    InvariantRow{
        "terminal", "INV-TERMINAL", "What has Succeeded or Failed stays so: pods and jobs.",
        "A pod's phase never leaves Succeeded or Failed, and a job's condition Succeeded or Failed "
        "is never withdrawn or turned into the other, whatever happens to its pods, its spec or "
        "the "
        "operator afterwards. Pipelines act on the first end they read.",
        "", false, on_job | on_pod, &terminal, nullptr, nullptr},
    InvariantRow{
        "no-new-pods", "INV-TERMINAL", "A finished job gets no new pods.",
        "No pass that sees the finished job makes a pod for it. The operator may still see the job "
        "unfinished for a moment after its own write; then its next write of the status is refused "
        "as a conflict, and the pod is put down to the stale cache (Q37), not to this rule. What "
        "is "
        "made and followed by a status that is accepted, or by rest, is a violation.",
        "", false, topics(Topic::job, Topic::pod, Topic::refused), &no_new_pods, &no_new_pods,
        nullptr},
    InvariantRow{
        "one-end", "INV-STATUS-TRUTH", "A job is not Succeeded and Failed at once.",
        "A reader of either condition must come to the same end. Upstream sets both where one "
        "worker "
        "of an elastic job without a Master succeeds and another fails under policy Never in the "
        "same pass.",
        "Q10", false, on_job, &one_end, nullptr, nullptr},
    InvariantRow{"succeeded-for-a-reason", "INV-EXIT",
                 "A job succeeds only when the pods that decide it succeeded.",
                 "When Succeeded is stored, the Master's pod has been in phase Succeeded; without "
                 "a Master all "
                 "workers have, or any of an elastic job.",
                 "", false, on_job, &succeeded_for_a_reason, nullptr, nullptr},
    InvariantRow{
        "trained-to-the-end", "INV-EXIT", "A job whose workers count their steps did all of them.",
        "When Succeeded is stored and the workers print `step N/TOTAL`, one of them has ended the "
        "last step. A Master that is deleted and ends with 0 on SIGTERM makes upstream report "
        "success of a training that was cut off.",
        "Q8, FM-071", false, on_job, &trained_to_the_end, nullptr, nullptr},

    // ---- status --------------------------------------------------------------------------------
    InvariantRow{"monotone", "INV-MONO", "Generations and restart counts never decrease.",
                 "metadata.generation of jobs and pods, and the restartCount of a container of one "
                 "pod, only "
                 "grow: a reader that has seen a number never sees a smaller one.",
                 "", false, on_job | on_pod, &monotone, nullptr, nullptr},
    InvariantRow{"times", "INV-TIME", "A job's startTime is not after its completionTime.",
                 "Durations computed from the two are never negative.", "", false, on_job, &times,
                 nullptr, nullptr},
    InvariantRow{"completion-time", "B7", "A completionTime stands only in a finished job.",
                 "What is stored with a completionTime has Succeeded or Failed.", "", false, on_job,
                 &completion_time, nullptr, nullptr},
    InvariantRow{"start-time", "B8", "A job's startTime changes on resume only.",
                 "It is set once, and anew when a suspended job goes on: deadlines count from it.",
                 "", false, on_job, &start_time, nullptr, nullptr},
    InvariantRow{"spec-untouched", "INV-OWNED",
                 "The operator changes nothing of a job but its status.",
                 "Spec, labels and annotations of a job are its user's (appendix B12).", "", false,
                 on_job, &spec_untouched, nullptr, nullptr},

    // ---- replicas ------------------------------------------------------------------------------
    InvariantRow{
        "no-duplicates", "INV-NO-DUP", "A replica has at most one pod that has not ended.",
        "Two live pods of one job, replica type and index would be two processes of one rank: a "
        "rendezvous sees the rank twice, and a checkpoint has two writers.",
        "", false, on_pod, &no_duplicates, nullptr, nullptr},
    InvariantRow{"distinct-ranks", "INV-ENV",
                 "The pods of a job with a Master have different ranks.",
                 "A new pod's RANK is not that of another pod that lives and stays (appendix B10).",
                 "", false, on_pod, &distinct_ranks, nullptr, nullptr},
    InvariantRow{
        "world-agrees", "INV-ENV", "At rest all pods of a job have the WORLD_SIZE of its spec.",
        "Ranks that were told different sizes never form one group. Of jobs that were not scaled.",
        "", false, never, nullptr, &world_agrees, nullptr},
    InvariantRow{
        "count", "INV-COUNT",
        "At rest a job has exactly one pod of each index that its spec wants.",
        "Of a job that has not ended and is not suspended. A pod that cannot leave blocks its "
        "index "
        "and is told by no-leak; a name that is taken by somebody else's pod blocks it too, and so "
        "does a quota or policy that forbids the pod.",
        "", false, never, nullptr, &count, nullptr},
    InvariantRow{
        "owned", "INV-OWNED", "The operator deletes only pods that a job owns.",
        "A pod that it deletes has a controller reference with the uid of a job that exists: pods "
        "of an older job of the same name, or of nobody, are left alone (appendix B11).",
        "", false, on_pod, &owned, nullptr, nullptr},
    InvariantRow{
        "gang-together", "INV-GANG",
        "No pod of a gang runs before as many as its PodGroup asks for have a node.",
        "A gang scheduler binds minMember pods at once or none of them. It keeps nobody together "
        "afterwards: who fails later leaves the others running, and a binding that the API refuses "
        "after others of the gang were bound leaves a part of it.",
        "FM-063", false, on_pod, &gang_together, nullptr, nullptr},
    InvariantRow{"exit-code", "INV-EXIT",
                 "A container that was killed with signal 9 is reported with 137.",
                 "The end that a pod's status tells of is the one that was made.", "", false,
                 on_pod, &exit_code, nullptr, nullptr},

    // ---- what is left --------------------------------------------------------------------------
    InvariantRow{
        "suspended", "INV-SUSPEND", "At rest all pods of a suspended job are being deleted.",
        "A pod that was not yet in the operator's cache goes in the next pass (appendix B9).", "",
        false, never, nullptr, &suspended, nullptr},
    InvariantRow{"suspend-is-reached", "INV-SUSPEND",
                 "At rest a job that is to be suspended says Suspended.",
                 "Of jobs without ttlSecondsAfterFinished.", "", false, never, nullptr,
                 &suspend_is_reached, nullptr},

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
        "", false, on_job, &progress, nullptr, &progress,
        "45m0s after the job last came further, 4h0m0s where all of it runs"},
    InvariantRow{"deadline", "INV-TIME",
                 "A job that outlives its activeDeadlineSeconds is failed for it.",
                 "Within 30 s. Upstream has no timer for it: a quiet job lives on until something "
                 "happens to "
                 "it.",
                 "Q4", false, on_job, &deadline, nullptr, &deadline,
                 "30s after the job's activeDeadlineSeconds are over"},
    InvariantRow{"deadline-is-seen", "INV-TIME",
                 "At rest a job that changed after its activeDeadlineSeconds has failed for it.",
                 "Whatever happens to the job or its pods makes the operator look at the clock.",
                 "", false, never, nullptr, &deadline_is_seen, nullptr},
    InvariantRow{
        "ttl", "INV-TIME", "A finished job is deleted when its ttlSecondsAfterFinished is over.",
        "Within 30 s. Of jobs that have a completionTime and are not suspended.", "", false, on_job,
        &ttl, nullptr, &ttl, "30s after the job's ttlSecondsAfterFinished are over"},
    InvariantRow{"quiesce", "INV-QUIESCE",
                 "The operator stops writing when nothing happens any more.",
                 "40 writes and 20 for each pod are more than any cascade needs.", "", false,
                 topics(Topic::job, Topic::pod, Topic::service), &quiesce, nullptr, nullptr},
    InvariantRow{
        "no-refused-writes", "INV-QUIESCE",
        "The operator asks for nothing that the API finds invalid or forbidden.",
        "Conflicts and names that are taken come from caches and are tried again; what is invalid "
        "stays so. Mostly it only hands on what the manifest says: then that is blamed, and where "
        "the scenario waits for the Event that tells of it (FailedCreatePod) it is no news. Judged "
        "in runs without faults.",
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
};

// Of the status alone: the pods of a part are those of the whole.
constexpr std::array names_of_parts{
    "terminal"sv,        "one-end"sv,          "monotone"sv,       "times"sv,
    "completion-time"sv, "start-time"sv,       "suspended"sv,      "suspend-is-reached"sv,
    "deadline"sv,        "deadline-is-seen"sv, "spec-untouched"sv, "ttl"sv};

}  // namespace

std::span<const InvariantRow> common_invariant_rows() {
  static const std::vector<InvariantRow> all = [] {
    std::vector<InvariantRow> rows(rows_of_all.begin(), rows_of_all.end());
    for (InvariantRow& row : rows)
      row.of_parts =
          std::find(names_of_parts.begin(), names_of_parts.end(), row.name) != names_of_parts.end();
    return rows;
  }();
  return all;
}

}  // namespace ddptwin::scenario
