// What a run found: a table for people, JSON lines for programs.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "app/ann/ann.h"
#include "app/ann/built_index.h"
#include "app/ann/machine.h"
#include "app/ann/measure.h"
#include "app/ann/recall.h"
#include "app/ann/truth.h"
#include "base/params.h"
#include "base/schema.h"

namespace quiver::app {

/// What all points of a run share.
struct RunFacts {
  std::string data;
  std::string index;
  FieldSchema schema;
  KeyValues build_params;
  std::uint64_t n_rows = 0;
  std::uint64_t n_queries = 0;
  std::uint64_t first_query = 0;
  std::uint64_t exact_bytes = 0;
  std::size_t k = 10;
  Method method;
  BuiltIndex::Cost cost;
  double truth_seconds = 0;
  bool truth_cached = false;
  bool truth_given = false;
};

/// One point, without its raw latencies.
struct Point {
  KeyValues params;
  RecallSummary recall;
  std::size_t n_better_than_truth = 0;
  std::vector<double> qps;  ///< of each repeat
  double p50_us = 0, p95_us = 0, p99_us = 0, p999_us = 0;
  double cpu_us = 0;
  double cpu_share = 0;
  index::WorkCounters work;  ///< of all queries once
  Calibration before, after;
  std::int64_t unix_seconds = 0;  ///< when it was measured
  bool disturbed = false;
};

[[nodiscard]] Point make_point(KeyValues params, const Measurement& measurement,
                               const RecallSummary& recall);
/// Marks the points whose calibrations are off the run's, or whose threads were kept from their
/// cores for more than 3 % of the time.
void mark_disturbed(std::span<Point> points);

/// What precedes the table: data, index, machine, method.
[[nodiscard]] std::string head(const RunFacts& facts, const Calibration& machine);
/// The points, aligned, and what the marks mean.
[[nodiscard]] std::string to_table(const RunFacts& facts, std::span<const Point> points);
/// For each target the fastest point that reaches it; "" for no targets.
[[nodiscard]] std::string targets_table(std::span<const Point> points,
                                        std::span<const double> targets);
/// What a reader must know about the points; "" if there is nothing to say.
[[nodiscard]] std::string notes(std::span<const Point> points);
/// One line, without its end.
[[nodiscard]] std::string to_json(const RunFacts& facts, const Point& point);

}  // namespace quiver::app
