// Recall asked for by number: what was measured, and the effort that follows.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/model/vector.h"

namespace quiver::engine {

inline constexpr std::uint64_t kMinRecallQueries = 16;
inline constexpr std::uint64_t kMaxRecallQueries = 2000;
inline constexpr std::uint64_t kUsualRecallQueries = 400;
/// Recorded queries from which on they are measured with unasked. Fewer prove too little: 128 cost
/// .008 of the promise.
inline constexpr std::uint64_t kMinRecordedQueries = 128;
/// Share of the queries that need not reach `recall_each`.
inline constexpr double kLowShare = 0.05;

/// Parts per million.
using Ppm = std::uint32_t;
inline constexpr double kPpm = 1e6;

/// Where the queries of a measurement come from.
enum class RecallSource : std::uint8_t {
  kGiven,      ///< a client gave them
  kSynthetic,  ///< made of stored vectors
  kRecorded,   ///< asked by clients before, and kept
};
/// "given", "synthetic", "recorded".
[[nodiscard]] std::string_view to_string(RecallSource source);

/// Searches of one effort.
struct RecallPoint {
  std::uint64_t effort = 0;
  Ppm recall = 0;  ///< mean over the queries
  Ppm low = 0;     ///< all but kLowShare of further queries are expected to reach it
  bool operator==(const RecallPoint&) const = default;
};

/// Searches for `k` hits among a share of the points.
struct RecallCell {
  std::uint64_t k = 0;
  Ppm selectivity = 0;
  std::vector<RecallPoint> points;  ///< by effort; the last is the last that differs
  bool operator==(const RecallCell&) const = default;
};

/// Points with a vector of one field.
struct FieldPoints {
  std::uint64_t all = 0;
  std::uint64_t indexed = 0;  ///< in segments with an index, whose searches may miss hits
};

/// What was measured of one field.
struct RecallTable {
  std::string field;
  std::uint64_t n_queries = 0;
  RecallSource source = RecallSource::kGiven;
  std::uint64_t n_points = 0;        ///< points with the vector at that time
  std::uint64_t n_indexed = 0;       ///< those of them in segments with an index
  std::uint64_t measured_at_ms = 0;  ///< since 1970
  std::vector<RecallCell> cells;
  bool operator==(const RecallTable&) const = default;
};

/// What a request wants.
struct RecallTarget {
  std::optional<double> mean;  ///< of all queries like it, (0, 1]
  std::optional<double> each;  ///< all but kLowShare of them reach it, (0, 1]
  [[nodiscard]] bool is_none() const { return !mean && !each; }
  bool operator==(const RecallTarget&) const = default;
};

/// False if the number of points has more than doubled or halved since, or the indexed share of
/// them has grown by more than a quarter: the table then says nothing.
[[nodiscard]] bool is_current(const RecallTable& table, const FieldPoints& points);

struct RecallChoice {
  bool is_exact = true;  ///< no measured effort is known to be enough
  std::uint64_t effort = 0;
  double estimate = 1;  ///< mean recall that was measured with it, less if misses count for more
};

/// The least effort that keeps the promise for further queries, by conformal risk control
/// (Angelopoulos et al., ICLR 2024): of n measured queries with mean loss R the next one's expected
/// loss is at most (n R + 1) / (n + 1). If the indexed share of the points has grown, R has grown
/// with it. `table`: nullptr: nothing was measured. `selectivity`: share of the points with the
/// vector that may be hits. `points`: of the whole collection.
[[nodiscard]] RecallChoice choose_effort(const RecallTable* table, const RecallTarget& target,
                                         std::uint64_t k, double selectivity,
                                         const FieldPoints& points);

/// How a query with a target was answered; filled in while it runs, by any number of threads.
class RecallReport {
 public:
  struct Facts {
    RecallTarget target;
    std::uint64_t effort = 0;     ///< the greatest of all searches; 0: all were exact
    double estimate = 1;          ///< the least
    bool is_exact = false;        ///< some search was exact since nothing else is known to do
    std::uint64_t n_queries = 0;  ///< of the measurement; 0: there is none
    RecallSource source = RecallSource::kGiven;
    std::uint64_t measured_at_ms = 0;
  };
  void add(const RecallTarget& target, const RecallTable* table, const RecallChoice& choice);
  /// Adds what another report has received.
  void add(const Facts& facts);
  /// nullopt: no search looked at a target, as when points are only scored anew.
  [[nodiscard]] std::optional<Facts> facts() const;

 private:
  mutable std::mutex mutex_;
  std::optional<Facts> facts_;
};

/// Asks for a measurement.
struct RecallRequest {
  std::string using_field;
  std::vector<QueryVector> queries;  ///< empty: they are recorded or made
  /// nullopt: given queries, else kMinRecordedQueries or more recorded ones, else made ones.
  std::optional<RecallSource> source = std::nullopt;
  std::uint64_t sample = kUsualRecallQueries;  ///< how many are made
};

/// What a collection knows of a field's searches by recall since its last measurement.
struct RecallStatus {
  std::string field;
  double observed = 0;          ///< mean recall of the watched searches
  std::uint64_t n_watched = 0;  ///< searches that were done exactly, too
  std::uint64_t n_alarms = 0;   ///< since the collection was opened
  double effort_factor = 1;     ///< of the table's efforts; more than 1 after an alarm
  std::uint64_t n_recorded = 0;
  enum class Next : std::uint8_t {
    kNone,     ///< no measurement is due
    kWaiting,  ///< for more recorded queries, or for the end of the rest
    kRunning,
    kNever,  ///< the server does not measure by itself, or this node does not lead
  };
  Next next = Next::kNone;
  std::string why;  ///< the next measurement is due, or is not
  /// Seconds of rest that are left before it, 0 or more.
  double in_s = 0;
};
/// "none", "waiting", "running", "never".
[[nodiscard]] std::string_view to_string(RecallStatus::Next next);

}  // namespace quiver::engine
