#include <fmt/format.h>

#include "dataset/array_stream.h"
#include "dataset/hdf5.h"
#include "dataset/source_name.h"
#include "dataset/vecs_reader.h"
#include "dataset/vectors.h"

namespace quiver::dataset {
namespace {

constexpr std::size_t kChunkIds = std::size_t{1} << 16;

Result<Neighbours> load_npy(const std::string& path) {
  QV_TRY(NpyArray array, open_npy(path));
  if (array.shape.size() != 2 || array.shape[1] == 0 || !is_integer(array.values.type())) {
    return fail(
        Code::kInvalidArgument,
        fmt::format("{}: byte 0: found {} of shape {}, wanted integers of shape [queries, k]", path,
                    to_string(array.values.type()), shape_text(array.shape)));
  }
  Neighbours found;
  found.n_queries = static_cast<std::size_t>(array.shape[0]);
  found.k = static_cast<std::size_t>(array.shape[1]);
  while (array.values.position() < array.values.size()) {
    const std::size_t begin = found.ids.size();
    const auto n = std::min<std::uint64_t>(kChunkIds, array.values.size() - begin);
    found.ids.resize(begin + static_cast<std::size_t>(n));
    QV_TRY(const std::size_t n_read, array.values.read(std::span(found.ids).subspan(begin)));
    if (n_read < n) {
      return fail(array.values.broken_off((begin + n_read) / found.k, begin + n_read));
    }
  }
  QV_TRY(array.values.check_end());
  return found;
}

Result<Neighbours> load_vecs(const SourceName& name) {
  if (!is_integer(name.type)) {
    return fail(Code::kInvalidArgument,
                fmt::format("{}: holds {}, wanted ids: integers", name.path, to_string(name.type)));
  }
  QV_TRY(const std::unique_ptr<VecsReader> reader, VecsReader::open(name.path, name.type));
  Neighbours found;
  found.k = reader->shape().dim;
  std::vector<std::int64_t> rows;
  do {
    QV_TRY(const std::size_t n, reader->read(kChunkIds, rows));
    found.n_queries += n;
    found.ids.insert(found.ids.end(), rows.begin(), rows.end());
  } while (!rows.empty());
  return found;
}

Result<Neighbours> load_hdf5(const SourceName& name) {
  QV_TRY(const Hdf5Matrix matrix,
         Hdf5Matrix::open(name.path, name.dataset.empty() ? "neighbors" : name.dataset));
  if (!is_integer(matrix.type()) || matrix.n_columns() == 0) {
    return fail(
        Code::kInvalidArgument,
        fmt::format("{}: found {} of shape [{}, {}], wanted integers of shape [queries, k]",
                    matrix.name(), to_string(matrix.type()), matrix.n_rows(), matrix.n_columns()));
  }
  Neighbours found;
  found.n_queries = static_cast<std::size_t>(matrix.n_rows());
  found.k = static_cast<std::size_t>(matrix.n_columns());
  found.ids.resize(found.n_queries * found.k);
  QV_TRY(matrix.read(0, found.n_queries, found.ids.data()));
  return found;
}

}  // namespace

Result<Neighbours> load_neighbours(const std::string& source) {
  const SourceName name = parse_source(source);
  if (name.format == Format::kNpy) return load_npy(name.path);
  if (name.format == Format::kVecs) return load_vecs(name);
  if (name.format == Format::kHdf5) return load_hdf5(name);
  return fail(Code::kInvalidArgument,
              fmt::format("{}: wanted neighbours in .npy, .ivecs or .hdf5 (each also .zst or .gz)",
                          source));
}

}  // namespace quiver::dataset
