// Requests and queries drawn from a seed, without any state: the same seed gives the same requests
// in another process.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "engine/model/config.h"
#include "engine/model/operation.h"
#include "engine/model/query.h"

namespace quiver::model {

using Random = std::mt19937_64;
using Request = std::vector<engine::Operation>;

/// A field of every kind, few points, and sizes so small that segments are sealed, merged and
/// cleaned all the time.
[[nodiscard]] engine::CollectionConfig random_config(Random& random);

/// Indexes of some fields; the other fields have the default indexes.
[[nodiscard]] engine::VectorIndexConfigs random_vector_indexes(
    const engine::CollectionConfig& config, Random& random);
[[nodiscard]] PointId random_id(Random& random);
[[nodiscard]] engine::VectorValue random_vector(const FieldSchema& field, Random& random);
[[nodiscard]] payload::Filter random_filter(Random& random, int depth = 2);
/// One to three operations, valid as far as can be told without the state.
[[nodiscard]] Request random_request(const engine::CollectionConfig& config, Random& random);
/// `n` valid points, some of them with equal ids.
[[nodiscard]] std::vector<engine::PointInput> random_points(const engine::CollectionConfig& config,
                                                            std::uint64_t n, Random& random);
/// A request with one upsert that must be refused.
[[nodiscard]] Request invalid_request(const engine::CollectionConfig& config, Random& random);
/// Nearest neighbours of a vector or of a point, with or without a filter.
[[nodiscard]] engine::Query random_query(const engine::CollectionConfig& config, Random& random);
/// For words under `t` or `w` or both, with or without rules and words that resemble them.
[[nodiscard]] engine::Query random_text_query(Random& random);
/// A field to be added, with one of two names.
[[nodiscard]] FieldSchema random_field(Random& random);
/// One of a few indexes that fit the payloads.
[[nodiscard]] payload::FieldIndex random_index(Random& random);

}  // namespace quiver::model
