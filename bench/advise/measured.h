// Measures ways over some of the rows.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/io/file.h"
#include "base/params.h"
#include "base/result.h"
#include "base/threads/executor.h"
#include "bench/advise/choice.h"
#include "bench/advise/data.h"
#include "bench/advise/ways.h"
#include "bench/ann/measure.h"
#include "bench/ann/search.h"
#include "bench/ann/truth.h"

namespace quiver::bench::advise {

/// One effort of a way.
struct MeasuredEffort {
  KeyValues params;
  double recall = 0;     ///< against the best rows by the vectors as given
  double recall_p5 = 0;  ///< 5th percentile over queries
  double qps = 0;        ///< one thread, one query a call
  double p95_us = 0;     ///< 95th percentile of the time of a search, microseconds
};

struct MeasuredWay {
  Way way;
  std::uint64_t n_rows = 0;  ///< rows that were searched
  double row_bytes = 0;      ///< of a vector, in the files that are searched
  double index_bytes = 0;    ///< of a vector
  double disk_bytes = 0;     ///< estimate for a vector in a collection, without payload
  double build_s = 0;
  double seconds = 0;          ///< time that the measurement took
  bool below_minimum = false;  ///< a server would not index so few bytes, unless asked to
  std::vector<MeasuredEffort> efforts;

  [[nodiscard]] double bytes() const { return row_bytes + index_bytes; }
};

/// All efforts of `ways`. `Point::way` is the position in `ways`.
[[nodiscard]] std::vector<Point> points_of(std::span<const MeasuredWay> ways);

/// Builds and searches. Keeps the rows of the row type that was measured last.
class Bench {
 public:
  /// Finds the ground truth: exact search over `rows` of `data` as f32. Borrows all but `rows`.
  [[nodiscard]] static Result<Bench> prepare(const Data& data, std::vector<std::uint32_t> rows,
                                             std::size_t n_queries, std::size_t k,
                                             Executor& executor, Directory& directory);

  /// kInvalidArgument if the row type cannot hold a row or a query.
  [[nodiscard]] Result<MeasuredWay> measure(const Way& way, Efforts efforts, std::uint64_t seed);

  [[nodiscard]] std::size_t n_rows() const { return rows_.size(); }
  [[nodiscard]] std::size_t n_queries() const { return queries_.n_rows(); }

 private:
  /// The rows and queries as one row type holds them.
  struct Stored {
    index::FieldColumn column;
    QuerySet queries;
    QuerySet few_queries;  ///< for ways that take long
  };

  Bench(const Data& data, std::vector<std::uint32_t> rows, std::size_t n_queries, std::size_t k,
        Executor& executor, Directory& directory)
      : data_(&data),
        rows_(std::move(rows)),
        queries_(take_evenly(data.queries, n_queries)),
        k_(k),
        executor_(&executor),
        directory_(&directory) {}

  Result<Stored> store(DType dtype) const;
  Result<> store_as(DType dtype);
  Result<MeasuredEffort> search(const index::Searcher& searcher, const index::AnyParams& params);
  Result<Measurement> time_searches(const index::Searcher& searcher, const index::AnyParams& params,
                                    double expected_us);
  RecallSummary recall_of_hits(std::vector<std::vector<index::Hit>> hits) const;

  const Data* data_;
  std::vector<std::uint32_t> rows_;
  dataset::Vectors queries_;
  std::size_t k_;
  Executor* executor_;
  Directory* directory_;
  std::optional<Stored> original_;  ///< f32
  std::optional<Stored> stored_;
  Truth truth_;
};

}  // namespace quiver::bench::advise
