#include "service/api/call.h"

#include <fmt/format.h>

#include <utility>

#include "base/observe/failure.h"
#include "base/observe/log.h"
#include "service/api/runtime.h"

namespace quiver::service::api {

void Call::begin(std::string_view traceparent) {
  start_ = std::chrono::steady_clock::now();
  principal_ = {};
  operation_ = {};
  timeout_s_ = 0;
  asked_timeout_s_.reset();
  retry_after_s_ = kDefaultRetryAfterS;
  deadline_ = Deadline::none();
  when_overloaded_ = WhenOverloaded::kRefused;
  others_wait_ = false;
  executor_ = nullptr;
  waits_ = false;
  trace_.begin(runtime_.tracer(), traceparent);
  MutexLock lock(cancel_mutex_);
  cancel_ = nullptr;
  is_cancelled_ = false;
}

double Call::seconds() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
}

void Call::set_timeout(std::optional<double> seconds) {
  asked_timeout_s_ = seconds;
  constexpr double kForeverSeconds = 1e9;
  timeout_s_ = seconds.value_or(runtime_.options().query_timeout_s);
  deadline_ = Deadline::none();
  if (timeout_s_ >= kForeverSeconds) return;
  const std::chrono::duration<double> timeout(timeout_s_);
  deadline_ = Deadline::after(std::chrono::duration_cast<std::chrono::nanoseconds>(timeout));
}

Deadline Call::asked_deadline() const {
  constexpr double kForeverSeconds = 1e9;
  if (!asked_timeout_s_ || *asked_timeout_s_ >= kForeverSeconds) return Deadline::none();
  const std::chrono::duration<double> timeout(*asked_timeout_s_);
  return Deadline::at(start_ + std::chrono::duration_cast<std::chrono::nanoseconds>(timeout));
}

Error Call::with_timeout(Error error) const {
  const bool was_stopped =
      error.code() == Code::kDeadlineExceeded || error.code() == Code::kCancelled;
  const bool is_limited = timeout_s_ > 0 && !operation_.empty();
  if (!was_stopped || !is_limited || seconds() < timeout_s_) return error;
  return Error(Code::kDeadlineExceeded,
               fmt::format("Timeout error: Operation '{}' timed out after {} seconds", operation_,
                           timeout_s_));
}

Error Call::error_of_exception() const noexcept {
  Error error = quiver::error_of_exception();
  if (error.code() == Code::kResourceExhausted) return error;
  try {
    log_error("{}: {}", describe(), error.message());
  } catch (...) {
    // No memory for words.
  }
  return error;
}

void Call::set_cancel(std::shared_ptr<const Cancel> cancel) {
  MutexLock lock(cancel_mutex_);
  cancel_ = std::move(cancel);
  if (is_cancelled_ && cancel_) cancel_->cancel();
}

void Call::cancel() {
  MutexLock lock(cancel_mutex_);
  is_cancelled_ = true;
  if (cancel_) cancel_->cancel();
}

bool Call::is_cancelled() {
  MutexLock lock(cancel_mutex_);
  return is_cancelled_;
}

Result<> Call::check_cancel() {
  MutexLock lock(cancel_mutex_);
  return cancel_ ? cancel_->check() : Result<>();
}

}  // namespace quiver::service::api
