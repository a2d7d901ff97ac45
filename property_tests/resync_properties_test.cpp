// What no event wakes the operator for stays as it is until something else does, and at the latest
// until its informer reports every job once more (spec/pytorchjob.md §4.1, Q4).
#include <algorithm>
#include <boost/json.hpp>
#include <ostream>

#include "core/virtual_start.hpp"
#include "objects/autoscaling.hpp"
#include "running_job.hpp"

namespace ddptwin::property::resync_properties_test {
namespace {

namespace json = boost::json;

constexpr Duration resync_period = 10h;  // the middle of upstream's 9 to 11
constexpr Duration away = 1min;          // how long an operator that crashed is
constexpr Duration near = 20s;

struct Missed {
  enum class What : std::uint8_t { deadline, service, autoscaler };
  What what = What::deadline;
  int at = 0;       // minutes since the cluster began
  int crashes = 0;  // the operator, as counted by `at`; 0: it does not
};
constexpr const char* missed_names[] = {"a deadline", "a Service", "an autoscaler"};

void showValue(const Missed& missed, std::ostream& out) {
  out << missed_names[static_cast<int>(missed.what)] << " after " << missed.at << " min";
  if (missed.crashes != 0) out << ", the operator crashes after " << missed.crashes << " min";
}

Missed any_missed() {
  using What = Missed::What;
  Missed missed;
  missed.what = *gen::element(What::deadline, What::service, What::autoscaler);
  missed.at = *gen::inRange(2, 24 * 60);
  if (*gen::arbitrary<bool>()) missed.crashes = *gen::inRange(2, 24 * 60);
  return missed;
}

Time after_minutes(int minutes) { return virtual_start + std::chrono::minutes(minutes); }

// When the operator looks at every job next: a process does so as it starts, and each ten hours
// since then.
Time next_look(const Missed& missed) {
  const Time at = after_minutes(missed.at);
  const Time crash = after_minutes(missed.crashes);
  Time look = virtual_start;
  while (look < at && (missed.crashes == 0 || look < crash)) look = look + resync_period;
  if (missed.crashes == 0 || look < crash) return look;
  for (look = crash + away; look < at;) look = look + resync_period;
  return look;
}

class Case {
 public:
  explicit Case(const Missed& missed)
      : missed_(missed), run_(any_seed(), *any_profile().as("version")) {}

  void start() {
    JobShape shape = plain_shape();
    shape.workers = std::max(1, shape.workers);
    if (missed_.what == Missed::What::deadline) shape.active_deadline_seconds = missed_.at * 60;
    if (missed_.what == Missed::What::autoscaler) {
      shape.elastic = true;
      shape.elastic_nproc = false;  // v1.7 crashes over it (Q12)
    }
    RC_PRE(run_.create(shape, {}, [&](PyTorchJob& job) {
      if (missed_.what == Missed::What::autoscaler)
        job.spec.edit().elasticPolicy->metrics = RawJson(json::array{});
    }));
    run_.rest(1min);
    RC_PRE(!run_.pods().empty());  // v1.7 crashes on some jobs
  }

  // It comes about, and nobody hears of it: a deadline has no timer, and neither the end of an
  // autoscaler wakes the operator nor that of a Service whose reference was taken away.
  void come_about() {
    if (missed_.what == Missed::What::autoscaler) {
      run_.remove(*autoscaler());
    } else if (missed_.what == Missed::What::service) {
      run_.patch_object(*run_.services().at("j-worker-0"),
                        json::object{{"metadata", {{"ownerReferences", nullptr}}}});
      run_.rest(1s);
      run_.remove(*run_.services().at("j-worker-0"));
    }
  }

  void go_on_until(Time time) {
    const Time crash = after_minutes(missed_.crashes);
    if (missed_.crashes != 0 && run_.now() < crash && crash <= time) {
      run_.rest(crash - run_.now());
      RC_ASSERT(run_.world().crash_controller("training-operator"));
    }
    if (missed_.crashes != 0 && run_.now() < crash + away && crash + away <= time) {
      run_.rest(crash + away - run_.now());
      RC_ASSERT(run_.world().start_controller("training-operator"));
    }
    run_.rest(time - run_.now());
  }

  bool is_put_right() {
    log_job(run_);
    if (missed_.what == Missed::What::deadline) return run_.conditions(true).contains("Failed");
    if (missed_.what == Missed::What::autoscaler) return autoscaler() != nullptr;
    return run_.services().contains("j-worker-0");
  }

 private:
  ObjectPtr autoscaler() {
    return run_.world().find(HorizontalPodAutoscaler::info(), "default", "j");
  }

  Missed missed_;
  ClusterRun run_;
};

TEST(Resync, WhatWasMissedIsPutRightThenAndNotBefore) {
  holds(
      [] {
        const Missed missed = *gen::resize(rc::kNominalSize, gen::exec(any_missed)).as("missed");
        const Time look = next_look(missed);
        RC_PRE(look - after_minutes(missed.at) > 2 * near);
        RC_PRE(std::abs(missed.at - missed.crashes) > 1);
        Case one(missed);
        one.start();
        one.go_on_until(after_minutes(missed.at));
        one.come_about();
        one.go_on_until(look - near);
        RC_ASSERT(!one.is_put_right());
        one.go_on_until(look + near);
        RC_ASSERT(one.is_put_right());
      },
      2 * run_cost);
}

}  // namespace
}  // namespace ddptwin::property::resync_properties_test
