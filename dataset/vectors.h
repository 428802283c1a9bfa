// Vectors in files: what a file holds, and reading it row by row or whole.
//
// A source is named by one text: a path, with or without `.zst` or `.gz`, whichever of these files
// is there (`existing_path`); for a CSR or ragged set
// of .npy files the prefix they share (`DIR/sparse` stands for `DIR/sparse.indptr.npy`,
// `.indices.npy` and `.values.npy`; `DIR/tokens` for `DIR/tokens.indptr.npy` with `.values.npy`, or
// with `DIR/tokens.npy`); for HDF5 `FILE.hdf5:DATASET`. The formats: .npy; .fvecs, .ivecs, .bvecs;
// .fbin, .u8bin, .i8bin, .ibin; .csr; IDX.
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

/// How values lie in the file.
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
  std::uint32_t dim = 0;                ///< per vector or token; sparse: of the space, 0 if unknown
  std::optional<std::uint64_t> n_rows;  ///< nullopt: the file does not say
};

/// Consecutive rows, as f32. Reused from read to read.
struct VectorBatch {
  std::uint64_t first_row = 0;
  std::size_t n_rows = 0;
  std::vector<float> values;           ///< dense `[n_rows, dim]`, multi `[n_tokens, dim]`
  std::vector<std::uint64_t> offsets;  ///< sparse, multi: `[n_rows + 1]`, from 0
  std::vector<std::uint32_t> indices;  ///< sparse: rising within a row, equal ones side by side

  void clear();
};

/// An index that row `i` of a sparse batch has twice; nullopt if there is none.
[[nodiscard]] std::optional<std::uint32_t> repeated_index(const VectorBatch& batch, std::size_t i);

/// Reads forwards. One thread.
class VectorReader {
 public:
  virtual ~VectorReader() = default;

  [[nodiscard]] virtual const VectorShape& shape() const = 0;
  /// The row that `read` gives next.
  [[nodiscard]] virtual std::uint64_t position() const = 0;
  /// Replaces `out` by up to `max_rows` rows; 0 of them at the end. A file that breaks off, or
  /// holds what it cannot hold, is kDataLoss or kInvalidArgument; the text names the file, the row
  /// and the byte offset.
  virtual Result<> read(std::size_t max_rows, VectorBatch& out) = 0;
  /// How many of the next `max_rows` rows take no more than `max_bytes` in a batch, one at least.
  /// Where the file ends does not count.
  virtual Result<std::size_t> rows_within(std::size_t max_rows, std::uint64_t max_bytes);
  /// Goes on at `row`, which is not before `position()`.
  virtual Result<> skip_to(std::uint64_t row) = 0;
};

/// kNotFound if there is no such file; kInvalidArgument if it holds something else than its name
/// says, or another kind than `kind`.
[[nodiscard]] Result<std::unique_ptr<VectorReader>> open_vectors(const std::string& source,
                                                                 FieldKind kind);

/// Rows [first, end) of a source.
struct RowRange {
  std::uint64_t first = 0;
  std::uint64_t end = UINT64_MAX;
};
/// "1000:2000", "1000:", ":2000" or "" for all. kInvalidArgument otherwise.
[[nodiscard]] Result<RowRange> parse_rows(std::string_view text);

/// All rows of a range, as f32. `batch.first_row` is the range's first. A sparse row that has an
/// index twice is kInvalidArgument.
struct Vectors {
  VectorShape shape;
  VectorBatch batch;

  [[nodiscard]] std::size_t n_rows() const { return batch.n_rows; }
};
[[nodiscard]] Result<Vectors> load_vectors(const std::string& source, FieldKind kind,
                                           RowRange rows = {});

/// Ids of a ground truth, `[n_queries, k]`, from .npy (integers), .ivecs, HDF5 (`neighbors` if no
/// data set is named), or of any other ending as in big-ann-benchmarks: u32 queries, u32 k, the ids
/// (i32), and maybe the distances (f32), which are passed over.
struct Neighbours {
  std::size_t n_queries = 0;
  std::size_t k = 0;
  std::vector<std::int64_t> ids;
};
[[nodiscard]] Result<Neighbours> load_neighbours(const std::string& source);

}  // namespace quiver::dataset
