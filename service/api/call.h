// One request while it is being answered, whichever transport it came by.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/mutex.h"
#include "base/result.h"
#include "base/threads/cancel.h"
#include "base/threads/executor.h"
#include "service/api/access.h"
#include "service/api/effect.h"
#include "service/api/load/lane.h"
#include "service/tracing/request_trace.h"

namespace quiver::service::api {

class Runtime;

/// Receives the outcome of a verb. A verb calls it once, on any thread, perhaps before the verb
/// returns. It throws nothing. A verb that throws (for lack of memory) has not called it and will
/// not.
template <class T = void>
using Done = std::function<void(Result<T>)>;

/// What a verb knows of its request: who calls, until when, and whether somebody still waits.
///
/// One thread at a time uses a call: the transport's thread, then those that the verb hands it to,
/// until `Done` is called. Only the functions under "Any thread" may be called beside them. A
/// transport may use a call again for its next request, after `begin`.
class Call {
 public:
  explicit Call(Runtime& runtime) : runtime_(runtime) {}
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;
  virtual ~Call() = default;

  /// The request for a line of the log: "POST /collections/c/points".
  [[nodiscard]] virtual std::string describe() const = 0;
  [[nodiscard]] Runtime& runtime() const { return runtime_; }

  /// Forgets the previous request. The clock of `seconds` and the trace start. `traceparent` is
  /// that of the request, a valid one or "".
  void begin(std::string_view traceparent);
  [[nodiscard]] double seconds() const;

  void set_principal(const Principal& principal) { principal_ = principal; }
  [[nodiscard]] const Principal& principal() const { return principal_; }
  /// kPermissionDenied if the caller may not do what needs `needed` in `collection`, the name that
  /// the caller used. Without a collection, a need about one stands for all collections.
  [[nodiscard]] Result<> check_access(Access needed, std::string_view collection = {}) const {
    return principal_.check(needed, collection);
  }

  /// The call is given up `seconds` from now; nullopt: after the server's timeout of queries.
  void set_timeout(std::optional<double> seconds);
  [[nodiscard]] Deadline deadline() const { return deadline_; }
  void set_when_overloaded(WhenOverloaded what) { when_overloaded_ = what; }
  [[nodiscard]] WhenOverloaded when_overloaded() const { return when_overloaded_; }
  /// When the call is refused rather than queued.
  [[nodiscard]] load::Patience patience() const {
    return {deadline_.when(), when_overloaded_ == WhenOverloaded::kRefused};
  }
  /// Other requests wait for the thread that received this one, which should do nothing long.
  void set_others_wait(bool others_wait) { others_wait_ = others_wait; }
  [[nodiscard]] bool others_wait() const { return others_wait_; }
  /// The timeout that the caller named. It limits nothing by itself, unlike `set_timeout`.
  void set_asked_timeout(std::optional<double> seconds) { asked_timeout_s_ = seconds; }
  [[nodiscard]] std::optional<double> asked_timeout_s() const { return asked_timeout_s_; }
  /// When that timeout is over; none if the caller named none.
  [[nodiscard]] Deadline asked_deadline() const;
  /// The answer is a refusal for now: the caller may try again in this many seconds; 0: never.
  void set_retry_after(std::uint32_t seconds) { retry_after_s_ = seconds; }
  [[nodiscard]] std::uint32_t retry_after_s() const { return retry_after_s_; }
  /// Static text, for the error of a call that ran out of time: "Search".
  void set_operation(std::string_view operation) { operation_ = operation; }
  /// `error`, or one that names operation and timeout if the call ran out of time.
  [[nodiscard]] Error with_timeout(Error error) const;
  /// The exception that is being handled, as an error. Writes it to the log unless memory ran out.
  /// For catch blocks.
  [[nodiscard]] Error error_of_exception() const noexcept;

  [[nodiscard]] tracing::RequestTrace& trace() { return trace_; }
  [[nodiscard]] const tracing::RequestTrace& trace() const { return trace_; }
  /// The stage of the call's trace in which its operation is done.
  [[nodiscard]] std::string_view work_stage() const {
    return operation_.empty() ? std::string_view("Work") : operation_;
  }

  /// What the call is about asks other machines: threads that compute are not for it.
  void set_waits() { waits_ = true; }
  [[nodiscard]] bool waits() const { return waits_; }
  [[nodiscard]] bool runs_on(const Executor& executor) const { return executor_ == &executor; }
  /// From now on the call is in a task of `executor`.
  void enter(const Executor& executor) { executor_ = &executor; }

  // Any thread.

  /// From now on `cancel` ends the work for this call; at once if the call is cancelled already.
  void set_cancel(std::shared_ptr<const Cancel> cancel) QV_EXCLUDES(cancel_mutex_);
  /// Nobody waits for the answer any more.
  void cancel() QV_EXCLUDES(cancel_mutex_);
  [[nodiscard]] bool is_cancelled() QV_EXCLUDES(cancel_mutex_);
  /// kCancelled or kDeadlineExceeded if the work for this call should stop.
  [[nodiscard]] Result<> check_cancel() QV_EXCLUDES(cancel_mutex_);

 private:
  static constexpr std::uint32_t kDefaultRetryAfterS = 1;

  Runtime& runtime_;
  std::chrono::steady_clock::time_point start_;
  Principal principal_;
  std::string_view operation_;
  double timeout_s_ = 0;  ///< 0: none
  std::optional<double> asked_timeout_s_;
  std::uint32_t retry_after_s_ = kDefaultRetryAfterS;
  Deadline deadline_;
  WhenOverloaded when_overloaded_ = WhenOverloaded::kRefused;
  bool others_wait_ = false;
  bool waits_ = false;
  const Executor* executor_ = nullptr;  ///< whose task the call is in; null: none
  tracing::RequestTrace trace_;

  Mutex cancel_mutex_;
  std::shared_ptr<const Cancel> cancel_ QV_GUARDED_BY(cancel_mutex_);
  bool is_cancelled_ QV_GUARDED_BY(cancel_mutex_) = false;
};

}  // namespace quiver::service::api
