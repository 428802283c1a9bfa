#include "index/prepared_query.h"

#include "index/stored_rows.h"
#include "kernels/kernels.h"

namespace quiver::index {
namespace {

/// Largest dimension of a scattered query: beyond 4 MiB it falls out of the cache that makes it
/// fast.
constexpr std::uint32_t kMaxScatteredDim = 1U << 20;

/// Longest vector whose integer sums fit in 32 bits.
constexpr std::uint32_t kMaxByteDim = 1U << 16;

/// The values as bytes; empty if not all are whole numbers from 0 to 255.
std::vector<std::uint8_t> as_bytes(std::span<const float> vector) {
  std::vector<std::uint8_t> bytes(vector.size());
  if (kernels().convert.f32_to_u8(vector.data(), vector.size(), bytes.data()) != 0) bytes.clear();
  return bytes;
}

}  // namespace

PreparedQuery PreparedQuery::dense(const FieldSchema& schema, std::span<const float> vector) {
  PreparedQuery query(schema);
  query.values_.assign(vector.begin(), vector.end());
  if (schema.dtype == DType::kU8 && vector.size() <= kMaxByteDim) query.bytes_ = as_bytes(vector);
  if (schema.metric == Metric::kCosine) to_unit_length(query.values_.data(), query.values_.size());
  query.rotate_values();
  return query;
}

void PreparedQuery::rotate_values() {
  if (!is_compared_rotated(schema_)) return;
  rotated_.resize(values_.size());
  for (std::size_t first = 0; first < values_.size(); first += schema_.dim) {
    rotate_for(schema_, values_.data() + first, rotated_.data() + first);
  }
}

PreparedQuery PreparedQuery::sparse(const FieldSchema& schema, SparseView vector) {
  PreparedQuery query(schema);
  query.indices_.assign(vector.indices.begin(), vector.indices.end());
  for (const float value : vector.values) query.values_.push_back(SparseQuery::stored(value));
  for (const std::uint32_t index : vector.indices) query.sparse_filter_.add(index);
  if (query.indices_.empty() || query.indices_.back() >= kMaxScatteredDim) return query;
  query.scattered_.assign(query.indices_.back() + 2, 0.0F);
  for (std::size_t i = 0; i < query.indices_.size(); ++i) {
    query.scattered_[query.indices_[i]] = query.values_[i];
  }
  return query;
}

SparseQuery PreparedQuery::sparse() const {
  const bool scattered = !scattered_.empty();
  return {.indices = indices_.data(),
          .values = values_.data(),
          .n = indices_.size(),
          .scattered = scattered ? scattered_.data() : nullptr,
          .dim = scattered ? static_cast<std::uint32_t>(scattered_.size() - 1) : 0,
          .filter = sparse_filter_};
}

// max <w q, p> = w max <q, p> for w >= 0, so a weight scales its token.
PreparedQuery PreparedQuery::multi(const FieldSchema& schema, std::span<const float> tokens,
                                   std::span<const float> weights) {
  PreparedQuery query(schema);
  query.values_.assign(tokens.begin(), tokens.end());
  query.n_tokens_ = static_cast<std::uint32_t>(tokens.size() / schema.dim);
  if (schema.metric == Metric::kCosine) {
    for (std::uint32_t t = 0; t < query.n_tokens_; ++t) {
      to_unit_length(query.values_.data() + std::size_t{t} * schema.dim, schema.dim);
    }
  }
  for (std::size_t t = 0; t < weights.size(); ++t) {
    float* token = query.values_.data() + t * schema.dim;
    for (std::size_t d = 0; d < schema.dim; ++d) token[d] *= weights[t];
  }
  query.rotate_values();
  query.blocked_.resize(MaxSimKernels::prepared_floats(query.n_tokens_, schema.dim));
  kernels().maxsim_family.prepare(query.compared_values().data(), query.n_tokens_, schema.dim,
                                  schema.dim, query.blocked_.data());
  return query;
}

}  // namespace quiver::index
