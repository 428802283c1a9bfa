#include "engine/indexing/build_memory.h"

#include <algorithm>
#include <cmath>

namespace quiver::engine {
namespace {

/// Buffers of the threads of a build.
constexpr std::uint64_t kThreadBytes = 16 << 20;

/// The formula of docs/dense.md.
std::uint64_t dense_build_bytes(std::uint64_t n_rows, std::uint64_t n_dims) {
  constexpr std::uint64_t kBlockDims = 32;
  const std::uint64_t dim = (n_dims + kBlockDims - 1) / kBlockDims * kBlockDims;
  const auto n_lists = static_cast<std::uint64_t>(4 * std::sqrt(static_cast<double>(n_rows)));
  return std::min(n_rows, 256 * n_lists) * dim + 40 * n_rows + 20 * n_lists * dim + 2048 * n_lists +
         kThreadBytes;
}

}  // namespace

std::uint64_t index_build_bytes(const FieldSchema& field, std::uint64_t n_rows,
                                std::uint64_t data_bytes) {
  constexpr std::uint64_t kFirstStageBytes = 4096;  // of a row of a multi-vector field
  switch (field.kind) {
    case FieldKind::kDense:
      return dense_build_bytes(n_rows, field.dim);
    case FieldKind::kSparse:
      return data_bytes * 5 / 4 + kThreadBytes;
    case FieldKind::kMulti:
      return data_bytes + n_rows * kFirstStageBytes + kThreadBytes;
  }
  return 0;
}

std::uint64_t index_build_bytes(const SegmentData& data, const IndexPolicy& policy,
                                std::optional<std::size_t> rebuilt_field) {
  auto fields = missing_indexes(data, policy);
  if (rebuilt_field) fields.push_back(*rebuilt_field);
  std::uint64_t most = 0;
  for (const std::size_t i : fields) {
    const auto& field = data.fields[i];
    most = std::max(most, index_build_bytes(field.schema, field.n_present, data_bytes(field)));
  }
  return most;
}

std::uint64_t merge_bytes(const std::vector<Segment>& inputs) {
  constexpr std::uint64_t kBytesPerRow = 128;
  constexpr std::uint64_t kShareOfDocuments = 4;
  struct Merged {
    FieldSchema schema;
    std::uint64_t n_rows = 0;
    std::uint64_t n_bytes = 0;
  };
  std::uint64_t n_bytes = 0;
  std::vector<Merged> merged;
  for (const Segment& input : inputs) {
    const SegmentData& data = *input.data;
    n_bytes += data.n_rows * kBytesPerRow + data.documents.bytes.size() / kShareOfDocuments;
    merged.resize(std::max(merged.size(), data.fields.size()));
    for (std::size_t i = 0; i < data.fields.size(); ++i) {
      merged[i].schema = data.fields[i].schema;
      merged[i].n_rows += data.fields[i].n_present;
      merged[i].n_bytes += data_bytes(data.fields[i]);
    }
  }
  std::uint64_t most = 0;
  for (const Merged& field : merged) {
    most = std::max(most, index_build_bytes(field.schema, field.n_rows, field.n_bytes));
  }
  return n_bytes + most;
}

}  // namespace quiver::engine
