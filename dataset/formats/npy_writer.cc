#include "dataset/formats/npy_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/io/file.h"
#include "dataset/formats/value_type.h"
#include "dataset/streams/byte_source.h"
#include "kernels/kernels.h"

namespace quiver::dataset {
namespace {

/// Position of the first value that f16 cannot hold.
std::size_t first_beyond_half(std::span<const float> values) {
  const auto found = std::ranges::find_if(
      values, [](float value) { return std::isfinite(value) && std::abs(value) >= 65520.0F; });
  return static_cast<std::size_t>(found - values.begin());
}

/// Converts values up to the first that is not a whole number from 0 to 255; returns how many.
std::size_t to_u8(std::span<const float> values, std::byte* out) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    const float value = values[i];
    if (!(value >= 0 && value <= 255) || value != std::floor(value)) return i;
    out[i] = static_cast<std::byte>(value);
  }
  return values.size();
}

}  // namespace

Result<NpyWriter> NpyWriter::create(const std::string& path, ValueType type,
                                    std::uint64_t n_columns, IfExists if_exists) {
  NpyWriter writer;
  writer.path_ = path;
  writer.type_ = type;
  writer.n_columns_ = n_columns;
  const std::string plain(unpacked_name(path));
  if (plain != path) {
    QV_TRY(writer.packed_, create_bytes(path, if_exists));
  }
  // A file that is compressed later never gets the plain name, which another file may have.
  QV_TRY(writer.file_, FileSink::create(plain, writer.packed_ ? IfExists::kReplace : if_exists));
  const std::string placeholder(kNpyHeaderBytes, ' ');
  QV_TRY(writer.file_->append(as_byte_span(placeholder)));
  return writer;
}

Result<> NpyWriter::append(std::span<const std::byte> values) {
  n_values_ += values.size() / bytes_per_value(type_);
  return file_->append(values);
}

Result<> NpyWriter::append(std::span<const float> values) {
  if (type_ == ValueType::kF32) return append(std::as_bytes(values));
  scratch_.resize(values.size() * bytes_per_value(type_));
  std::size_t n_good = values.size();
  if (type_ == ValueType::kU8) {
    n_good = to_u8(values, scratch_.data());
  } else if (kernels().convert.f32_to_f16(values.data(), values.size(),
                                          reinterpret_cast<std::uint16_t*>(scratch_.data())) > 0) {
    n_good = first_beyond_half(values);
  }
  if (n_good < values.size()) return fail(misfit(n_values_ + n_good, values[n_good]));
  return append(std::span<const std::byte>(scratch_));
}

Error NpyWriter::misfit(std::uint64_t value, float found) const {
  return Error(Code::kInvalidArgument,
               fmt::format("{}: row {}: found {}, wanted {}", path_,
                           value / std::max<std::uint64_t>(n_columns_, 1), found,
                           type_ == ValueType::kU8 ? "a whole number from 0 to 255"
                                                   : "a number within the range of f16"));
}

Result<> NpyWriter::finish() {
  const std::uint64_t shape[] = {n_values_ / std::max<std::uint64_t>(n_columns_, 1), n_columns_};
  const std::string header =
      npy_header_text(type_, std::span(shape).first(n_columns_ == 0 ? 1 : 2));
  QV_TRY(file_->overwrite_header(as_byte_span(header)));
  if (!packed_) return file_->finish();
  QV_TRY(file_->copy_to(*packed_));
  return packed_->finish();
}

}  // namespace quiver::dataset
