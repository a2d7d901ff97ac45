// Random values of the twin's own domain. All chance is RapidCheck's, so everything shrinks.
#pragma once

#include <iosfwd>
#include <memory>
#include <string>
#include <vector>

#include "controller/training_operator/profile.hpp"
#include "gen.hpp"
#include "objects/pytorchjob.hpp"

namespace ddptwin::property {

// An object of that kind with a few fields set at every level, any kind that has a table, by that
// table. Structures that keep unknown fields get some: `unknown` says how many there are in all.
struct AnyObject {
  std::shared_ptr<Object> object{};
  int unknown = 0;
};
rc::Gen<AnyObject> any_object();
void showValue(const AnyObject& any, std::ostream& out);

// Text that resource.Quantity accepts: any sign, decimals and suffix.
rc::Gen<std::string> quantity_text();

// A job as its author may write it. `name` is "j" in namespace "default".
struct JobShape {
  bool master = true;
  int workers = 1;  // 0: no Worker at all, or `empty_worker`: one with replicas 0
  bool empty_worker = false;
  std::string restart_policy{};  // of all replicas; empty: not written
  std::string nproc{};           // empty: not written
  bool elastic = false;
  bool elastic_bounds = false;      // minReplicas and maxReplicas are written
  bool elastic_nproc = false;       // elasticPolicy.nProcPerNode instead of spec.nprocPerNode
  std::string clean_pod_policy{};   // empty: not written
  int backoff_limit = -1;           // -1: not written
  int active_deadline_seconds = 0;  // 0: not written
  int ttl_seconds = -1;             // -1: not written
  int port = 0;                     // of the Master's pytorchjob-port; 0: not written
  int worker_port = 0;              // of the Workers'
  int rdzv_port = 0;                // elasticPolicy.rdzvPort; 0: not written
  std::vector<std::string> env{};   // names its author sets to "user"
};
// What a port that is not written is (spec/pytorchjob.md §1.3).
constexpr int written_or_default(int port) { return port != 0 ? port : 23456; }
rc::Gen<JobShape> job_shape();
void showValue(const JobShape& shape, std::ostream& out);
std::shared_ptr<PyTorchJob> job_of(const JobShape& shape);

rc::Gen<controller::pytorchjob::Profile> any_profile();

}  // namespace ddptwin::property

namespace ddptwin::controller::pytorchjob {
void showValue(const Profile& profile, std::ostream& out);
}

namespace rc {
template <>
struct Arbitrary<ddptwin::property::AnyObject> {
  static Gen<ddptwin::property::AnyObject> arbitrary() { return ddptwin::property::any_object(); }
};
template <>
struct Arbitrary<ddptwin::property::JobShape> {
  static Gen<ddptwin::property::JobShape> arbitrary() { return ddptwin::property::job_shape(); }
};
template <>
struct Arbitrary<ddptwin::controller::pytorchjob::Profile> {
  static Gen<ddptwin::controller::pytorchjob::Profile> arbitrary() {
    return ddptwin::property::any_profile();
  }
};
}  // namespace rc
