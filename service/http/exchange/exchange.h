// One request and its response, from the parser through a handler back to the connection.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "service/api/call.h"
#include "service/http/exchange/body_memory.h"
#include "service/http/exchange/completion.h"
#include "service/http/exchange/message.h"
#include "service/http/exchange/uri.h"
#include "service/json/error.h"
#include "service/json/writer.h"

namespace quiver::service {

class Front;
class Route;

/// Whether a handler has written its answer, or has arranged for `Exchange::finish` to be called.
enum class Answer : std::uint8_t { kReady, kLater };

/// Lives in the connection; one at a time. While it is handled, until `finish`, it belongs to
/// whoever will call `finish`, on any thread; otherwise to the connection's thread.
class Exchange final : public api::Call {
 public:
  Exchange(Front& front, api::Runtime& runtime, BodyBudget& budget, Completion::Post post)
      : Call(runtime), completion(std::move(post)), front_(front), body_memory_(budget) {}

  Request request;
  Response response;
  Target target;
  const Route* route = nullptr;  ///< null if the request has none
  /// Decoded path parameters, in order.
  static constexpr std::size_t kMaxCaptures = 3;
  std::array<std::string, kMaxCaptures> captures;
  /// Finished once the answer is written.
  Completion completion;
  /// Larger answers are compressed if the client asks.
  std::size_t compress_above_bytes = static_cast<std::size_t>(-1);
  std::string remote;  ///< address of the client; empty unless a log wants it

  [[nodiscard]] Front& front() const { return front_; }
  /// "POST /collections/c/points".
  [[nodiscard]] std::string describe() const override;

  /// Makes room for the next request.
  void clear();

  /// Opens `{"result":` in the body; the caller writes one value to the writer, then `end_result`.
  [[nodiscard]] json::Writer begin_result();
  void end_result();
  void result_raw(std::string_view json);
  /// Replaces whatever the response holds.
  void error(const ApiError& error);
  void text(int status, std::string_view text);

  /// Calls `work(*this)`, which returns a Decoded<Answer>, and finishes unless the answer comes
  /// later. An error or an exception of `work` becomes the answer.
  template <class F>
  void run(F&& work) {
    if (attempt(work) == Answer::kReady) finish();
  }
  /// The answer is written. Compresses it if the client asked: a large one on another thread.
  void finish();

  /// Counts the body as `n_bytes` from now on. 503 if all bodies together would be too much.
  [[nodiscard]] Decoded<> hold_body(std::size_t n_bytes);
  /// Gives a large body's memory back. `finish` does so, too.
  void release_body();

 private:
  template <class F>
  Answer attempt(F& work) noexcept {
    try {
      Decoded<Answer> outcome = work(*this);
      if (outcome) return *outcome;
      error(outcome.error());
    } catch (...) {
      error_or_status(error_of_exception());
    }
    return Answer::kReady;
  }
  [[nodiscard]] bool compress_elsewhere() noexcept;
  void compress_here() noexcept;
  void complete();
  /// As `error`; without memory for the text, only the status.
  void error_or_status(const Error& error) noexcept;

  Front& front_;
  BodyMemory body_memory_;
};

}  // namespace quiver::service
