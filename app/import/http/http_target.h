// A collection of a running server, as an import sees it.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "app/client/connection.h"
#include "app/import/plan/rows.h"
#include "app/import/reading/bad_rows.h"
#include "base/clock.h"
#include "base/result.h"
#include "base/schema.h"

namespace quiver::app {

struct HttpTarget {
  Endpoint endpoint;
  std::string api_key;
  std::string collection;
  std::uint32_t retry_s = 60;  ///< how long a server may be away or overloaded
};

/// nullopt if there is no such collection.
[[nodiscard]] Result<std::optional<std::vector<FieldSchema>>> fetch_fields(
    const HttpTarget& target);
/// With payload indexes, a body each.
[[nodiscard]] Result<> create_collection(const HttpTarget& target, const std::string& body,
                                         const std::vector<std::string>& indexes);

/// How many points there are once all that was acknowledged is visible.
[[nodiscard]] Result<std::uint64_t> count_points(const HttpTarget& target);

/// Sends blocks over one connection. One thread.
class BlockSender {
 public:
  /// `stopping` ends waiting for a server that does not take requests; `describe` names a row.
  BlockSender(const HttpTarget& target, BadRows& bad_rows, const std::atomic<bool>& stopping,
              std::function<std::string(std::uint64_t)> describe);

  struct Outcome {
    std::uint64_t end_row = 0;   ///< the rows of the block before it are done
    std::uint64_t n_points = 0;  ///< acknowledged as durable
    /// Sent and not refused: where a connection breaks, nobody knows what the server did.
    std::uint64_t n_points_sent = 0;
    std::uint64_t n_bytes = 0;   ///< of bodies
    std::optional<Error> error;  ///< why the rest is not done; kCancelled: `stopping`
  };
  /// Points that the server refuses are found by halving and given to `bad_rows`.
  [[nodiscard]] Outcome send(const RowBlock& block);

 private:
  using Points = std::span<const RowPoint>;
  Result<> send_points(const RowBlock& block, Points points, Outcome& outcome);
  Result<> refused(const RowBlock& block, Points points, const Answer& answer, Outcome& outcome);
  void address(const RowBlock& block);
  /// Sends `body_` until the server answers something that is not "later".
  Result<Answer> ask();
  /// Waits before another attempt; fails with `why` when it has been too long.
  Result<> wait_to_retry(const Stopwatch& since, const std::string& why);

  const HttpTarget& target_;
  BadRows& bad_rows_;
  const std::atomic<bool>& stopping_;
  const std::function<std::string(std::uint64_t)> describe_;
  Connection connection_;
  std::string path_;  ///< of the block that is sent
  std::string_view content_type_;
  std::string body_;  ///< of the request that is asked
  double delay_s_ = 0;
};

}  // namespace quiver::app
