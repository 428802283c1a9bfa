// Query drift: measures whether the queries of a field have moved away from those its index was
// fitted to.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>

#include "base/result.h"
#include "base/threads/cancel.h"
#include "engine/segment/segment.h"
#include "index/index.h"

namespace quiver::engine {

/// Recorded queries that measure an index; with fewer there is no measurement.
inline constexpr std::size_t kDriftQueries = 64;

/// Number of queries seen at the next measurement: when half of the recorded ones are new. A
/// measurement takes as long as about 500 searches.
[[nodiscard]] constexpr std::uint64_t next_drift_check(std::uint64_t n_seen) {
  return n_seen + std::max<std::uint64_t>(kDriftQueries, n_seen);
}

/// Measured recall of the index of one field of a sealed segment.
struct MeasuredFit {
  std::uint64_t segment = 0;
  std::size_t field = 0;
  std::shared_ptr<const index::Searcher> searcher;
  /// Share of the ten best hits of searches with `effort` 512 that default searches find; the mean
  /// over `kDriftQueries`.
  double recall = 0;
};

/// nullopt if the field has no index in the segment, or `sample` has fewer than kDriftQueries
/// queries. Polls `cancel`.
[[nodiscard]] Result<std::optional<MeasuredFit>> measure_fit(const Segment& segment,
                                                             std::size_t field,
                                                             const index::QuerySample& sample,
                                                             const Cancel& cancel);

/// Measured recall of a segment's indexes, and which indexes must be rebuilt. Those with too little
/// recall must, except if a rebuild has already brought no more.
class FieldFits {
 public:
  /// True if this measurement marks the index for a rebuild.
  bool note_measured(std::size_t field, double recall);
  void note_rebuilt(std::size_t field);
  /// A field whose index must be rebuilt, if any.
  [[nodiscard]] std::optional<std::size_t> next_drifted() const;

 private:
  struct Fit {
    bool has_drifted = false;
    bool is_rebuilt = false;
    std::optional<double> recall;  ///< best measurement of the present index
  };
  std::map<std::size_t, Fit> fields_;
};

}  // namespace quiver::engine
