#include "dataset/vectors.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>

#include "dataset/formats/hdf5.h"
#include "dataset/formats/matrix_reader.h"
#include "dataset/formats/set_reader.h"
#include "dataset/formats/vecs_reader.h"
#include "dataset/source_name.h"
#include "dataset/streams/byte_source.h"

namespace quiver::dataset {
namespace {

constexpr std::size_t kRowsPerRead = 4096;
// Memory is not reserved for more values: the header of a damaged or compressed file may lie.
constexpr std::uint64_t kMaxReservedValues = std::uint64_t{1} << 30;

std::string_view to_string(FieldKind kind) {
  return kind == FieldKind::kDense ? "dense" : kind == FieldKind::kSparse ? "sparse" : "multi";
}

bool has_part(const std::string& prefix, std::string_view part) {
  return existing_path(fmt::format("{}.{}", prefix, part)).has_value();
}

/// Files of a set that exist, and the first missing one.
struct SetParts {
  std::vector<std::string> found;
  std::string missing;
};

SetParts parts_of(const std::string& prefix, FieldKind kind) {
  SetParts parts;
  for (const std::string_view part : {"indptr.npy", "indices.npy", "values.npy"}) {
    const bool is_of_sparse = part == "indices.npy";
    const bool is_tokens = kind == FieldKind::kMulti && part == "values.npy";
    if (has_part(prefix, part)) {
      parts.found.push_back(fmt::format("{}.{}", prefix, part));
    } else if (is_tokens && has_part(prefix, "npy")) {
      parts.found.push_back(prefix + ".npy");
    } else if (parts.missing.empty() && !(is_of_sparse && kind == FieldKind::kMulti)) {
      parts.missing = fmt::format("{}.{}", prefix, part);
    }
  }
  return parts;
}

Result<> check_set(const std::string& path, const std::string& prefix, FieldKind kind) {
  const SetParts parts = parts_of(prefix, kind);
  if (parts.found.empty()) {
    return fail(Code::kNotFound,
                fmt::format("{}: found neither this file nor {}.indptr.npy; wanted a name with {}, "
                            "or the prefix of a sparse or multi-vector set",
                            path, prefix, kKnownEndings));
  }
  if (kind == FieldKind::kDense) {
    return fail(Code::kInvalidArgument,
                fmt::format("{}: found {}, of a set of sparse or multi-vectors, wanted a file of "
                            "dense ones",
                            path, fmt::join(parts.found, " and ")));
  }
  if (parts.missing.empty()) return {};
  return fail(Code::kNotFound,
              fmt::format("{}: found {}, but not {}, which a set of {} vectors has", path,
                          fmt::join(parts.found, " and "), parts.missing, to_string(kind)));
}

Result<std::unique_ptr<VectorReader>> open_prefix(const std::string& path, FieldKind kind) {
  const std::string prefix(unpacked_name(path));
  if (kind == FieldKind::kDense && existing_path(path)) {
    return fail(Code::kInvalidArgument,
                fmt::format("{}: no known format; a name ends with {}", path, kKnownEndings));
  }
  QV_TRY(check_set(path, prefix, kind));
  return kind == FieldKind::kSparse ? open_npy_sparse(prefix) : open_npy_multi(prefix);
}

Result<std::unique_ptr<VectorReader>> open_named(const SourceName& name, FieldKind kind) {
  switch (name.format) {
    case Format::kNpy:
      return open_npy_matrix(name.path);
    case Format::kVecs:
      return VecsReader::open(name.path, name.type);
    case Format::kBin:
      return open_bin_matrix(name.path, name.type);
    case Format::kIdx:
      return open_idx_matrix(name.path);
    case Format::kCsr:
      return open_csr(name.path);
    case Format::kHdf5:
      return open_hdf5_vectors(name.path, name.dataset);
    case Format::kPrefix:
      break;
  }
  return open_prefix(name.path, kind);
}

FieldKind kind_of(Format format, FieldKind wanted) {
  if (format == Format::kPrefix) return wanted;
  return format == Format::kCsr ? FieldKind::kSparse : FieldKind::kDense;
}

/// Appends the rows of `from`, which come next.
void append(VectorBatch& to, const VectorBatch& from) {
  to.values.insert(to.values.end(), from.values.begin(), from.values.end());
  to.indices.insert(to.indices.end(), from.indices.begin(), from.indices.end());
  if (!from.offsets.empty()) {
    if (to.offsets.empty()) to.offsets.push_back(0);
    const std::uint64_t base = to.offsets.back();
    for (std::size_t i = 1; i < from.offsets.size(); ++i) {
      to.offsets.push_back(base + from.offsets[i]);
    }
  }
  to.n_rows += from.n_rows;
}

/// Reserves memory for the rows of a dense source of known size.
void reserve(Vectors& vectors, RowRange rows) {
  if (vectors.shape.kind != FieldKind::kDense || !vectors.shape.n_rows) return;
  const std::uint64_t end = std::min(rows.end, *vectors.shape.n_rows);
  const std::uint64_t n_rows = end - std::min(rows.first, end);
  const std::uint64_t n_values = std::min(n_rows, kMaxReservedValues) * vectors.shape.dim;
  vectors.batch.values.reserve(static_cast<std::size_t>(std::min(n_values, kMaxReservedValues)));
}

Result<> check_range(const std::string& source, const VectorShape& shape, RowRange rows) {
  if (rows.end == UINT64_MAX || !shape.n_rows || rows.end <= *shape.n_rows) return {};
  return fail(no_such_row(source, rows.end - 1, *shape.n_rows));
}

Result<> check_distinct(const std::string& source, const VectorBatch& batch) {
  for (std::size_t i = 0; i < batch.n_rows; ++i) {
    const auto index = repeated_index(batch, i);
    if (!index) continue;
    return fail(Code::kInvalidArgument,
                fmt::format("{} row {}: found index {} twice, wanted each once", source,
                            batch.first_row + i, *index));
  }
  return {};
}

}  // namespace

Result<std::size_t> VectorReader::rows_within(std::size_t max_rows, std::uint64_t max_bytes) {
  const std::uint64_t n = max_bytes / (shape().dim * sizeof(float));
  return std::min<std::size_t>(max_rows, std::max<std::uint64_t>(n, 1));
}

void VectorBatch::clear() {
  first_row = 0;
  n_rows = 0;
  values.clear();
  offsets.clear();
  indices.clear();
}

std::optional<std::uint32_t> repeated_index(const VectorBatch& batch, std::size_t i) {
  const auto row =
      std::span(batch.indices).subspan(batch.offsets[i], batch.offsets[i + 1] - batch.offsets[i]);
  const auto found = std::ranges::adjacent_find(row);
  return found == row.end() ? std::nullopt : std::optional(*found);
}

Result<std::unique_ptr<VectorReader>> open_vectors(const std::string& source, FieldKind kind) {
  const SourceName name = parse_source(source);
  const FieldKind found = kind_of(name.format, kind);
  if (found != kind) {
    return fail(Code::kInvalidArgument,
                fmt::format("{}: holds {} vectors, wanted {} ones{}", source, to_string(found),
                            to_string(kind),
                            kind == FieldKind::kDense
                                ? ""
                                : ": a set of .npy files is named by the prefix they share"));
  }
  return open_named(name, kind);
}

Result<RowRange> parse_rows(std::string_view text) {
  RowRange range;
  if (text.empty()) return range;
  const char* const end = text.data() + text.size();
  const char* next = text.data();
  bool is_good = true;
  const auto read = [&](std::uint64_t& value) {
    if (next == end || *next == ':') return;
    const auto result = std::from_chars(next, end, value);
    is_good &= result.ec == std::errc();
    next = result.ptr;
  };
  read(range.first);
  is_good &= next != end && *next == ':';
  if (is_good) ++next;
  if (is_good) read(range.end);
  if (is_good && next == end && range.first < range.end) return range;
  return fail(
      Code::kInvalidArgument,
      fmt::format("rows `{}`: wanted FIRST:END with FIRST below END; either may be left out",
                  text));
}

Result<Vectors> load_vectors(const std::string& source, FieldKind kind, RowRange rows) {
  QV_TRY(const std::unique_ptr<VectorReader> reader, open_vectors(source, kind));
  Vectors vectors;
  vectors.shape = reader->shape();
  QV_TRY(check_range(source, vectors.shape, rows));
  QV_TRY(reader->skip_to(rows.first));
  reserve(vectors, rows);
  vectors.batch.first_row = rows.first;
  if (kind != FieldKind::kDense) vectors.batch.offsets.assign(1, 0);
  VectorBatch batch;
  while (reader->position() < rows.end) {
    const std::uint64_t n_left = rows.end - reader->position();
    QV_TRY(reader->read(static_cast<std::size_t>(std::min<std::uint64_t>(n_left, kRowsPerRead)),
                        batch));
    if (batch.n_rows == 0) break;
    if (kind == FieldKind::kSparse) QV_TRY(check_distinct(source, batch));
    append(vectors.batch, batch);
  }
  if (rows.end != UINT64_MAX && reader->position() < rows.end) {
    return fail(no_such_row(source, rows.end - 1, reader->position()));
  }
  return vectors;
}

}  // namespace quiver::dataset
