// What engine tests share: a collection with a field of every sort, and random points for it.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "engine/model/row.h"
#include "engine/segment/mutable_segment.h"
#include "engine/segment/segment.h"

namespace quiver::engine::testing {

using Random = std::mt19937_64;

inline std::vector<FieldSchema> mixed_fields() {
  return {
      {"", FieldKind::kDense, 5, DType::kF32, Metric::kCosine, SparseModifier::kNone},
      {"half", FieldKind::kDense, 3, DType::kF16, Metric::kDot, SparseModifier::kNone},
      {"bytes", FieldKind::kDense, 4, DType::kU8, Metric::kEuclid, SparseModifier::kNone},
      {"words", FieldKind::kSparse, 0, DType::kF32, Metric::kDot, SparseModifier::kNone},
      {"tokens", FieldKind::kMulti, 2, DType::kF32, Metric::kDot, SparseModifier::kNone},
  };
}

inline float random_float(DType dtype, Random& random) {
  if (dtype == DType::kU8) return static_cast<float>(random() % 256);
  return std::normal_distribution<float>()(random);
}

inline std::vector<float> random_floats(std::size_t n, DType dtype, Random& random) {
  std::vector<float> values(n);
  for (float& value : values) value = random_float(dtype, random);
  return values;
}

inline VectorValue random_value(const FieldSchema& field, Random& random) {
  if (field.kind == FieldKind::kDense) return random_floats(field.dim, field.dtype, random);
  if (field.kind == FieldKind::kMulti) {
    const auto n = static_cast<std::uint32_t>(1 + random() % 4);
    return MultiVector{n, field.dim, random_floats(n * field.dim, field.dtype, random)};
  }
  std::set<std::uint32_t> indices;
  for (std::uint64_t i = random() % 6; i > 0; --i) {
    indices.insert(static_cast<std::uint32_t>(random() % 30));
  }
  SparseVector vector{{indices.begin(), indices.end()}, {}};
  vector.values = random_floats(indices.size(), DType::kF32, random);
  return vector;
}

/// Numbers and UUIDs among `n` different ids.
inline PointId random_id(std::uint64_t n, Random& random) {
  const std::uint64_t i = random() % n;
  return i % 4 == 3 ? PointId::uuid(i * 0x9e3779b97f4a7c15ULL, i) : PointId::number(i);
}

inline Row random_row(const PointId& id, std::uint64_t seq, const std::vector<FieldSchema>& fields,
                      Random& random) {
  Row row{id, Seq{seq}, "{}", {}};
  if (random() % 4 != 0) {
    row.payload = R"({"n":)" + std::to_string(random() % 10) + R"(,"s":"word)" +
                  std::to_string(random() % 5) + R"("})";
  }
  for (const auto& field : fields) {
    row.vectors.push_back(
        random() % 4 == 0 ? StoredVector{} : to_stored(field, random_value(field, random)).value());
  }
  return row;
}

/// Distinct ids, in random order.
inline std::vector<Row> random_rows(std::size_t n, const std::vector<FieldSchema>& fields,
                                    Random& random) {
  std::set<PointId> ids;
  while (ids.size() < n) ids.insert(random_id(n * 10, random));
  std::vector<PointId> order(ids.begin(), ids.end());
  std::shuffle(order.begin(), order.end(), random);
  std::vector<Row> rows;
  for (const auto& id : order) rows.push_back(random_row(id, rows.size() + 1, fields, random));
  return rows;
}

inline Segment segment_of(const std::vector<Row>& rows, const std::vector<FieldSchema>& fields,
                          std::uint64_t id = 1) {
  MutableSegment segment(id, fields, {});
  for (const Row& row : rows) segment.append(row);
  return {segment.snapshot(), nullptr, 0};
}

inline Segment with_deleted(Segment segment, const std::vector<std::uint32_t>& rows) {
  auto deleted = std::make_shared<Bitset>(segment.n_rows());
  for (const std::uint32_t row : rows) deleted->set(row);
  segment.n_deleted = static_cast<std::uint32_t>(deleted->count());
  segment.deleted = std::move(deleted);
  return segment;
}

}  // namespace quiver::engine::testing
