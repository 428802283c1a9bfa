// Whether what a field is asked has moved away from what its index was fitted to.
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

/// Remembered queries that an index is measured with; with fewer, nothing is known.
inline constexpr std::size_t kDriftQueries = 64;

/// The number of queries seen from which indexes are to be measured again: when half of those
/// remembered are others. Measuring takes as long as some five hundred searches.
[[nodiscard]] constexpr std::uint64_t next_drift_check(std::uint64_t n_seen) {
  return n_seen + std::max<std::uint64_t>(kDriftQueries, n_seen);
}

/// How well the index of a field of a sealed segment finds what is asked.
struct MeasuredFit {
  std::uint64_t segment = 0;
  std::size_t field = 0;
  std::shared_ptr<const index::Searcher> searcher;
  /// Of the ten best that searches with four times the usual effort find, the share that usual
  /// ones do; the mean over `kDriftQueries`.
  double recall = 0;
};

/// Nothing if the field has no index there, or `sample`, its remembered queries, is too small.
/// Polls `cancel`.
[[nodiscard]] Result<std::optional<MeasuredFit>> measure_fit(const Segment& segment,
                                                             std::size_t field,
                                                             const index::QuerySample& sample,
                                                             const Cancel& cancel);

/// What was measured of a segment's indexes, and which of them are to be built anew: those that
/// find too little, but not again and again where a new one finds no more.
class FieldFits {
 public:
  /// True if the index is to be built anew from here on.
  bool note_measured(std::size_t field, double recall);
  void note_rebuilt(std::size_t field);
  /// A field whose index is to be built anew, if any.
  [[nodiscard]] std::optional<std::size_t> next_drifted() const;

 private:
  struct Fit {
    bool has_drifted = false;
    bool is_rebuilt = false;
    std::optional<double> recall;  ///< of the index as it is, the best that was measured
  };
  std::map<std::size_t, Fit> fields_;
};

}  // namespace quiver::engine
