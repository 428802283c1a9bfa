// The requests of an import to a running server.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "app/import/plan/rows.h"
#include "app/import/reading/bad_rows.h"
#include "base/clock.h"
#include "base/result.h"
#include "base/schema.h"
#include "service/client/server_connection.h"

namespace quiver::app {

struct HttpTarget {
  client::Endpoint endpoint;
  std::string api_key;
  std::string collection;
  std::uint32_t retry_s = 60;  ///< seconds of retries while the server is unavailable
};

/// Fetches the fields of the collection; nullopt if it does not exist.
[[nodiscard]] Result<std::optional<std::vector<FieldSchema>>> fetch_fields(
    const HttpTarget& target);
/// Creates the collection and its payload indexes; `indexes` holds one body per index. False if the
/// collection is being created already, by a client that was killed: waits until it is there.
[[nodiscard]] Result<bool> create_collection(const HttpTarget& target, const std::string& body,
                                             const std::vector<std::string>& indexes);

/// Counts the points after all acknowledged writes have become visible.
[[nodiscard]] Result<std::uint64_t> count_points(const HttpTarget& target);

/// Sends blocks over one connection. Use from one thread.
class BlockSender {
 public:
  /// `stopping` ends the wait for an unavailable server; `describe` names a row in messages.
  BlockSender(const HttpTarget& target, BadRows& bad_rows, const std::atomic<bool>& stopping,
              std::function<std::string(std::uint64_t)> describe);

  struct Outcome {
    std::uint64_t end_row = 0;   ///< end of the rows that are done
    std::uint64_t n_points = 0;  ///< acknowledged as durable
    /// Points sent and not refused. If the connection broke, they may or may not be written.
    std::uint64_t n_points_sent = 0;
    std::uint64_t n_bytes = 0;   ///< bytes of the acknowledged bodies
    std::optional<Error> error;  ///< why the rest is not done; kCancelled after `stopping`
  };
  /// Sends the points. If the server refuses them, sends halves until the bad points are found, and
  /// adds those to `bad_rows`.
  [[nodiscard]] Outcome send(const RowBlock& block);

 private:
  using Points = std::span<const RowPoint>;
  Result<> send_points(const RowBlock& block, Points points, Outcome& outcome);
  Result<> refused(const RowBlock& block, Points points, const client::HttpResponse& answer,
                   Outcome& outcome);
  void address(const RowBlock& block);
  /// Sends `body_`, and retries while the server is overloaded or away.
  Result<client::HttpResponse> ask();
  /// Waits before the next attempt; fails with `why` after `retry_s` seconds.
  Result<> wait_to_retry(const Stopwatch& since, const std::string& why);

  const HttpTarget& target_;
  BadRows& bad_rows_;
  const std::atomic<bool>& stopping_;
  const std::function<std::string(std::uint64_t)> describe_;
  client::ServerConnection connection_;
  std::string path_;  ///< request path of the current block
  std::string_view content_type_;
  std::string body_;  ///< body of the current request
  double delay_s_ = 0;
};

}  // namespace quiver::app
