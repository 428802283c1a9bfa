// Parameters that many requests have: timeout, consistency, and whether to wait.
#pragma once

#include <cstdint>
#include <optional>

#include "engine/model/reports.h"
#include "service/grpc/rpc.h"

namespace quiver::service::rpc {

/// Sets when the call is given up: after `seconds`, or when its client gives up if that is sooner
/// or nothing is given. 422 for 0.
[[nodiscard]] Decoded<> set_timeout(Rpc& rpc, std::optional<std::uint64_t> seconds);
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
