// A row is `dim` bytes u, which stand for the values (u - 127.5) * scale. Then follow the row's
// scale, unless all rows share one, and the addend of distances. The query becomes signed bytes, so
// that products are integers.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "encoders/codes/factors.h"
#include "encoders/codes/value_encoders.h"

namespace quiver::encoders {
namespace {

constexpr float kMiddle = 127.5f;
constexpr float kHalf = 128.0f;

class ByteEncoder final : public Encoder {
 public:
  ByteEncoder(Similarity similarity, std::uint32_t dim, float limit)
      : Encoder(similarity, dim), shared_scale_(limit / kMiddle) {}

  [[nodiscard]] std::size_t block_bytes() const override {
    return dim() + (has_own_scale() ? 4 : 0) + (is_distance() ? 4 : 0);
  }

  void encode(const float* rows, std::size_t /*n*/, std::byte* block) const override {
    const GridKernels& grid = kernels().grid;
    const float scale = has_own_scale() ? grid.largest(rows, dim()) / kMiddle : shared_scale_;
    grid.encode(rows, dim(), per(scale, 1.0f), kHalf, reinterpret_cast<std::uint8_t*>(block));
    const RowFactors factors = factors_of(is_distance(), scale, rows, dim());
    std::byte* at = block + dim();
    if (has_own_scale()) {
      std::memcpy(at, &factors.scale, 4);
      at += 4;
    }
    if (is_distance()) std::memcpy(at, &factors.add, 4);
  }

  [[nodiscard]] RowFactors factors(const std::byte* block) const {
    RowFactors factors{is_distance() ? 2 * shared_scale_ : shared_scale_, 0.0f};
    const std::byte* at = block + dim();
    if (has_own_scale()) {
      std::memcpy(&factors.scale, at, 4);
      at += 4;
    }
    if (is_distance()) std::memcpy(&factors.add, at, 4);
    return factors;
  }

  [[nodiscard]] std::unique_ptr<Scorer> scorer(const float* query) const override;
  [[nodiscard]] float base(const float* query) const {
    return base_of(is_distance(), query, dim());
  }

 private:
  [[nodiscard]] bool has_own_scale() const { return shared_scale_ == 0; }

  float shared_scale_;
};

class ByteCodeScorer final : public Scorer {
 public:
  ByteCodeScorer(const ByteEncoder& encoder, const float* query)
      : encoder_(encoder), query_((encoder.dim() + 15) / 16 * 16), base_(encoder.base(query)) {
    std::vector<float> padded(query_.size());
    std::copy_n(query, encoder.dim(), padded.data());
    const float largest = kernels().grid.largest(query, encoder.dim());
    const float per_unit = per(largest, 127.0f);
    sum_ = static_cast<float>(
        kernels().codes.to_bytes(padded.data(), padded.size(), per_unit, query_.data()));
    step_ = per_unit > 0 ? 1.0f / per_unit : 0.0f;
  }

  void score(const std::byte* blocks, std::size_t n_blocks, float* out) const override {
    constexpr std::size_t kRows = 256;
    std::int32_t products[kRows];
    const std::size_t stride = encoder_.block_bytes();
    for (std::size_t first = 0; first < n_blocks; first += kRows) {
      const std::size_t n = std::min(kRows, n_blocks - first);
      const std::byte* rows = blocks + first * stride;
      kernels().bytes.u8_dot_i8.many(query_.data(), encoder_.dim(), rows, stride, n, products);
      for (std::size_t i = 0; i < n; ++i) {
        const RowFactors factors = encoder_.factors(rows + i * stride);
        const float product = (static_cast<float>(products[i]) - kMiddle * sum_) * step_;
        out[first + i] = product * factors.scale + factors.add + base_;
      }
    }
  }

 private:
  const ByteEncoder& encoder_;
  std::vector<std::int8_t> query_;
  float base_;
  float sum_ = 0;
  float step_ = 0;
};

std::unique_ptr<Scorer> ByteEncoder::scorer(const float* query) const {
  return std::make_unique<ByteCodeScorer>(*this, query);
}

}  // namespace

EncoderPtr make_byte_encoder(Similarity similarity, std::uint32_t dim, float limit) {
  return std::make_unique<ByteEncoder>(similarity, dim, limit);
}

float limit_of(std::span<const float> values, double share) {
  std::vector<float> sizes(values.size());
  std::transform(values.begin(), values.end(), sizes.begin(), [](float v) { return std::abs(v); });
  const auto above = static_cast<std::ptrdiff_t>(share * static_cast<double>(sizes.size()));
  std::nth_element(sizes.begin(), sizes.end() - 1 - above, sizes.end());
  return *(sizes.end() - 1 - above);
}

}  // namespace quiver::encoders
