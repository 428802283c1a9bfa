// .fvecs, .ivecs and .bvecs (the format of the TEXMEX corpora): each row is its dimension as i32
// and then its values.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "dataset/streams/byte_source.h"
#include "dataset/vectors.h"

namespace quiver::dataset {

class VecsReader final : public VectorReader {
 public:
  /// Fails (kInvalidArgument) if the first row has no sensible dimension.
  [[nodiscard]] static Result<std::unique_ptr<VecsReader>> open(const std::string& path,
                                                                ValueType type);

  [[nodiscard]] const VectorShape& shape() const override { return shape_; }
  [[nodiscard]] std::uint64_t position() const override { return row_; }
  Result<> read(std::size_t max_rows, VectorBatch& out) override;
  /// Skips rows without checking them.
  Result<> skip_to(std::uint64_t row) override;
  /// Like `read`, but as `[n_rows, dim]` integers; for .ivecs and .bvecs.
  Result<std::size_t> read(std::size_t max_rows, std::vector<std::int64_t>& out);

 private:
  VecsReader(std::unique_ptr<ByteSource> source, VectorShape shape)
      : source_(std::move(source)), shape_(shape) {}

  [[nodiscard]] std::size_t row_bytes() const;
  Result<std::size_t> read_rows(std::size_t max_rows);
  Result<> check_rows(std::size_t n_bytes) const;
  [[nodiscard]] const std::byte* values_of(std::size_t i) const;

  std::unique_ptr<ByteSource> source_;
  VectorShape shape_;
  std::uint64_t row_ = 0;
  std::vector<std::byte> rows_;
};

}  // namespace quiver::dataset
