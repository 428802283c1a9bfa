// The rows that a join compares, by position: ascending ids.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "engine/query/stages/environment.h"
#include "engine/segment/segment_filter.h"
#include "index/prepared_query.h"
#include "payload/filter.h"

namespace quiver::engine {

/// Immutable once gathered; any thread. Borrows the environment's snapshot and configuration.
/// Memory: 40 bytes a point.
class JoinRows {
 public:
  /// The points that match `filter` and have a vector in the field, an id once for each shard key
  /// that has it. kInvalidArgument for an unknown field; kUnimplemented for sparse fields with IDF.
  [[nodiscard]] static Result<JoinRows> gather(const SearchEnvironment& environment,
                                               const std::string& using_field,
                                               const std::optional<payload::Filter>& filter);
  /// The last of these errors.
  [[nodiscard]] static Result<> check(const FieldSchema& schema);

  [[nodiscard]] std::size_t size() const { return ids_.size(); }
  [[nodiscard]] std::span<const PointId> ids() const { return ids_; }
  [[nodiscard]] std::size_t field() const { return field_; }
  [[nodiscard]] const FieldSchema& schema() const { return *schema_; }
  /// The segments that hold rows of the join.
  struct Part {
    const Segment* segment = nullptr;
    SegmentFilter rows;
    std::vector<std::uint32_t> positions;  ///< `[n_rows]`; undefined for rows that take no part
  };
  [[nodiscard]] std::span<const Part> parts() const { return parts_; }
  struct Place {
    std::uint32_t part = 0;
    std::uint32_t row = 0;  ///< in the part's segment
  };
  [[nodiscard]] Place place(std::uint32_t position) const { return places_[position]; }
  /// All positions, rows with similar vectors near one another where the index knows them.
  [[nodiscard]] std::vector<std::uint32_t> similar_first() const;
  /// The vector of a row as a query.
  [[nodiscard]] Result<index::PreparedQuery> query(std::uint32_t position) const;

 private:
  std::size_t field_ = 0;
  const FieldSchema* schema_ = nullptr;
  std::vector<Part> parts_;
  std::vector<PointId> ids_;
  std::vector<Place> places_;
};

}  // namespace quiver::engine
