// Counts, statistics and histograms of payload values: plain structs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "engine/model/facets.h"
#include "engine/model/shard_key.h"
#include "payload/aggregate/buckets.h"
#include "payload/aggregate/stats.h"
#include "payload/filter.h"

namespace quiver::engine {

/// Matching points.
struct CountAggregation {};
/// The most frequent strings, integers and bools under `key`.
struct TermsAggregation {
  std::string key;
  std::uint64_t limit = 10;
};
/// The number of different ones.
struct CardinalityAggregation {
  std::string key;
};
/// Extremes, sum and mean of the numbers under `key`.
struct StatsAggregation {
  std::string key;
};
/// Points by intervals of numbers, or of moments.
struct HistogramAggregation {
  std::string key;
  payload::Buckets buckets;
};
using Aggregation = std::variant<CountAggregation, TermsAggregation, CardinalityAggregation,
                                 StatsAggregation, HistogramAggregation>;

struct AggregateRequest {
  std::vector<std::pair<std::string, Aggregation>> aggregations;  ///< by name
  std::optional<payload::Filter> filter;
  ShardSelector shards = {};
};

struct CountAggregate {
  std::uint64_t count = 0;
};
struct TermsAggregate {
  std::vector<FacetHit> hits;  ///< by count, descending, then by value
  std::uint64_t n_distinct = 0;
  std::uint64_t n_missing = 0;  ///< points without a term
};
struct CardinalityAggregate {
  std::uint64_t n_distinct = 0;
};
struct NumberHistogram {
  std::vector<std::pair<double, std::uint64_t>> buckets;  ///< lower bound, points; ascending
  std::uint64_t n_missing = 0;                            ///< points without a number
};
struct CalendarHistogram {
  std::vector<std::pair<std::int64_t, std::uint64_t>> buckets;  ///< begin in microseconds, points
  std::uint64_t n_missing = 0;                                  ///< points without a moment
};
using Aggregate = std::variant<CountAggregate, TermsAggregate, CardinalityAggregate,
                               payload::NumberStats, NumberHistogram, CalendarHistogram>;

}  // namespace quiver::engine
