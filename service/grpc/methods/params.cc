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
  if (seconds) {
    const auto asked = static_cast<double>(*seconds);
    timeout = timeout ? std::min(*timeout, asked) : asked;
  }
  rpc.set_timeout(timeout);
  return {};
}

Decoded<> check_factor(std::uint64_t factor) {
  const Path root;
  return check_positive(factor, root.member("read_consistency").member("factor"));
}

}  // namespace quiver::service::rpc
