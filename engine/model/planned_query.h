// A query that is ready to run, and what it will cost.
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "base/threads/cancel.h"
#include "engine/model/query.h"

namespace quiver::engine {

/// An estimate: nothing has been read yet.
struct QueryCost {
  /// A query that reads no more is answered on the thread that received it: a hop to another thread
  /// costs about as much as reading this.
  static constexpr std::uint64_t kMaxSmallBytes = 256 * 1024;
  /// A query that reads more is searched by several threads: waking one costs about as much as
  /// reading this.
  static constexpr std::uint64_t kMaxSerialBytes = 4 * 1024 * 1024;

  /// A pass on the CPU answers so many queries together: those of a tile of the exact scan. A
  /// longer pass would only make the first query wait for the last.
  static constexpr std::size_t kMostOnCpu = 8;
  /// A job of a device takes so many at nearly the price of one (`gpu::kMaxQueries`).
  static constexpr std::size_t kMostOnDevice = 256;

  /// Vectors, codes and, under a filter, payloads. Texts to be highlighted count several times.
  std::uint64_t read_bytes = 0;
  /// True if the query reads mainly dense vectors without an index, or what is on a device: one
  /// pass over them can answer other queries that `are_searched_alike`, too.
  bool can_share_pass = false;
  std::size_t most_together = kMostOnCpu;  ///< queries of a pass that is shared

  [[nodiscard]] bool is_small() const { return read_bytes <= kMaxSmallBytes; }
  [[nodiscard]] bool is_parallel() const { return read_bytes > kMaxSerialBytes; }
  [[nodiscard]] bool is_for_device() const { return most_together > kMostOnCpu; }
};

/// A query and the snapshot that answers it. Immutable; any number of threads. Keeps the snapshot's
/// segments alive, and so their memory, while it lives.
class PlannedQuery {
 public:
  PlannedQuery() = default;
  virtual ~PlannedQuery() = default;
  PlannedQuery(const PlannedQuery&) = delete;
  PlannedQuery& operator=(const PlannedQuery&) = delete;

  [[nodiscard]] virtual const Query& query() const = 0;
  [[nodiscard]] virtual const QueryCost& cost() const = 0;
  /// Runs on the calling thread, large queries helped by the compute executor.
  [[nodiscard]] virtual Result<std::vector<Record>> run(const Cancel& cancel) const = 0;
};

}  // namespace quiver::engine
