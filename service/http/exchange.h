// One request and its answer, from the parser through a handler back to the socket.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/mutex.h"
#include "base/threads/cancel.h"
#include "base/threads/executor.h"
#include "base/threads/task.h"
#include "service/http/uri.h"
#include "service/json/error.h"
#include "service/json/writer.h"

namespace quiver::service {

class Route;
class Service;

enum class Method : std::uint8_t { kGet, kPost, kPut, kPatch, kDelete, kHead, kOptions, kOther };

[[nodiscard]] std::string_view to_string(Method method);

/// What was read. The strings are reused from request to request.
struct Request {
  Method method = Method::kOther;
  std::string target;
  std::string body;
  std::string api_key;           ///< header `api-key`
  std::string authorization;     ///< header `authorization`
  std::string content_encoding;  ///< in lower case, as its names are compared
  std::string content_type;
  bool has_api_key = false;
  bool has_authorization = false;
  bool expects_continue = false;
  bool keep_alive = true;
  bool is_http_1_0 = false;

  void clear();
};

struct Response {
  int status = 200;
  std::string_view content_type = "application/json";
  std::string_view allow;            ///< with 405 and OPTIONS
  std::optional<int> retry_after_s;  ///< with 429
  std::string body;

  void clear();
};

/// The reason phrase of a status.
[[nodiscard]] std::string_view reason_phrase(int status);
/// Status line and headers, with the empty line. `cors` adds the headers that let browsers in.
void append_head(std::string& out, const Request& request, const Response& response, bool cors);

/// Whether a handler has written its answer, or has arranged for `Exchange::finish` to be called.
enum class Answer : std::uint8_t { kReady, kLater };

/// Lives in the connection; one at a time. Between `defer` and `finish` it belongs to whoever will
/// call `finish`, on any thread; otherwise to the connection's thread.
class Exchange {
 public:
  explicit Exchange(Service& service) : service_(service) {}
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;
  virtual ~Exchange() { release_body(); }

  Request request;
  Response response;
  Target target;
  const Route* route = nullptr;  ///< null if there is none for the request
  /// Decoded path parameters, in order.
  static constexpr std::size_t kMaxCaptures = 2;
  std::array<std::string, kMaxCaptures> captures;

  [[nodiscard]] Service& service() const { return service_; }

  /// The clock of `time` in the answer starts.
  void begin();
  /// For the text of 408: what is given up after so long.
  void set_timeout(std::string_view operation, double seconds) {
    operation_ = operation;
    timeout_s_ = seconds;
  }
  [[nodiscard]] double seconds() const;

  /// Opens `{"result":` in the body; the caller writes one value to the writer, then `end_result`.
  [[nodiscard]] json::Writer begin_result();
  void end_result();
  void result_raw(std::string_view json);
  /// Replaces whatever the body holds.
  void error(const ApiError& error);
  void text(int status, std::string_view text);

  /// The answer comes later: `finish` will be called once, maybe before this handler returns.
  void defer() {
    State expected = State::kRunning;
    state_.compare_exchange_strong(expected, State::kDeferred, std::memory_order_relaxed);
  }
  [[nodiscard]] bool deferred() const {
    return state_.load(std::memory_order_relaxed) != State::kRunning;
  }
  void finish();
  /// The connection's side of it: `resume` is posted to the connection's thread when finished.
  void wait(Task resume);
  void reset_state() {
    executor_ = nullptr;
    state_.store(State::kRunning, std::memory_order_relaxed);
  }

  /// Calls `work(*this)` and, unless the answer comes later, finishes if deferred. An error or an
  /// exception of `work` becomes the answer.
  template <class F>
  void run(F& work) {
    if (attempt(work) == Answer::kReady && deferred()) finish();
  }
  /// As `run`, on a thread of `executor`: on this one if it is one already. `work` returns a
  /// Decoded<Answer>.
  template <class F>
  Answer run_on(Executor& executor, F work) {
    if (executor_ == &executor) {
      run(work);
      return Answer::kLater;
    }
    defer();
    const bool posted =
        executor.post(Priority::kHigh, [this, &executor, work = std::move(work)]() mutable {
          executor_ = &executor;
          run(work);
        });
    if (!posted) refuse_closing();
    return Answer::kLater;
  }

  /// Set anew for each request that can be stopped; used by the server when it gives up waiting. At
  /// once if it has done so already.
  void set_cancel(std::shared_ptr<const Cancel> cancel);
  void cancel();

  /// Counts the body as `n_bytes` from now on; a small one as nothing. 503, with the count as it
  /// was, if the bodies of all exchanges would then be too much.
  [[nodiscard]] Decoded<> hold_body(std::size_t n_bytes);
  /// Gives a large body's memory back. `finish` does so, too.
  void release_body();

 protected:
  /// Called on any thread, once per `wait`: arrange for `resume` to run on the connection's thread.
  virtual void post_resume(Task resume) = 0;

 private:
  enum class State : std::uint8_t { kRunning, kDeferred, kWaiting, kFinished };

  template <class F>
  Answer attempt(F& work) {
    try {
      Decoded<Answer> outcome = work(*this);
      if (outcome) return *outcome;
      error(outcome.error());
    } catch (const std::bad_alloc&) {
      out_of_memory();
    } catch (const std::exception& exception) {
      unexpected(exception.what());
    } catch (...) {
      unexpected("an exception of unknown type");
    }
    return Answer::kReady;
  }
  void unexpected(std::string_view what) noexcept;
  void out_of_memory() noexcept;
  void refuse_closing();

  Service& service_;
  std::chrono::steady_clock::time_point start_;
  std::string_view operation_;
  double timeout_s_ = 0;
  const Executor* executor_ = nullptr;  ///< whose task this exchange is; null: none's yet
  std::size_t held_bytes_ = 0;          ///< of the body, as counted by the service
  std::atomic<State> state_ = State::kRunning;
  Task resume_;
  Mutex cancel_mutex_;
  std::shared_ptr<const Cancel> cancel_ QV_GUARDED_BY(cancel_mutex_);
  bool is_cancelled_ QV_GUARDED_BY(cancel_mutex_) = false;
};

}  // namespace quiver::service
