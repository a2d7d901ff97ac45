#include "api/faulty_client.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <deque>

namespace ddptwin::api {
namespace {

// The stream as its reader sees it.
class FaultyWatch final : public Watch {
 public:
  FaultyWatch(Loop& loop, Lane lane, const Caller& caller, FaultPort& port, const KindInfo& kind,
              WatchSink sink)
      : loop_(loop),
        lane_(lane),
        caller_(caller),
        port_(port),
        kind_(kind),
        sink_(std::move(sink)) {}

  void set_inner(std::unique_ptr<Watch> inner) { inner_ = std::move(inner); }

  void on_event(const WatchEvent& event) {
    if (broken_) return;
    const EventVerdict verdict = port_.on_event(caller_, kind_, event);
    if (verdict.cut) return cut(*verdict.cut);
    if (verdict.delay == Duration::zero() && waiting_.empty()) return sink_(event);
    // Nothing overtakes what is before it.
    Time due = loop_.now() + verdict.delay;
    if (!waiting_.empty()) due = std::max(due, waiting_.back().due);
    waiting_.push_back({event, due, loop_.context()});
    if (waiting_.size() == 1) deliver_next();
  }

 private:
  struct Waiting {
    WatchEvent event;
    Time due;
    std::uint64_t context;
  };

  void deliver_next() {
    const ContextScope of_this_event(loop_, waiting_.front().context);
    timer_ = loop_.at(lane_, waiting_.front().due, [this] {
      const WatchEvent event = std::move(waiting_.front().event);
      waiting_.pop_front();
      if (!waiting_.empty()) deliver_next();
      sink_(event);
    });
  }

  // What was on its way is lost too.
  void cut(Duration silence) {
    broken_ = true;
    waiting_.clear();
    timer_ = loop_.after(lane_, silence, [this] {
      WatchEvent end;
      end.type = WatchEventType::error;
      end.error =
          Error{Reason::expired, {}, "too old resource version: the watch was cut off", nullptr, 0};
      sink_(end);
    });
  }

  Loop& loop_;
  Lane lane_;
  const Caller& caller_;  // the client's own, which outlives its watches
  FaultPort& port_;
  const KindInfo& kind_;
  WatchSink sink_;
  std::unique_ptr<Watch> inner_{};
  std::deque<Waiting> waiting_{};
  Timer timer_{};
  bool broken_ = false;
};

}  // namespace

bool is_write(const Request& request) {
  return request.verb != Verb::get && request.verb != Verb::list && !request.dry_run;
}

Error injected_conflict(const Request& request) {
  const Text& name = name_of(request);
  const KindInfo* kind = request.target.kind;
  auto details = std::make_shared<ErrorDetails>();
  details->name = name;
  details->group = kind->group;
  details->kind = kind->plural;
  return {Reason::conflict,
          {},
          fmt::format("Operation cannot be fulfilled on {} \"{}\": the object has been modified; "
                      "please apply your changes to the latest version and try again",
                      kind->resource(), name),
          std::move(details),
          0};
}

namespace {

struct InjectedRow {
  Reason reason;
  std::string_view usual;
};
constexpr std::array injected_rows{
    InjectedRow{Reason::internal_error, "Internal error occurred: etcdserver: request timed out"},
    InjectedRow{Reason::service_unavailable,
                "the server is currently unable to handle the request"},
    InjectedRow{Reason::forbidden, "forbidden"},
    InjectedRow{Reason::invalid, "invalid"},
};

const InjectedRow* injected_row(int code) {
  const auto found =
      std::find_if(injected_rows.begin(), injected_rows.end(),
                   [code](const InjectedRow& row) { return http_code(row.reason) == code; });
  return found == injected_rows.end() ? nullptr : &*found;
}

}  // namespace

bool can_inject(int code) { return injected_row(code) != nullptr; }

Error injected_error(int code, std::string message) {
  const InjectedRow* row = injected_row(code);
  const int unusual = row == nullptr ? code : 0;
  if (row == nullptr) row = &injected_rows.front();
  if (message.empty()) message = row->usual;
  return {row->reason, {}, std::move(message), nullptr, unusual};
}

Error injected_timeout() {
  return {Reason::timeout,
          {},
          "Timeout: request did not complete within the allotted timeout",
          nullptr,
          0};
}

Error injected_lost_connection() {
  return {Reason::io, {}, "http2: client connection lost", nullptr, 0};
}

FaultyClient::FaultyClient(Loop& loop, std::shared_ptr<ApiClient> next, Caller caller,
                           FaultPort& port)
    : loop_(loop),
      next_(std::move(next)),
      caller_(std::move(caller)),
      port_(port),
      lane_(loop.new_lane()) {}

FaultyClient::~FaultyClient() = default;

void FaultyClient::later(Duration delay, Callback callback) {
  const std::uint64_t id = ++last_;
  waiting_[id] = loop_.after(lane_, delay, [this, id, callback = std::move(callback)]() mutable {
    const Timer mine = std::move(waiting_.extract(id).mapped());
    callback();
  });
}

void FaultyClient::call(Request&& request, Completion done) {
  CallVerdict verdict = port_.on_call(caller_, request);
  if (verdict.delay == Duration::zero())
    return send(std::move(request), std::move(verdict), std::move(done));
  const Duration delay = std::exchange(verdict.delay, Duration::zero());
  later(delay, [this, request = std::move(request), verdict = std::move(verdict),
                done = std::move(done)]() mutable {
    send(std::move(request), std::move(verdict), std::move(done));
  });
}

void FaultyClient::send(Request&& request, CallVerdict verdict, Completion done) {
  if (verdict.refuse) {
    // Posted, as every answer: the caller's state is then the same whoever answers.
    return later(verdict.reply_delay,
                 [this, request = std::move(request), error = std::move(*verdict.refuse),
                  done = std::move(done)]() mutable {
                   const Result<Response> answer = fail(std::move(error));
                   port_.on_answer(caller_, request, answer);
                   done(answer);
                 });
  }
  Request asked = request;
  next_->call(std::move(request), [this, alive = std::weak_ptr<int>(alive_),
                                   asked = std::move(asked), verdict = std::move(verdict),
                                   done = std::move(done)](Result<Response> result) mutable {
    if (alive.expired()) return;
    port_.on_answer(caller_, asked, result);
    if (verdict.lose_reply) result = fail(std::move(*verdict.lose_reply));
    if (verdict.reply_delay == Duration::zero()) return done(std::move(result));
    later(verdict.reply_delay, [result = std::move(result), done = std::move(done)]() mutable {
      done(std::move(result));
    });
  });
}

std::unique_ptr<Watch> FaultyClient::watch(const Target& target, const ListOptions& options,
                                           WatchSink sink) {
  auto faulty = std::make_unique<FaultyWatch>(loop_, loop_.new_lane(), caller_, port_, *target.kind,
                                              std::move(sink));
  faulty->set_inner(next_->watch(target, options, [watch = faulty.get()](const WatchEvent& event) {
    watch->on_event(event);
  }));
  return faulty;
}

}  // namespace ddptwin::api
