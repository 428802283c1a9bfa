#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <string_view>

#include "dataset/formats/array_stream.h"
#include "dataset/formats/hdf5.h"
#include "dataset/formats/matrix_reader.h"
#include "dataset/formats/vecs_reader.h"
#include "dataset/source_name.h"
#include "dataset/vectors.h"

namespace quiver::dataset {
namespace {

constexpr std::size_t kIdsPerRead = std::size_t{1} << 16;

constexpr std::size_t kBinHeaderBytes = 8;
constexpr std::string_view kWantedFormats =
    "wanted neighbours in .npy, .ivecs, .hdf5 (each also .zst or .gz), or as in "
    "big-ann-benchmarks: u32 queries, u32 k, i32 ids, maybe f32 distances";

/// Reads the next `n` values, `found.k` for each query. Memory grows with the values read, so a
/// wrong `n` does no harm.
Result<> read_ids(ArrayStream& values, std::uint64_t n, GroundTruth& found) {
  while (found.ids.size() < n) {
    const std::size_t begin = found.ids.size();
    const auto n_chunk = std::min<std::uint64_t>(kIdsPerRead, n - begin);
    found.ids.resize(begin + static_cast<std::size_t>(n_chunk));
    QV_TRY(const std::size_t n_read, values.read(std::span(found.ids).subspan(begin)));
    if (n_read < n_chunk) {
      return fail(values.broken_off((begin + n_read) / found.k, begin + n_read));
    }
  }
  return {};
}

Result<GroundTruth> load_npy(const std::string& path) {
  QV_TRY(NpyArray array, open_npy(path));
  if (array.shape.size() != 2 || array.shape[1] == 0 || !is_integer(array.values.type())) {
    return fail(
        Code::kInvalidArgument,
        fmt::format("{}: byte 0: found {} of shape {}, wanted integers of shape [queries, k]", path,
                    to_string(array.values.type()), shape_text(array.shape)));
  }
  GroundTruth found;
  found.n_queries = static_cast<std::size_t>(array.shape[0]);
  found.k = static_cast<std::size_t>(array.shape[1]);
  QV_TRY(read_ids(array.values, array.values.size(), found));
  QV_TRY(array.values.check_end());
  return found;
}

/// big-ann-benchmarks: u32 queries, u32 k, the ids (i32), then as many distances (f32) or nothing.
Result<GroundTruth> load_bin(const std::string& path) {
  QV_TRY(std::unique_ptr<ByteSource> source, open_bytes(path));
  std::array<std::uint32_t, 2> header{};
  QV_TRY(const std::size_t n_read, source->read(std::as_writable_bytes(std::span(header))));
  const auto [n_queries, k] = header;
  if (n_read < kBinHeaderBytes || k < 1 || k > kMaxDim) {
    return fail(
        source->error(Code::kInvalidArgument, std::nullopt, 0,
                      fmt::format("found {} ids for each query, wanted 1 to {}; ", k, kMaxDim) +
                          std::string(kWantedFormats)));
  }
  const std::uint64_t n_ids = std::uint64_t{n_queries} * k;
  const auto size = source->size();
  const bool has_ids_only = size == kBinHeaderBytes + 4 * n_ids;
  if (size && !has_ids_only && *size != kBinHeaderBytes + 8 * n_ids) {
    return fail(source->error(
        Code::kDataLoss, std::nullopt, *size,
        fmt::format("found {} bytes, wanted {} for {} queries with {} ids (i32), or {} with as "
                    "many distances; {}",
                    *size, kBinHeaderBytes + 4 * n_ids, n_queries, k, kBinHeaderBytes + 8 * n_ids,
                    kWantedFormats)));
  }
  ArrayStream values(std::move(source), {ValueType::kI32, ByteOrder::kLittle, kBinHeaderBytes,
                                         has_ids_only ? n_ids : 2 * n_ids, true});
  GroundTruth found;
  found.n_queries = n_queries;
  found.k = k;
  QV_TRY(read_ids(values, n_ids, found));
  if (size) return found;
  // The size of a compressed file is known only at its end.
  std::vector<float> distances;
  QV_TRY(const std::size_t n_distances, values.read(static_cast<std::size_t>(n_ids), distances));
  if (n_distances == 0) return found;
  if (n_distances < n_ids) return fail(values.broken_off(n_distances / k, values.position()));
  QV_TRY(values.check_end());
  return found;
}

Result<GroundTruth> load_vecs(const SourceName& name) {
  if (!is_integer(name.type)) {
    return fail(Code::kInvalidArgument,
                fmt::format("{}: holds {}, wanted ids: integers", name.path, to_string(name.type)));
  }
  QV_TRY(const std::unique_ptr<VecsReader> reader, VecsReader::open(name.path, name.type));
  GroundTruth found;
  found.k = reader->shape().dim;
  std::vector<std::int64_t> rows;
  do {
    QV_TRY(const std::size_t n, reader->read(kIdsPerRead, rows));
    found.n_queries += n;
    found.ids.insert(found.ids.end(), rows.begin(), rows.end());
  } while (!rows.empty());
  return found;
}

Result<GroundTruth> load_hdf5(const SourceName& name) {
  QV_TRY(const Hdf5Matrix matrix,
         Hdf5Matrix::open(name.path, name.dataset.empty() ? "neighbors" : name.dataset));
  if (!is_integer(matrix.type()) || matrix.n_columns() == 0) {
    return fail(
        Code::kInvalidArgument,
        fmt::format("{}: found {} of shape [{}, {}], wanted integers of shape [queries, k]",
                    matrix.name(), to_string(matrix.type()), matrix.n_rows(), matrix.n_columns()));
  }
  GroundTruth found;
  found.n_queries = static_cast<std::size_t>(matrix.n_rows());
  found.k = static_cast<std::size_t>(matrix.n_columns());
  found.ids.resize(found.n_queries * found.k);
  QV_TRY(matrix.read(0, found.n_queries, found.ids.data()));
  return found;
}

}  // namespace

Result<GroundTruth> load_neighbours(const std::string& source) {
  const SourceName name = parse_source(source);
  if (name.format == Format::kNpy) return load_npy(name.path);
  if (name.format == Format::kVecs) return load_vecs(name);
  if (name.format == Format::kHdf5) return load_hdf5(name);
  // Files of big-ann-benchmarks end in .ibin, .bin, .gt or nothing; header and size identify them.
  const bool may_be_bin = name.format == Format::kPrefix ||
                          (name.format == Format::kBin && name.type == ValueType::kI32);
  if (may_be_bin) return load_bin(name.path);
  return fail(Code::kInvalidArgument, fmt::format("{}: {}", source, kWantedFormats));
}

}  // namespace quiver::dataset
