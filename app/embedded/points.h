// Arrays of a caller as points and query vectors of the engine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "app/embedded/quiver.h"
#include "base/ids.h"
#include "base/result.h"
#include "engine/model/bulk.h"
#include "engine/model/operation.h"
#include "engine/model/vector.h"

namespace quiver::embedded {

/// Points in the form that both ways to store them take. `chunk` borrows from the other members and
/// from the caller's arrays, so it is neither copied nor moved.
struct Points {
  Points() = default;
  Points(const Points&) = delete;
  Points& operator=(const Points&) = delete;

  std::vector<PointId> ids;
  std::vector<std::string> payloads;  ///< canonical JSON, `[n]` or empty
  std::vector<std::string_view> payload_views;
  engine::BulkChunk chunk;
};

/// kInvalidArgument for offsets that do not ascend, an unknown kind, a missing array or a payload
/// that is no JSON object.
[[nodiscard]] Result<> check_vectors(const quiver_vectors& vectors, std::uint64_t n);
[[nodiscard]] Result<> read_points(const quiver_points& points, Points& out);
/// The same points, with copies of their vectors.
[[nodiscard]] engine::Upsert upsert_of(const quiver_points& points, Points& read);
/// Vector `row` of `vectors`, which `check_vectors` passed.
[[nodiscard]] engine::VectorValue vector_at(const quiver_vectors& vectors, std::size_t row);

}  // namespace quiver::embedded
