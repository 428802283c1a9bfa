// Checks of a request against the strict mode of its collection. One function for each shape of
// request; each returns kFailedPrecondition with what is wrong and what would help.
//
// Callers pass a configuration that has a strict mode.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "engine/model/aggregates.h"
#include "engine/model/config.h"
#include "engine/model/operation.h"
#include "engine/model/query.h"
#include "payload/filter.h"
#include "service/api/strict/unindexed.h"

namespace quiver::service::api::strict {

using engine::CollectionConfig;
using Limit = engine::StrictMode::Limit;

/// `value` is at most `limit`. `name`: of the parameter, for the message.
[[nodiscard]] Result<> check_limit(Limit limit, std::uint64_t value, std::string_view name);
/// The limit of a request that asks for `limit` hits for each of `n` things, such as groups.
[[nodiscard]] Result<> check_query_limit(const CollectionConfig& config, std::uint64_t limit,
                                         std::uint64_t n = 1);

/// The filter of a read. It may be missing.
[[nodiscard]] Result<> check_read_filter(const CollectionConfig& config,
                                         const std::optional<payload::Filter>& filter);
/// The filter that selects points of a change; nullptr: none.
[[nodiscard]] Result<> check_update_filter(const CollectionConfig& config,
                                           const payload::Filter* filter);

/// A key whose values a query reads besides filters, such as a variable of a formula. `help`: what
/// to do without an index.
[[nodiscard]] Result<> check_key(const CollectionConfig& config, std::string_view key,
                                 const std::vector<Need>& needs, std::string_view help);
/// A key by which hits are grouped.
[[nodiscard]] Result<> check_group_key(const CollectionConfig& config, std::string_view key);
/// The limit of an aggregation, and the key whose values it reads.
[[nodiscard]] Result<> check_aggregation(const CollectionConfig& config,
                                         const engine::Aggregation& aggregation);

[[nodiscard]] Result<> check_search_params(const CollectionConfig& config,
                                           const engine::SearchParams& params);
/// A query with its prefetches.
[[nodiscard]] Result<> check_query(const CollectionConfig& config, const engine::Query& query);
/// The number of searches of a batch.
[[nodiscard]] Result<> check_batch(const CollectionConfig& config, std::size_t n_searches);

/// What can be said of an operation alone: its filter, its number of points, sizes of vectors.
[[nodiscard]] Result<> check_operation(const CollectionConfig& config,
                                       const engine::Operation& operation);
/// True if the operation stores new data, so that limits on the size of a collection hold for it.
[[nodiscard]] bool stores_data(const engine::Operation& operation);
/// True if the operation stores new vectors.
[[nodiscard]] bool stores_vectors(const engine::Operation& operation);

/// Size of a collection. Only the sizes that have a limit are needed.
struct CollectionSize {
  std::uint64_t n_points = 0;
  std::uint64_t n_vector_bytes = 0;   ///< of points that are not deleted
  std::uint64_t n_payload_bytes = 0;  ///< with those of deleted points that still take room
};
[[nodiscard]] Result<> check_payload_size(const engine::StrictMode& limits,
                                          const CollectionSize& size);
/// All limits on the size of a collection.
[[nodiscard]] Result<> check_size(const engine::StrictMode& limits, const CollectionSize& size);

/// Another payload index, on `key`. A replaced one is not counted.
[[nodiscard]] Result<> check_new_index(const CollectionConfig& config, std::string_view key);

/// `used_percent`: of the machine's memory, by this process.
[[nodiscard]] Result<> check_memory(const engine::StrictMode& limits, std::uint64_t used_percent);

}  // namespace quiver::service::api::strict
