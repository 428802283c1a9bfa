#include <cstring>
#include <vector>

#include "encoders/codes/value_encoders.h"

namespace quiver::encoders {
namespace {

class FloatScorer final : public Scorer {
 public:
  FloatScorer(const Encoder& encoder, const float* query, RowType type)
      : encoder_(encoder), type_(type), query_(query, query + encoder.dim()) {}

  void score(const std::byte* blocks, std::size_t n_blocks, float* out) const override {
    const DenseKernels& dense = kernels().dense(encoder_.similarity(), type_);
    dense.many(query_.data(), encoder_.dim(), blocks, encoder_.block_bytes(), n_blocks, out);
  }

 private:
  const Encoder& encoder_;
  RowType type_;
  std::vector<float> query_;
};

class FloatEncoder final : public Encoder {
 public:
  FloatEncoder(Similarity similarity, std::uint32_t dim, RowType type)
      : Encoder(similarity, dim), type_(type) {}

  [[nodiscard]] std::size_t block_bytes() const override {
    return std::size_t{dim()} * (type_ == RowType::kF32 ? 4 : 2);
  }

  void encode(const float* rows, std::size_t /*n*/, std::byte* block) const override {
    const ConvertKernels& convert = kernels().convert;
    auto* halves = reinterpret_cast<std::uint16_t*>(block);
    if (type_ == RowType::kF32) std::memcpy(block, rows, block_bytes());
    if (type_ == RowType::kF16) convert.f32_to_f16(rows, dim(), halves);
    if (type_ == RowType::kBf16) convert.f32_to_bf16(rows, dim(), halves);
  }

  [[nodiscard]] std::unique_ptr<Scorer> scorer(const float* query) const override {
    return std::make_unique<FloatScorer>(*this, query, type_);
  }

 private:
  RowType type_;
};

}  // namespace

EncoderPtr make_float_encoder(Similarity similarity, std::uint32_t dim, RowType type) {
  return std::make_unique<FloatEncoder>(similarity, dim, type);
}

}  // namespace quiver::encoders
