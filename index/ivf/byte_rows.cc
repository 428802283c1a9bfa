#include "index/ivf/byte_rows.h"

#include "index/ivf/coding.h"
#include "index/ivf/sections.h"

namespace quiver::index::ivf {

void ByteQuery::set(std::span<const float> query) {
  values.resize(query.size());
  const float largest = kernels().grid.largest(query.data(), query.size());
  scale = largest / 127.0F;
  const float per_unit = largest > 0 ? 127.0F / largest : 0.0F;
  const std::int32_t sum =
      kernels().codes.to_bytes(query.data(), query.size(), per_unit, values.data());
  middle = ByteWriter::kMiddle * static_cast<float>(sum);
  const double norm = kernels().convert.norm(query.data(), query.size());
  squares = static_cast<float>(norm * norm);
}

Result<ByteRows> ByteRows::open(const SectionReader& reader, Similarity similarity,
                                const PartitionFacts& facts) {
  ByteRows rows;
  rows.similarity_ = similarity;
  rows.dim_ = facts.padded_dim;
  rows.stride_ = ByteWriter::stride(facts.padded_dim);
  const std::uint64_t n = facts.n_positions;
  QV_TRY(rows.codes_, reader.get<std::byte>(kByteCodes, 0, n * rows.stride_));
  QV_TRY(rows.scales_, reader.get<float>(kByteScales, 0, n));
  if (similarity == Similarity::kNegL2Squared) {
    QV_TRY(rows.squares_, reader.get<float>(kByteSquares, 0, n));
  }
  return rows;
}

void ByteRows::score(const ByteQuery& query, std::span<const std::uint32_t> positions,
                     float* out) const {
  constexpr std::size_t kAtATime = 64;
  std::int32_t products[kAtATime];
  const bool is_distance = similarity_ == Similarity::kNegL2Squared;
  for (std::size_t first = 0; first < positions.size(); first += kAtATime) {
    const auto some = positions.subspan(first, std::min(kAtATime, positions.size() - first));
    kernels().bytes.u8_dot_i8.gather(query.values.data(), dim_, codes_.data(), stride_, some.data(),
                                     some.size(), products);
    for (std::size_t i = 0; i < some.size(); ++i) {
      const float product =
          (static_cast<float>(products[i]) - query.middle) * query.scale * scales_[some[i]];
      out[first + i] = is_distance ? 2 * product - squares_[some[i]] - query.squares : product;
    }
  }
}

}  // namespace quiver::index::ivf
