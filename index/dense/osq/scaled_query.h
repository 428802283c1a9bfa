// A query in the space of the scaled rows, and its costs there.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "index/dense/osq/files.h"
#include "index/prepared_query.h"

namespace quiver::index::dense::osq {

/// The cost of a row is its squared distance, or its negated product with the query, both scaled.
class ScaledQuery {
 public:
  ScaledQuery(const PreparedQuery& query, const OsqFacts& facts);

  [[nodiscard]] Similarity similarity() const { return similarity_; }
  [[nodiscard]] std::span<const float> vector() const { return vector_; }
  /// Distance from the partition's mean. Under Dot, the query has the length of the longest row,
  /// and rows have one more coordinate that makes them equally long: nearer rows then have larger
  /// products.
  [[nodiscard]] double distance(const Partition& partition) const;
  /// True if vectors are so huge or tiny that scores overflow or vanish: codes then say nothing.
  [[nodiscard]] bool is_extreme() const { return is_extreme_; }
  /// False if the query is so far away that rounding decides the scores.
  [[nodiscard]] bool has_costs() const { return cost_of_score_ != 0; }
  /// Largest error of a cost by rounding.
  [[nodiscard]] float rounding() const { return static_cast<float>(rounding_); }
  /// Rows whose cost is surely above this have a score below `score`; infinity if scores say
  /// nothing about costs.
  [[nodiscard]] float cost_limit(float score) const;

 private:
  Similarity similarity_;
  std::vector<float> vector_;
  double cost_of_score_ = 0;  ///< cost = -score * cost_of_score_; 0: unknown
  bool is_extreme_ = false;
  double rounding_ = 0;  ///< largest error of a cost
};

/// The query in the coordinates of one partition.
struct PartitionQuery {
  /// As `encoders::osq::BoundTables` takes them.
  std::vector<float> coordinates;
  std::vector<float> centred;  ///< minus the mean
  /// Parts of the bounds that all rows share: what the directions leave out and, under Dot, the
  /// product with the mean.
  float lower = 0;
  float upper = 0;

  void set(const ScaledQuery& query, const Partition& partition);
};

}  // namespace quiver::index::dense::osq
