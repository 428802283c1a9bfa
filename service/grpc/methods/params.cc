#include "service/grpc/methods/params.h"

#include <algorithm>

#include "service/grpc/messages/decode.h"

namespace quiver::service::rpc {

Decoded<> set_timeout(Rpc& rpc, std::optional<std::uint64_t> seconds) {
  constexpr double kShortest = 1e-3;
  const Path root;
  if (seconds) QV_TRY(check_positive(*seconds, root.member("timeout")));
  std::optional<double> timeout = rpc.seconds_left();
  if (timeout) timeout = std::max(*timeout, kShortest);
  std::optional<double> asked;
  if (seconds) {
    asked = static_cast<double>(*seconds);
    timeout = timeout ? std::min(*timeout, *asked) : *asked;
  }
  rpc.set_timeout(timeout);
  rpc.set_asked_timeout(asked);  // strict mode limits what the request names, no deadline
  return {};
}

Decoded<> set_write_timeout(Rpc& rpc, std::uint64_t seconds) {
  const Path root;
  QV_TRY(check_positive(seconds, root.member("timeout")));
  rpc.set_asked_timeout(static_cast<double>(seconds));
  return {};
}

Decoded<> check_factor(std::uint64_t factor) {
  const Path root;
  const Path parent = root.member("read_consistency");
  return check_positive(factor, parent.member("factor"));
}

}  // namespace quiver::service::rpc
