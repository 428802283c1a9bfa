// The report of a run: a table for people, JSON lines for programs.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/params.h"
#include "base/schema.h"
#include "bench/ann/ann.h"
#include "bench/ann/built_index.h"
#include "bench/ann/measure.h"
#include "bench/ann/recall.h"
#include "bench/ann/truth.h"
#include "bench/common/machine.h"
#include "service/json/writer.h"

namespace quiver::bench {

/// Facts that all points of a run share.
struct RunFacts {
  std::string data;
  std::string commit;  ///< commit of this binary; empty if unknown
  std::string index;
  FieldSchema schema;
  KeyValues build_params;
  std::uint64_t n_rows = 0;
  std::uint64_t n_queries = 0;
  std::uint64_t first_query = 0;
  std::uint64_t exact_bytes = 0;
  std::string filter;      ///< as the flag says; empty: none
  double selectivity = 1;  ///< share of rows that filters allow, on average
  std::size_t k = 10;
  MeasureOptions method;
  BuiltIndex::Cost cost;
  double truth_seconds = 0;
  bool truth_cached = false;
  bool truth_given = false;
};

/// One measured point, without its raw latencies.
struct MeasuredPoint {
  KeyValues params;
  RecallSummary recall;
  std::size_t n_better_than_truth = 0;
  std::vector<double> qps;  ///< queries per second, by repeat
  double p50_us = 0, p95_us = 0, p99_us = 0, p999_us = 0;
  double cpu_us = 0;
  double cpu_share = 0;
  index::WorkCounters work;  ///< work of one pass over all queries
  Calibration before, after;
  std::int64_t unix_seconds = 0;  ///< time of the measurement
  bool disturbed = false;
};

[[nodiscard]] MeasuredPoint make_point(KeyValues params, const Measurement& measurement,
                                       const RecallSummary& recall);
/// Marks points with a calibration more than 3 % off the run's median, or with a `cpu_share` below
/// 0.97: other processes took the core.
void mark_disturbed(std::span<MeasuredPoint> points);

/// The lines before the table: data, index, machine, method.
[[nodiscard]] std::string head(const RunFacts& facts, const Calibration& machine);
/// The table of points.
[[nodiscard]] std::string to_table(const RunFacts& facts, std::span<const MeasuredPoint> points);
/// A table of the fastest point that reaches each recall target; "" for no targets.
[[nodiscard]] std::string targets_table(std::span<const MeasuredPoint> points,
                                        std::span<const double> targets);
/// Warnings about the points; "" if there are none.
[[nodiscard]] std::string notes(std::span<const MeasuredPoint> points);
/// Member `name` of the open object: the parameters as an object.
void write_params(service::json::Writer& json, std::string_view name, const KeyValues& params);
/// One JSON line, without the line feed.
[[nodiscard]] std::string to_json(const RunFacts& facts, const MeasuredPoint& point);

}  // namespace quiver::bench
