// Admission by what a namespace's own objects say: LimitRanges and ResourceQuotas
// (spec/kubernetes.md §3.6).
#pragma once

namespace ddptwin {

class Store;

// LimitRanger: what containers leave unsaid is filled in from the namespace's LimitRanges, and what
// is out of their bounds is refused.
void add_limit_admission(Store& store);
// ResourceQuota: what its namespace's quotas have no room for is refused, the rest counted at once.
// The last of the chain, after whoever else may refuse.
void add_quota_admission(Store& store);

}  // namespace ddptwin
