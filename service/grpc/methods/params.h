// Parameters that many requests have: timeout, consistency, and whether to wait.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include "engine/model/reports.h"
#include "service/api/collections.h"
#include "service/api/fresh_reads.h"
#include "service/api/runtime.h"
#include "service/grpc/rpc.h"

namespace quiver::service::rpc {

/// Sets when the call is given up: after `seconds`, or when its client gives up if that is sooner
/// or nothing is given. 422 for 0.
[[nodiscard]] Decoded<> set_timeout(Rpc& rpc, std::optional<std::uint64_t> seconds);
/// 422 for 0.
[[nodiscard]] Decoded<> set_write_timeout(Rpc& rpc, std::uint64_t seconds);
/// 422 for 0 replicas.
[[nodiscard]] Decoded<> check_factor(std::uint64_t factor);

/// For messages with `timeout` and `read_consistency`.
template <class Request>
[[nodiscard]] Decoded<> read_params(Rpc& rpc, const Request& request) {
  if (request.read_consistency().has_factor()) {
    QV_TRY(check_factor(request.read_consistency().factor()));
  }
  return set_timeout(rpc, request.has_timeout() ? std::optional(request.timeout()) : std::nullopt);
}

/// Whether the read must show all that was acknowledged before it: it asks for more than one
/// replica.
template <class Request>
[[nodiscard]] bool must_be_fresh(const Rpc& rpc, const Request& request) {
  const auto& wanted = request.read_consistency();
  return api::may_be_behind(rpc) && (wanted.has_type() || wanted.factor() > 1);
}

/// `with_collection` for messages with `read_consistency` and `collection_name`.
template <class Request, class Work>
Decoded<> with_readable(Rpc& rpc, const Request& request, Work work) {
  if (!must_be_fresh(rpc, request)) {
    return with_collection(rpc, request.collection_name(), std::move(work));
  }
  api::note_waits(rpc, request.collection_name());
  return on_executor(rpc, rpc.runtime().blocking(), [&request, work](Rpc& call) -> Decoded<> {
    std::optional<double> seconds = call.seconds_left();
    if (request.has_timeout() && request.timeout() > 0) seconds = request.timeout();
    QV_TRY(api::wait_until_fresh(call, request.collection_name(), seconds));
    return with_collection(call, request.collection_name(), work);
  });
}

/// For changes with `timeout`: how long they may wait in the queue of updates. 422 for 0.
template <class Request>
[[nodiscard]] Decoded<> write_params(Rpc& rpc, const Request& request) {
  if (!request.has_timeout()) return {};
  return set_write_timeout(rpc, request.timeout());
}

/// For messages with `wait`.
template <class Request>
[[nodiscard]] engine::Ack ack_of(const Request& request) {
  return request.wait() ? engine::Ack::kVisible : engine::Ack::kDurable;
}

/// Answers with a message of this type that has the time, filled by `fill(message)`, which returns
/// a Decoded<>.
template <class Response, class Fill>
[[nodiscard]] Decoded<> answer_with(Rpc& rpc, Fill fill) {
  auto* response = rpc.create<Response>();
  QV_TRY(fill(*response));
  response->set_time(rpc.seconds());
  rpc.answer(*response);
  return {};
}

}  // namespace quiver::service::rpc
