#include "encoders/codes/bit_encoders.h"

#include <algorithm>
#include <vector>

#include "encoders/codes/code_block.h"
#include "encoders/codes/rabitq.h"
#include "encoders/codes/table_scorer.h"
#include "encoders/transforms/rotation.h"

namespace quiver::encoders {
namespace {

/// Codes of `bits` bits a dimension. A subclass prepares and rounds the rows.
class BitEncoder : public Encoder {
 public:
  [[nodiscard]] std::size_t block_rows() const override { return CodeBlocks::kRows; }
  [[nodiscard]] std::size_t block_bytes() const override { return shape_.block_bytes(); }

  void encode(const float* rows, std::size_t n, std::byte* block) const override {
    clear_block(shape_, block);
    std::vector<float> padded(padded_dim());
    std::vector<std::uint8_t> codes(padded_dim());
    for (std::size_t i = 0; i < n; ++i) {
      const float* row = rows + i * dim();
      prepare(row, padded.data());
      const float scale = round(padded, codes.data());
      put_codes(shape_, codes, i, block);
      put_factors(shape_, factors_of(is_distance(), scale, row, dim()), i, block);
    }
  }

  [[nodiscard]] std::unique_ptr<Scorer> scorer(const float* query) const override {
    std::vector<float> padded(padded_dim());
    prepare(query, padded.data());
    TableMemory memory(shape_.n_lines);
    const CodeTables tables = kernels().codes.prepare(padded.data(), shape_.n_lines, memory.data());
    return std::make_unique<TableScorer>(shape_, std::move(memory), tables,
                                         base_of(is_distance(), query, dim()));
  }

 protected:
  BitEncoder(Similarity similarity, std::uint32_t dim, std::uint32_t padded_dim, std::uint32_t bits)
      : Encoder(similarity, dim) {
    shape_.n_lines = padded_dim / 32;
    shape_.n_bits = bits;
  }

  [[nodiscard]] std::uint32_t padded_dim() const { return shape_.n_lines * 32; }
  [[nodiscard]] std::uint32_t bits() const { return shape_.n_bits; }
  /// Prepares a row or a query; `out` is `[padded_dim]` and holds zeros at first.
  virtual void prepare(const float* in, float* out) const = 0;
  /// Rounds to grid points; returns their scale.
  virtual float round(std::span<const float> row, std::uint8_t* codes) const = 0;

 private:
  CodeBlocks shape_;
};

class RabitqEncoder final : public BitEncoder {
 public:
  RabitqEncoder(Similarity similarity, Rotation rotation, std::uint32_t bits)
      : BitEncoder(similarity, rotation.dim(), rotation.padded_dim(), bits),
        rotation_(std::move(rotation)) {}

 private:
  void prepare(const float* in, float* out) const override { rotation_.apply(in, out); }
  float round(std::span<const float> row, std::uint8_t* codes) const override {
    return rabitq_encode(row, bits(), codes).scale();
  }

  Rotation rotation_;
};

class StepEncoder final : public BitEncoder {
 public:
  StepEncoder(Similarity similarity, std::uint32_t dim, std::uint32_t bits, float limit)
      : BitEncoder(similarity, dim, (dim + 31) / 32 * 32, bits), limit_(limit) {}

 private:
  void prepare(const float* in, float* out) const override { std::copy_n(in, dim(), out); }
  float round(std::span<const float> row, std::uint8_t* codes) const override {
    const GridKernels& grid = kernels().grid;
    const float half = static_cast<float>(1u << (bits() - 1));
    const float largest = grid.largest(row.data(), row.size());
    const float limit = limit_ > 0 && largest > 0 ? limit_ : largest;  // 0 for the zero vector
    const float scale = limit / (half - 0.5f);
    grid.encode(row.data(), row.size(), per(scale, 1.0f), half, codes);
    return scale;
  }

  float limit_;
};

}  // namespace

EncoderPtr make_rabitq_encoder(Similarity similarity, std::uint32_t dim, std::uint32_t bits,
                               std::uint64_t seed) {
  return std::make_unique<RabitqEncoder>(similarity, Rotation(dim, seed), bits);
}

EncoderPtr make_step_encoder(Similarity similarity, std::uint32_t dim, std::uint32_t bits,
                             float limit) {
  return std::make_unique<StepEncoder>(similarity, dim, bits, limit);
}

}  // namespace quiver::encoders
