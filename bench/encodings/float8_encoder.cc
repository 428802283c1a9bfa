#include "bench/encodings/float8_encoder.h"

#include <algorithm>
#include <array>
#include <vector>

#include "kernels/float8.h"

namespace quiver::encodings {
namespace {

using encoders::Encoder;
using encoders::Scorer;

/// Values of all 256 codes.
template <class Format>
[[nodiscard]] const std::array<float, 256>& float8_values() {
  static const std::array<float, 256> values = [] {
    std::array<float, 256> all{};
    for (std::size_t i = 0; i < 256; ++i)
      all[i] = from_float8<Format>(static_cast<std::uint8_t>(i));
    return all;
  }();
  return values;
}

/// Decodes a few rows at a time, which stay in L1.
class Float8Scorer final : public Scorer {
 public:
  Float8Scorer(const Encoder& encoder, const float* query, const std::array<float, 256>& values)
      : encoder_(encoder), values_(values), query_(query, query + encoder.dim()) {}

  void score(const std::byte* blocks, std::size_t n_blocks, float* out) const override {
    constexpr std::size_t kRows = 8;
    const std::size_t dim = encoder_.dim();
    std::vector<float> decoded(kRows * dim);
    const DenseKernels& dense = kernels().dense(encoder_.similarity(), RowType::kF32);
    for (std::size_t first = 0; first < n_blocks; first += kRows) {
      const std::size_t n = std::min(kRows, n_blocks - first);
      const std::byte* codes = blocks + first * dim;
      for (std::size_t i = 0; i < n * dim; ++i) {
        decoded[i] = values_[std::to_integer<std::size_t>(codes[i])];
      }
      dense.many(query_.data(), encoder_.dim(), reinterpret_cast<const std::byte*>(decoded.data()),
                 dim * sizeof(float), n, out + first);
    }
  }

 private:
  const Encoder& encoder_;
  const std::array<float, 256>& values_;
  std::vector<float> query_;
};

/// Scores of rows and a query that are scaled alike, scaled back.
class ScaledScorer final : public Scorer {
 public:
  ScaledScorer(std::unique_ptr<Scorer> scaled, std::size_t n_rows_per_block, float factor)
      : scaled_(std::move(scaled)), n_rows_per_block_(n_rows_per_block), factor_(factor) {}

  void score(const std::byte* blocks, std::size_t n_blocks, float* out) const override {
    scaled_->score(blocks, n_blocks, out);
    for (std::size_t i = 0; i < n_blocks * n_rows_per_block_; ++i) out[i] *= factor_;
  }

 private:
  std::unique_ptr<Scorer> scaled_;
  std::size_t n_rows_per_block_;
  float factor_;
};

template <class Format>
class Float8Encoder final : public Encoder {
 public:
  Float8Encoder(Similarity similarity, std::uint32_t dim, float scale)
      : Encoder(similarity, dim), scale_(scale) {}

  [[nodiscard]] std::size_t block_bytes() const override { return dim(); }

  void encode(const float* rows, std::size_t /*n*/, std::byte* block) const override {
    for (std::uint32_t d = 0; d < dim(); ++d) {
      block[d] = static_cast<std::byte>(to_float8<Format>(rows[d] * scale_));
    }
  }

  [[nodiscard]] std::unique_ptr<Scorer> scorer(const float* query) const override {
    std::vector<float> scaled(query, query + dim());
    for (float& value : scaled) value *= scale_;
    return std::make_unique<ScaledScorer>(
        std::make_unique<Float8Scorer>(*this, scaled.data(), float8_values<Format>()), block_rows(),
        1.0f / (scale_ * scale_));
  }

 private:
  float scale_;
};

}  // namespace

encoders::EncoderPtr make_float8_encoder(Similarity similarity, std::uint32_t dim, Float8 format,
                                         float scale) {
  if (format == Float8::kE4m3) {
    return std::make_unique<Float8Encoder<E4m3>>(similarity, dim, scale);
  }
  return std::make_unique<Float8Encoder<E5m2>>(similarity, dim, scale);
}

}  // namespace quiver::encodings
