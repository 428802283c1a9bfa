// An array of numbers in a file, front to back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "dataset/formats/npy_header.h"
#include "dataset/formats/value_type.h"
#include "dataset/streams/byte_source.h"

namespace quiver::dataset {

/// Layout of an array in its file.
struct ArrayLayout {
  ValueType type = ValueType::kF32;
  ByteOrder order = ByteOrder::kLittle;
  std::uint64_t first_byte = 0;
  std::uint64_t n_values = 0;
  bool ends_file = true;  ///< nothing follows the last value
};

/// One thread.
class ArrayStream {
 public:
  ArrayStream(std::unique_ptr<ByteSource> source, ArrayLayout layout)
      : source_(std::move(source)), layout_(layout) {}

  [[nodiscard]] ValueType type() const { return layout_.type; }
  [[nodiscard]] std::uint64_t size() const { return layout_.n_values; }
  /// Number of the value that `read` returns next.
  [[nodiscard]] std::uint64_t position() const { return position_; }
  [[nodiscard]] const std::string& path() const { return source_->path(); }
  [[nodiscard]] std::uint64_t byte_of(std::uint64_t value) const {
    return layout_.first_byte + value * bytes_per_value(layout_.type);
  }

  /// Reads the next values, up to `size()`. Returns fewer only if the file breaks off.
  Result<std::size_t> read(std::span<float> out);
  Result<std::size_t> read(std::span<std::int64_t> out);
  /// Replaces `out` by the next `n` values, or by fewer if the file breaks off. Memory grows with
  /// the values read, so a wrong `n` does no harm.
  Result<std::size_t> read(std::size_t n, std::vector<float>& out);

  /// Continues at `value`, which is not before `position()`.
  Result<> skip_to(std::uint64_t value);

  /// Makes an error at `value`, which belongs to `row`.
  [[nodiscard]] Error error(Code code, std::uint64_t row, std::uint64_t value,
                            std::string_view text) const {
    return source_->error(code, row, byte_of(value), text);
  }
  /// Makes the error for a file that ends at `value`.
  [[nodiscard]] Error broken_off(std::uint64_t row, std::uint64_t value) const;
  /// Checks a known size of the file. Fails with kDataLoss if it ends before the last value, with
  /// kInvalidArgument if bytes follow. `values_per_row` is for the message, 0 if rows differ.
  [[nodiscard]] Result<> check_size(std::uint64_t values_per_row) const;
  /// To be called after the last value. Fails with kInvalidArgument if bytes follow.
  Result<> check_end();

 private:
  template <class T>
  Result<std::size_t> read_converted(std::span<T> out);
  Result<std::size_t> read_values(std::span<std::byte> out);

  std::unique_ptr<ByteSource> source_;
  ArrayLayout layout_;
  std::uint64_t position_ = 0;
  std::vector<std::byte> scratch_;
};

/// An array and its shape.
struct NpyArray {
  ArrayStream values;
  std::vector<std::uint64_t> shape;
};
/// Opens a `.npy`, plain or compressed. Checks the size of the file if it is known.
[[nodiscard]] Result<NpyArray> open_npy(const std::string& path);

}  // namespace quiver::dataset
