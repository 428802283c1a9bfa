// Messages as requests of the engine. Errors are those of the JSON decoders: 400 for a malformed
// part, 422 for a value out of its range.
#pragma once

#include <google/protobuf/repeated_field.h>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/model/operation.h"
#include "engine/model/query.h"
#include "proto/changes.pb.h"
#include "proto/queries.pb.h"
#include "proto/searches.pb.h"
#include "service/json/error.h"

namespace quiver::service::rpc {

using PointIds = google::protobuf::RepeatedPtrField<qdrant::PointId>;
using Strings = google::protobuf::RepeatedPtrField<std::string>;

// Parts.
[[nodiscard]] Decoded<PointId> decode_id(const qdrant::PointId& id, const Path& path);
[[nodiscard]] Decoded<std::vector<PointId>> decode_ids(const PointIds& ids, const Path& path);
[[nodiscard]] Decoded<payload::Filter> decode_filter(const qdrant::Filter& filter,
                                                     const Path& path);
[[nodiscard]] Decoded<payload::Condition> decode_one_condition(const qdrant::Condition& condition,
                                                               const Path& path);
[[nodiscard]] Decoded<engine::Formula> decode_formula(const qdrant::Formula& formula,
                                                      const Path& path);
[[nodiscard]] Decoded<payload::Selector> decode_with_payload(
    const qdrant::WithPayloadSelector& selector, const Path& path);
[[nodiscard]] engine::VectorSelector decode_with_vectors(
    const qdrant::WithVectorsSelector& selector);
[[nodiscard]] Decoded<engine::OrderBy> decode_order_by(const qdrant::OrderBy& order,
                                                       const Path& path);
[[nodiscard]] Decoded<engine::QueryVector> decode_query_vector(const qdrant::VectorInput& input,
                                                               const Path& path);
/// A vector to be stored: 422 if it is empty. Also in the form of old clients.
[[nodiscard]] Decoded<engine::VectorValue> decode_vector(const qdrant::Vector& vector,
                                                         const Path& path);
[[nodiscard]] Decoded<std::vector<engine::NamedVector>> decode_vectors(
    const qdrant::Vectors& vectors, const Path& path);
/// Dense if there are no indices.
[[nodiscard]] Decoded<engine::VectorValue> decode_flat_vector(
    const google::protobuf::RepeatedField<float>& values, const qdrant::SparseIndices* indices,
    const Path& path);
/// 422 "value 0 invalid, must be 1 or larger" for 0.
[[nodiscard]] Decoded<> check_positive(std::uint64_t value, const Path& path);

/// nullopt if it is not set. 422 if it is too long.
[[nodiscard]] Decoded<std::optional<engine::ShardKey>> decode_shard_key(const qdrant::ShardKey& key,
                                                                        const Path& path);
/// For messages with `shard_key_selector`. 400 for a fallback beside several keys.
template <class Request>
[[nodiscard]] Decoded<engine::ShardSelector> decode_shards(const Request& request);
[[nodiscard]] Decoded<engine::ShardSelector> decode_selector(
    const qdrant::ShardKeySelector& selector);

template <class Request>
Decoded<engine::ShardSelector> decode_shards(const Request& request) {
  if (!request.has_shard_key_selector()) return engine::ShardSelector();
  return decode_selector(request.shard_key_selector());
}

// Reads.
[[nodiscard]] Decoded<engine::CountRequest> decode_count(const qdrant::CountPoints& request);
[[nodiscard]] Decoded<engine::Query> decode_query(const qdrant::QueryPoints& request);
[[nodiscard]] Decoded<engine::Query> decode_query(const qdrant::QueryPointGroups& request);
[[nodiscard]] Decoded<engine::Query> decode_search(const qdrant::SearchPoints& request);
[[nodiscard]] Decoded<engine::Query> decode_search(const qdrant::SearchPointGroups& request);
[[nodiscard]] Decoded<engine::Query> decode_recommend(const qdrant::RecommendPoints& request);
[[nodiscard]] Decoded<engine::Query> decode_recommend(const qdrant::RecommendPointGroups& request);
[[nodiscard]] Decoded<engine::Query> decode_discover(const qdrant::DiscoverPoints& request);
[[nodiscard]] Decoded<engine::ScrollRequest> decode_scroll(const qdrant::ScrollPoints& request);
[[nodiscard]] Decoded<engine::RetrieveRequest> decode_get(const qdrant::GetPoints& request);

// Changes.
[[nodiscard]] Decoded<engine::Operation> decode(const qdrant::UpsertPoints& request);
[[nodiscard]] Decoded<engine::Operation> decode(const qdrant::DeletePoints& request);
[[nodiscard]] Decoded<engine::Operation> decode(const qdrant::UpdatePointVectors& request);
[[nodiscard]] Decoded<engine::Operation> decode(const qdrant::DeletePointVectors& request);
[[nodiscard]] Decoded<engine::Operation> decode_set_payload(
    const qdrant::SetPayloadPoints& request);
[[nodiscard]] Decoded<engine::Operation> decode_overwrite_payload(
    const qdrant::SetPayloadPoints& request);
[[nodiscard]] Decoded<engine::Operation> decode(const qdrant::DeletePayloadPoints& request);
[[nodiscard]] Decoded<engine::Operation> decode(const qdrant::ClearPayloadPoints& request);
[[nodiscard]] Decoded<std::vector<engine::Operation>> decode(
    const qdrant::UpdateBatchPoints& request);

}  // namespace quiver::service::rpc
