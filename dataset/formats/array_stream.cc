#include "dataset/formats/array_stream.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

namespace quiver::dataset {
namespace {

// Values per conversion, which stay in L2.
constexpr std::size_t kValuesPerChunk = std::size_t{1} << 15;
// Values by which memory grows at most.
constexpr std::size_t kMaxGrowthValues = std::size_t{1} << 24;

void to_numbers(ValueType type, const std::byte* in, std::span<float> out) {
  to_f32(type, in, out);
}
void to_numbers(ValueType type, const std::byte* in, std::span<std::int64_t> out) {
  to_i64(type, in, out);
}

}  // namespace

Result<std::size_t> ArrayStream::read_values(std::span<std::byte> out) {
  QV_TRY(const std::size_t n_read, source_->read(out));
  const std::size_t n = n_read / bytes_per_value(layout_.type);
  if (layout_.order == ByteOrder::kBig) {
    swap_bytes(layout_.type, out.first(n * bytes_per_value(layout_.type)));
  }
  position_ += n;
  return n;
}

template <class T>
Result<std::size_t> ArrayStream::read_converted(std::span<T> out) {
  const std::size_t n_wanted =
      static_cast<std::size_t>(std::min<std::uint64_t>(out.size(), size() - position_));
  scratch_.resize(kValuesPerChunk * bytes_per_value(layout_.type));
  std::size_t n_read = 0;
  while (n_read < n_wanted) {
    const std::size_t n = std::min(kValuesPerChunk, n_wanted - n_read);
    QV_TRY(const std::size_t n_found,
           read_values(std::span(scratch_).first(n * bytes_per_value(layout_.type))));
    to_numbers(layout_.type, scratch_.data(), out.subspan(n_read, n_found));
    n_read += n_found;
    if (n_found < n) break;
  }
  return n_read;
}

Result<std::size_t> ArrayStream::read(std::span<float> out) {
  if (layout_.type != ValueType::kF32) return read_converted(out);
  const std::uint64_t n_left = size() - position_;
  return read_values(std::as_writable_bytes(
      out.first(static_cast<std::size_t>(std::min<std::uint64_t>(out.size(), n_left)))));
}

Result<std::size_t> ArrayStream::read(std::span<std::int64_t> out) { return read_converted(out); }

Result<std::size_t> ArrayStream::read(std::size_t n, std::vector<float>& out) {
  std::size_t n_read = 0;
  do {
    const std::size_t n_step = std::min(n - n_read, kMaxGrowthValues);
    out.resize(n_read + n_step);
    QV_TRY(const std::size_t n_found, read(std::span(out).subspan(n_read)));
    n_read += n_found;
    if (n_found < n_step) break;
  } while (n_read < n);
  out.resize(n_read);
  return n_read;
}

Result<> ArrayStream::skip_to(std::uint64_t value) {
  QV_TRY(source_->seek(byte_of(value)));
  position_ = value;
  return {};
}

Error ArrayStream::broken_off(std::uint64_t row, std::uint64_t value) const {
  return source_->error(
      Code::kDataLoss, row, byte_of(value),
      fmt::format("the file ends before value {}, wanted {} values", value, size()));
}

Result<> ArrayStream::check_size(std::uint64_t values_per_row) const {
  const auto found = source_->size();
  const std::uint64_t wanted = byte_of(size());
  if (!found || *found == wanted || (*found > wanted && !layout_.ends_file)) return {};
  if (*found > wanted) {
    return fail(source_->error(
        Code::kInvalidArgument, std::nullopt, wanted,
        fmt::format("wanted the end of the file, found {} bytes more", *found - wanted)));
  }
  std::optional<std::uint64_t> row;
  if (values_per_row > 0 && *found >= layout_.first_byte) {
    row = (*found - layout_.first_byte) / bytes_per_value(type()) / values_per_row;
  }
  return fail(source_->error(Code::kDataLoss, row, *found,
                             fmt::format("the file ends here, wanted {} bytes", wanted)));
}

Result<> ArrayStream::check_end() {
  if (!layout_.ends_file) return {};
  std::byte next;
  QV_TRY(const std::size_t n, source_->read(std::span(&next, 1)));
  if (n == 0) return {};
  return fail(source_->error(Code::kInvalidArgument, std::nullopt, byte_of(size()),
                             "wanted the end of the file, found more bytes"));
}

Result<NpyArray> open_npy(const std::string& path) {
  QV_TRY(std::unique_ptr<ByteSource> source, open_bytes(path));
  QV_TRY(NpyHeader header, read_npy_header(*source));
  ArrayLayout layout;
  layout.type = header.type;
  layout.first_byte = source->position();
  layout.n_values = 1;
  std::uint64_t n_bytes = 0;
  bool is_huge = false;
  for (const std::uint64_t n : header.shape) {
    is_huge |= __builtin_mul_overflow(layout.n_values, n, &layout.n_values);
  }
  is_huge |= __builtin_mul_overflow(layout.n_values, 8 * bytes_per_value(layout.type), &n_bytes);
  if (is_huge) {
    return fail(source->error(Code::kInvalidArgument, std::nullopt, 0,
                              "found shape " + shape_text(header.shape) + ", which no file holds"));
  }
  NpyArray array{ArrayStream(std::move(source), layout), std::move(header.shape)};
  const std::uint64_t n_rows = array.shape.empty() ? 1 : array.shape[0];
  QV_TRY(array.values.check_size(
      array.shape.size() < 2 ? 0 : layout.n_values / std::max<std::uint64_t>(n_rows, 1)));
  return array;
}

}  // namespace quiver::dataset
