#include "service/grpc/messages/encode.h"

#include "service/grpc/messages/values.h"

namespace quiver::service::rpc {
namespace {

template <class Source>
void add_floats(const Source& source, qdrant::DenseVector& out) {
  out.mutable_data()->Add(source.begin(), source.end());
}

void set_vector(const engine::DenseVector& dense, qdrant::VectorOutput& out) {
  add_floats(dense, *out.mutable_dense());
}

void set_vector(const engine::SparseVector& sparse, qdrant::VectorOutput& out) {
  auto& vector = *out.mutable_sparse();
  vector.mutable_indices()->Add(sparse.indices.begin(), sparse.indices.end());
  vector.mutable_values()->Add(sparse.values.begin(), sparse.values.end());
}

void set_vector(const engine::MultiVector& multi, qdrant::VectorOutput& out) {
  auto& vectors = *out.mutable_multi_dense();
  auto row = multi.values.begin();
  for (std::uint32_t i = 0; i < multi.n_tokens; ++i, row += multi.dim) {
    vectors.add_vectors()->mutable_data()->Add(row, row + multi.dim);
  }
}

void set_any_vector(const engine::VectorValue& value, qdrant::VectorOutput& out) {
  std::visit([&](const auto& vector) { set_vector(vector, out); }, value);
}

void set_vectors(const std::vector<engine::NamedVector>& vectors, qdrant::VectorsOutput& out) {
  if (vectors.size() == 1 && vectors.front().name.empty()) {
    return set_any_vector(vectors.front().value, *out.mutable_vector());
  }
  auto& named = *out.mutable_vectors()->mutable_vectors();
  for (const auto& vector : vectors) set_any_vector(vector.value, named[vector.name]);
}

/// The parts that both kinds of points have.
template <class Point>
Decoded<> set_parts(engine::Record& record, Point& out) {
  set_id(record.id, *out.mutable_id());
  if (record.payload) QV_TRY(add_members(*record.payload, *out.mutable_payload()));
  if (record.vectors) set_vectors(*record.vectors, *out.mutable_vectors());
  if (record.shard_key) set_shard_key(*record.shard_key, *out.mutable_shard_key());
  if (!record.order_value) return {};
  auto& order = *out.mutable_order_value();
  if (const auto* integer = std::get_if<std::int64_t>(&*record.order_value)) {
    order.set_int_(*integer);
  } else {
    order.set_float_(std::get<double>(*record.order_value));
  }
  return {};
}

}  // namespace

void set_id(const PointId& id, qdrant::PointId& out) {
  if (id.kind() == PointId::Kind::kNumber) {
    out.set_num(id.low());
  } else {
    out.set_uuid(id.to_string());
  }
}

void set_shard_key(const engine::ShardKey& key, qdrant::ShardKey& out) {
  if (const auto* text = std::get_if<std::string>(&key)) {
    out.set_keyword(*text);
  } else {
    out.set_number(std::get<std::uint64_t>(key));
  }
}

Decoded<> set_scored(engine::Record& record, qdrant::ScoredPoint& out) {
  out.set_version(to_number(record.version));
  out.set_score(record.score);
  return set_parts(record, out);
}

Decoded<> set_retrieved(engine::Record& record, qdrant::RetrievedPoint& out) {
  return set_parts(record, out);
}

void set_result(const engine::UpdateResult& result, qdrant::UpdateResult& out) {
  out.set_operation_id(to_number(result.operation_id));
  out.set_status(result.completed ? qdrant::Completed : qdrant::Acknowledged);
}

}  // namespace quiver::service::rpc
