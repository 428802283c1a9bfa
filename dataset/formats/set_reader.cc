#include "dataset/formats/set_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <tuple>

#include "dataset/formats/matrix_reader.h"
#include "dataset/streams/byte_source.h"

namespace quiver::dataset {
namespace {

constexpr std::int64_t kMaxDimSparse = (std::int64_t{1} << 32) - 1;
constexpr std::size_t kChunkIndices = std::size_t{1} << 15;

/// Row of `batch` with entry number `entry`.
std::uint64_t row_of(const VectorBatch& batch, std::uint64_t entry) {
  const auto after = std::ranges::upper_bound(batch.offsets, entry);
  return batch.first_row + static_cast<std::uint64_t>(after - batch.offsets.begin()) - 1;
}

/// PREFIX.NAME.npy, plain or compressed.
std::string member(const std::string& prefix, std::string_view name) {
  return fmt::format("{}.{}.npy", prefix, name);
}

/// Tokens of a ragged set: PREFIX.values.npy or, if there is none, PREFIX.npy.
std::string values_of_tokens(const std::string& prefix) {
  const std::string values = prefix + ".values.npy";
  return existing_path(values) ? values : existing_path(prefix + ".npy").value_or(values);
}

Result<> check_list(const NpyArray& array, std::string_view wanted) {
  if (array.shape.size() == 1) return {};
  return fail(Code::kInvalidArgument,
              fmt::format("{}: byte 0: found shape {}, wanted {}", array.values.path(),
                          shape_text(array.shape), wanted));
}

struct CsrHeader {
  std::int64_t n_rows, n_columns, n_entries;
};

Result<CsrHeader> read_csr_header(ByteSource& source) {
  std::array<std::int64_t, 3> header;
  QV_TRY(const std::size_t n_read, source.read(std::as_writable_bytes(std::span(header))));
  if (n_read < sizeof(header)) {
    return fail(source.error(Code::kDataLoss, std::nullopt, n_read,
                             "the file ends within its header of 24 bytes"));
  }
  constexpr std::int64_t kLimit = std::int64_t{1} << 48;
  for (std::size_t i = 0; i < 3; ++i) {
    const std::int64_t least = i == 1 ? 1 : 0;
    const std::int64_t limit = i == 1 ? kMaxDimSparse : kLimit;
    if (header[i] >= least && header[i] <= limit) continue;
    constexpr std::string_view kNames[] = {"rows", "columns", "entries"};
    return fail(source.error(
        Code::kInvalidArgument, std::nullopt, i * 8,
        fmt::format("found {} {}, wanted {} to {}", header[i], kNames[i], least, limit)));
  }
  return CsrHeader{header[0], header[1], header[2]};
}

Result<ArrayStream> open_part(const std::string& path, ArrayLayout layout) {
  QV_TRY(std::unique_ptr<ByteSource> source, open_bytes(path));
  ArrayStream part(std::move(source), layout);
  QV_TRY(part.skip_to(0));
  return part;
}

}  // namespace

SparseReader::SparseReader(RowOffsets offsets, ArrayStream indices, ArrayStream values,
                           std::uint32_t dim)
    : offsets_(std::move(offsets)),
      indices_(std::move(indices)),
      values_(std::move(values)),
      shape_{FieldKind::kSparse, values_.type(), dim, offsets_.n_rows()} {}

Result<> SparseReader::read(std::size_t max_rows, VectorBatch& out) {
  out.first_row = offsets_.row();
  QV_TRY(out.n_rows, offsets_.read(max_rows, out.offsets));
  QV_TRY(read_indices(out));
  const auto n = static_cast<std::size_t>(out.offsets.back());
  QV_TRY(const std::size_t n_read, values_.read(n, out.values));
  if (n_read < n) return fail(values_.broken_off(row_of(out, n_read), values_.position()));
  sort_rows(out);
  if (offsets_.row() < *shape_.n_rows) return {};
  QV_TRY(indices_.check_end());
  return values_.check_end();
}

Result<> SparseReader::append_indices(std::span<const std::int64_t> found, VectorBatch& out) const {
  const std::int64_t end = shape_.dim == 0 ? kMaxDimSparse : std::int64_t{shape_.dim};
  for (const std::int64_t& index : found) {
    if (index < 0 || index >= end) {
      const std::uint64_t entry =
          indices_.position() - found.size() + static_cast<std::uint64_t>(&index - found.data());
      return fail(indices_.error(Code::kInvalidArgument, row_of(out, out.indices.size()), entry,
                                 fmt::format("found index {}, wanted 0 to {}", index, end - 1)));
    }
    out.indices.push_back(static_cast<std::uint32_t>(index));
  }
  return {};
}

/// Sorts each row by index: files of other programs have entries in any order.
void SparseReader::sort_rows(VectorBatch& batch) {
  for (std::size_t row = 0; row < batch.n_rows; ++row) {
    const std::size_t first = batch.offsets[row];
    const auto indices = std::span(batch.indices).subspan(first, batch.offsets[row + 1] - first);
    if (std::ranges::is_sorted(indices)) continue;
    const auto values = std::span(batch.values).subspan(first, indices.size());
    entries_.clear();
    for (std::size_t i = 0; i < indices.size(); ++i) {
      entries_.emplace_back(indices[i], values[i]);
    }
    std::ranges::stable_sort(entries_, {}, &std::pair<std::uint32_t, float>::first);
    for (std::size_t i = 0; i < indices.size(); ++i) {
      std::tie(indices[i], values[i]) = entries_[i];
    }
  }
}

Result<> SparseReader::read_indices(VectorBatch& out) {
  const auto n = static_cast<std::size_t>(out.offsets.back());
  out.indices.clear();
  scratch_.resize(kChunkIndices);
  while (out.indices.size() < n) {
    const auto chunk = std::span(scratch_).first(std::min(kChunkIndices, n - out.indices.size()));
    QV_TRY(const std::size_t n_read, indices_.read(chunk));
    QV_TRY(append_indices(chunk.first(n_read), out));
    if (n_read < chunk.size()) {
      return fail(indices_.broken_off(row_of(out, out.indices.size()), indices_.position()));
    }
  }
  return {};
}

Result<> SparseReader::skip_to(std::uint64_t row) {
  QV_TRY(offsets_.skip_to(row));
  QV_TRY(indices_.skip_to(offsets_.first_entry()));
  return values_.skip_to(offsets_.first_entry());
}

MultiReader::MultiReader(RowOffsets offsets, ArrayStream values, std::uint32_t dim)
    : offsets_(std::move(offsets)),
      values_(std::move(values)),
      shape_{FieldKind::kMulti, values_.type(), dim, offsets_.n_rows()} {}

Result<> MultiReader::read(std::size_t max_rows, VectorBatch& out) {
  out.first_row = offsets_.row();
  out.indices.clear();
  QV_TRY(out.n_rows, offsets_.read(max_rows, out.offsets));
  const auto n = static_cast<std::size_t>(out.offsets.back() * shape_.dim);
  QV_TRY(const std::size_t n_read, values_.read(n, out.values));
  if (n_read < n) {
    return fail(values_.broken_off(row_of(out, n_read / shape_.dim), values_.position()));
  }
  return offsets_.row() < *shape_.n_rows ? Result<>() : values_.check_end();
}

Result<> MultiReader::skip_to(std::uint64_t row) {
  QV_TRY(offsets_.skip_to(row));
  return values_.skip_to(offsets_.first_entry() * shape_.dim);
}

Result<std::unique_ptr<VectorReader>> open_npy_sparse(const std::string& prefix) {
  QV_TRY(ArrayStream offsets, open_npy_offsets(member(prefix, "indptr")));
  QV_TRY(NpyArray indices, open_npy(member(prefix, "indices")));
  QV_TRY(NpyArray values, open_npy(member(prefix, "values")));
  QV_TRY(check_list(indices, "[entries]"));
  QV_TRY(check_list(values, "[entries]"));
  if (!is_integer(indices.values.type())) {
    return fail(Code::kInvalidArgument,
                fmt::format("{}: byte 0: found {}, wanted integers", indices.values.path(),
                            to_string(indices.values.type())));
  }
  if (indices.shape != values.shape) {
    return fail(Code::kInvalidArgument,
                fmt::format("{}: byte 0: found {} values, wanted one for each of the {} of {}",
                            values.values.path(), values.shape[0], indices.shape[0],
                            indices.values.path()));
  }
  return std::make_unique<SparseReader>(RowOffsets(std::move(offsets), indices.shape[0]),
                                        std::move(indices.values), std::move(values.values), 0);
}

Result<std::unique_ptr<VectorReader>> open_npy_multi(const std::string& prefix) {
  QV_TRY(ArrayStream offsets, open_npy_offsets(member(prefix, "indptr")));
  QV_TRY(NpyArray values, open_npy(values_of_tokens(prefix)));
  const std::uint64_t dim = values.shape.size() == 2 ? values.shape[1] : 0;
  if (dim < 1 || dim > kMaxDim) {
    return fail(Code::kInvalidArgument,
                fmt::format("{}: byte 0: found shape {}, wanted [tokens, dimension] with a "
                            "dimension from 1 to {}",
                            values.values.path(), shape_text(values.shape), kMaxDim));
  }
  return std::make_unique<MultiReader>(RowOffsets(std::move(offsets), values.shape[0]),
                                       std::move(values.values), static_cast<std::uint32_t>(dim));
}

Result<std::unique_ptr<VectorReader>> open_csr(const std::string& path) {
  QV_TRY(std::unique_ptr<ByteSource> source, open_bytes(path));
  QV_TRY(const CsrHeader header, read_csr_header(*source));
  const auto n_rows = static_cast<std::uint64_t>(header.n_rows);
  const auto n_entries = static_cast<std::uint64_t>(header.n_entries);
  const std::uint64_t indices_byte = sizeof(CsrHeader) + (n_rows + 1) * sizeof(std::int64_t);
  const std::uint64_t values_byte = indices_byte + n_entries * sizeof(std::int32_t);
  constexpr ByteOrder kOrder = ByteOrder::kLittle;
  QV_TRY(ArrayStream offsets,
         open_part(path, {ValueType::kI64, kOrder, sizeof(CsrHeader), n_rows + 1, false}));
  QV_TRY(ArrayStream indices,
         open_part(path, {ValueType::kI32, kOrder, indices_byte, n_entries, false}));
  QV_TRY(ArrayStream values,
         open_part(path, {ValueType::kF32, kOrder, values_byte, n_entries, true}));
  QV_TRY(values.check_size(0));
  return std::make_unique<SparseReader>(RowOffsets(std::move(offsets), n_entries),
                                        std::move(indices), std::move(values),
                                        static_cast<std::uint32_t>(header.n_columns));
}

}  // namespace quiver::dataset
