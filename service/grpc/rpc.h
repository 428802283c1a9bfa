// One gRPC call while it is answered: what handlers see of it. Knows messages, but nothing of
// connections.
#pragma once

#include <google/protobuf/arena.h>
#include <google/protobuf/message_lite.h>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "service/api/answer.h"
#include "service/api/collections.h"
#include "service/api/effect.h"
#include "service/json/error.h"

namespace quiver::service::rpc {

using api::OpenCollection;

class Rpc;

/// Answers the call, or arranges for an answer, or fails (the error becomes the answer).
using Handler = Decoded<> (*)(Rpc&);

/// Who may call a method. Rights are checked by its verb.
enum class Callers : std::uint8_t { kAll, kWithKey };

struct Method {
  std::string_view name;  ///< "/qdrant.Points/Upsert"
  Callers callers = Callers::kWithKey;
  Handler handler = nullptr;         ///< null: the method is not built
  std::string_view unbuilt_feature;  ///< of a method that is not built: "snapshots"
  api::Effect effect = api::Effect::kLocal;
  api::WhenOverloaded when_overloaded = api::WhenOverloaded::kRefused;
};

/// How a call ended, as gRPC says it.
struct Status {
  int code = 0;  ///< quiver::Code, 0: success
  std::string text;
  bool is_too_early = false;  ///< it came too soon after others
};
/// The error of a REST answer in gRPC's terms.
[[nodiscard]] Status status_of(const ApiError& error);

/// Lives until gRPC has sent the answer. As for any api::Call, one thread at a time.
class Rpc : public api::Call {
 public:
  Rpc(api::Runtime& runtime, const Method& method) : Call(runtime), method_(method) {}

  [[nodiscard]] const Method& method() const { return method_; }
  [[nodiscard]] std::string describe() const override { return std::string(method_.name); }

  /// The message of the request, which lives as long as the call. Call once.
  template <class Message>
  [[nodiscard]] Decoded<const Message*> request() {
    auto* message = create<Message>();
    QV_TRY(parse(*message));
    return message;
  }
  /// The collection that the request is about, for the audit log. `name` lives as long as the call.
  void set_collection(std::string_view name) { collection_ = name; }
  [[nodiscard]] std::string_view collection() const { return collection_; }
  /// A message that lives as long as the call.
  template <class Message>
  [[nodiscard]] Message* create() {
    return google::protobuf::Arena::CreateMessage<Message>(&arena_);
  }
  /// Seconds until the client gives up; nullopt if it never does.
  [[nodiscard]] virtual std::optional<double> seconds_left() const = 0;

  /// The call ends with this answer, or with this error. One of them, once.
  virtual void answer(const google::protobuf::MessageLite& message) = 0;
  virtual void error(Status status) noexcept = 0;

  /// Calls `work(*this)`, which returns a Decoded<>. An error or an exception becomes the answer.
  template <class Work>
  void run(Work&& work) noexcept {
    try {
      Decoded<> outcome = work(*this);
      if (!outcome) error(status_of(outcome.error()));
    } catch (...) {
      error_of_exception_or_code();
    }
  }

 protected:
  [[nodiscard]] virtual Decoded<> parse(google::protobuf::MessageLite& message) = 0;

 private:
  void error_of_exception_or_code() noexcept;

  const Method& method_;
  std::string_view collection_;
  google::protobuf::Arena arena_;
};

/// A `Done` for a verb, which calls `write(rpc, value)`: it answers the call or returns an error.
template <class T, class Write>
api::Done<T> answer_by(Rpc& rpc, Write write) {
  return [&rpc, write = std::move(write)](Result<T> result) {
    rpc.run([&](Rpc& call) -> Decoded<> {
      QV_TRY(auto value, std::move(result));
      return write(call, std::move(value));
    });
  };
}
/// As `answer_by`, for a verb without a value.
template <class Write>
api::Done<> answer_done(Rpc& rpc, Write write) {
  return [&rpc, write = std::move(write)](Result<> result) {
    rpc.run([&](Rpc& call) -> Decoded<> {
      QV_TRY(std::move(result));
      return write(call);
    });
  };
}

/// kInvalidArgument unless the length is that of a name.
[[nodiscard]] Decoded<> check_collection_length(std::string_view name);

/// Calls `work(rpc, collection)`, which returns a Decoded<>, with the collection of this name.
/// `name` lives as long as the call.
template <class Work>
Decoded<> with_collection(Rpc& rpc, const std::string& name, Work work) {
  rpc.set_collection(name);
  QV_TRY(check_collection_length(name));
  api::open_collection(rpc, name, answer_by<OpenCollection>(rpc, std::move(work)));
  return {};
}

/// Calls `work(rpc)`, which returns a Decoded<>, on a thread of `executor`.
template <class Work>
Decoded<> on_executor(Rpc& rpc, Executor& executor, Work work) {
  auto work_there = [&rpc, work = std::move(work)]() mutable { rpc.run(work); };
  auto refuse = [&rpc](const Error& error) { rpc.error(status_of(ApiError(error))); };
  api::run_on(executor, rpc, std::move(work_there), std::move(refuse));
  return {};
}

/// Calls `work(rpc)` on a thread that computes, by what is known of the work. kResourceExhausted if
/// it would wait too long for one.
template <class Work>
Decoded<> on_compute(Rpc& rpc, const api::load::Work& kind, Work work) {
  auto refuse = [&rpc](const Error& error) { rpc.error(status_of(ApiError(error))); };
  auto work_there = [&rpc, work = std::move(work)](const Result<>& begun) mutable {
    if (begun) return rpc.run(work);
    rpc.error(status_of(ApiError(begun.error())));
  };
  api::run_computing(rpc, kind, std::move(work_there), std::move(refuse));
  return {};
}

}  // namespace quiver::service::rpc
