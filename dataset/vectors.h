// Files of vectors, read row by row or whole.
//
// One text names a source:
//
// - a path, with or without `.zst` or `.gz`: the file that exists is read (`existing_path`);
// - `FILE.hdf5:DATASET`;
// - the common prefix of a set of .npy files. `DIR/sparse` stands for `DIR/sparse.indptr.npy`,
//   `.indices.npy` and `.values.npy` (CSR). `DIR/tokens` stands for `DIR/tokens.indptr.npy` with
//   `DIR/tokens.values.npy` or `DIR/tokens.npy` (ragged).
//
// Formats: .npy; .fvecs, .ivecs, .bvecs; .fbin, .u8bin, .i8bin, .ibin; .csr; IDX.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/schema.h"

namespace quiver::dataset {

/// Type of a value in the file.
enum class ValueType : std::uint8_t {
  kF32,
  kF64,
  kF16,
  kU8,
  kI8,
  kI32,
  kI64,
  kU16,
  kI16,
  kU32,
  kU64,
};

struct VectorShape {
  FieldKind kind = FieldKind::kDense;
  ValueType type = ValueType::kF32;
  std::uint32_t dim = 0;  ///< dimension of a vector or token; sparse: of the space, 0 if unknown
  std::optional<std::uint64_t> n_rows;  ///< nullopt: the file does not say
};

/// Consecutive rows, as f32. One object can be reused for many reads.
struct VectorBatch {
  std::uint64_t first_row = 0;
  std::size_t n_rows = 0;
  std::vector<float> values;           ///< dense `[n_rows, dim]`, multi `[n_tokens, dim]`
  std::vector<std::uint64_t> offsets;  ///< sparse, multi: `[n_rows + 1]`, from 0
  std::vector<std::uint32_t> indices;  ///< sparse: ascending within a row, equal ones side by side

  void clear();
};

/// Returns an index that row `i` of a sparse batch has twice; nullopt if there is none.
[[nodiscard]] std::optional<std::uint32_t> repeated_index(const VectorBatch& batch, std::size_t i);

/// Reads forwards. One thread.
class VectorReader {
 public:
  virtual ~VectorReader() = default;

  [[nodiscard]] virtual const VectorShape& shape() const = 0;
  /// Number of the row that `read` returns next.
  [[nodiscard]] virtual std::uint64_t position() const = 0;
  /// Replaces `out` by up to `max_rows` rows, by 0 rows at the end. Fails (kDataLoss,
  /// kInvalidArgument) if the file breaks off or holds impossible values; the text names the file,
  /// the row and the byte offset.
  virtual Result<> read(std::size_t max_rows, VectorBatch& out) = 0;
  /// Returns how many of the next `max_rows` rows take at most `max_bytes` in a batch, at least 1.
  /// The end of the file is not considered.
  virtual Result<std::size_t> rows_within(std::size_t max_rows, std::uint64_t max_bytes);
  /// Continues at `row`, which is not before `position()`.
  virtual Result<> skip_to(std::uint64_t row) = 0;
};

/// Fails with kNotFound if there is no such file, with kInvalidArgument if it does not hold what
/// its name says, or not vectors of `kind`.
[[nodiscard]] Result<std::unique_ptr<VectorReader>> open_vectors(const std::string& source,
                                                                 FieldKind kind);

/// Rows [first, end) of a source.
struct RowRange {
  std::uint64_t first = 0;
  std::uint64_t end = UINT64_MAX;
};
/// Parses "1000:2000", "1000:", ":2000", or "" for all rows. Other texts are kInvalidArgument.
[[nodiscard]] Result<RowRange> parse_rows(std::string_view text);

/// All rows of a range, as f32. `batch.first_row` is the first row of the range.
struct Vectors {
  VectorShape shape;
  VectorBatch batch;

  [[nodiscard]] std::size_t n_rows() const { return batch.n_rows; }
};
/// Fails (kInvalidArgument) also if a sparse row has an index twice.
[[nodiscard]] Result<Vectors> load_vectors(const std::string& source, FieldKind kind,
                                           RowRange rows = {});

/// Ids of the true nearest neighbours, `[n_queries, k]`.
struct GroundTruth {
  std::size_t n_queries = 0;
  std::size_t k = 0;
  std::vector<std::int64_t> ids;
};
/// Reads .npy (integers), .ivecs, or HDF5 (`neighbors` if no data set is named). Files with any
/// other ending are read as in big-ann-benchmarks: u32 queries, u32 k, i32 ids, and optional f32
/// distances, which are ignored.
[[nodiscard]] Result<GroundTruth> load_neighbours(const std::string& source);

}  // namespace quiver::dataset
