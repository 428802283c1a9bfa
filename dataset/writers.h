// Writers of new files of vectors and lines. `dataset/vectors.h` and `dataset/streams/lines.h` read
// them.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/schema.h"
#include "dataset/streams/byte_sink.h"
#include "dataset/vectors.h"

namespace quiver::dataset {

struct WriteOptions {
  FieldKind kind = FieldKind::kDense;
  DType dtype = DType::kF32;  ///< sparse: kF32 or kF16
  std::uint32_t dim = 0;      ///< dense, multi: at least 1
  IfExists if_exists = IfExists::kFail;
};

/// Writes forwards, with bounded memory. One thread.
class VectorWriter {
 public:
  virtual ~VectorWriter() = default;

  /// Appends the rows; `first_row` is ignored. Fails with kInvalidArgument if the rows do not have
  /// the writer's shape or a value does not fit its type, with kResourceExhausted if the disk is
  /// full.
  virtual Result<> write(const VectorBatch& rows) = 0;
  /// Syncs everything to disk and gives the files their names. Must be the last call; without it,
  /// no file remains.
  virtual Result<> finish() = 0;
};

/// For dense vectors, `destination` is a path that ends in `.npy`; for sparse and multi-vectors,
/// the prefix of the files of a set. With `.zst` at its end, indices and values are compressed.
/// Fails with kAlreadyExists, or with kInvalidArgument for other names.
[[nodiscard]] Result<std::unique_ptr<VectorWriter>> create_vectors(const std::string& destination,
                                                                   const WriteOptions& options);

/// Writes JSON lines, compressed if the name ends in `.zst`. One thread.
class LineWriter {
 public:
  [[nodiscard]] static Result<LineWriter> create(const std::string& path, IfExists if_exists);

  /// `line` must not contain "\n"; one is added.
  Result<> write(std::string_view line);
  /// Like `VectorWriter::finish`.
  Result<> finish() { return sink_->finish(); }

 private:
  explicit LineWriter(std::unique_ptr<ByteSink> sink) : sink_(std::move(sink)) {}

  std::unique_ptr<ByteSink> sink_;
};

}  // namespace quiver::dataset
