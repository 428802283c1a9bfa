#include "dataset/writers.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "base/io/file.h"
#include "dataset/formats/npy_writer.h"
#include "dataset/source_name.h"
#include "dataset/streams/byte_source.h"

namespace quiver::dataset {
namespace {

/// Types that .npy files lack are written as f32, which holds what they stand for.
ValueType value_type_of(DType dtype) {
  return dtype == DType::kF16  ? ValueType::kF16
         : dtype == DType::kU8 ? ValueType::kU8
                               : ValueType::kF32;
}

tl::unexpected<Error> misshapen(const VectorBatch& rows, std::string_view wanted) {
  return fail(
      Code::kInvalidArgument,
      fmt::format("found {} rows with {} offsets, {} indices and {} values, wanted {}", rows.n_rows,
                  rows.offsets.size(), rows.indices.size(), rows.values.size(), wanted));
}

class DenseWriter final : public VectorWriter {
 public:
  DenseWriter(NpyWriter values, std::uint32_t dim) : values_(std::move(values)), dim_(dim) {}

  Result<> write(const VectorBatch& rows) override {
    if (rows.values.size() == rows.n_rows * dim_) return values_.append(std::span(rows.values));
    return misshapen(rows, fmt::format("{} values a row", dim_));
  }
  Result<> finish() override { return values_.finish(); }

 private:
  NpyWriter values_;
  std::uint32_t dim_;
};

/// Writes the offsets of rows. Each batch counts its offsets from 0.
class OffsetsWriter {
 public:
  [[nodiscard]] static Result<OffsetsWriter> create(const std::string& path, IfExists if_exists) {
    QV_TRY(NpyWriter file, NpyWriter::create(path, ValueType::kI64, 0, if_exists));
    OffsetsWriter writer(std::move(file));
    QV_TRY(writer.append(0));
    return writer;
  }

  Result<> write(const VectorBatch& rows) {
    const std::int64_t base = last_;
    for (std::size_t i = 1; i < rows.offsets.size(); ++i) {
      QV_TRY(append(base + static_cast<std::int64_t>(rows.offsets[i])));
    }
    return {};
  }
  Result<> finish() { return file_.finish(); }

 private:
  explicit OffsetsWriter(NpyWriter file) : file_(std::move(file)) {}
  Result<> append(std::int64_t offset) {
    last_ = offset;
    return file_.append(std::as_bytes(std::span(&offset, 1)));
  }

  NpyWriter file_;
  std::int64_t last_ = 0;
};

bool has_offsets(const VectorBatch& rows) {
  return rows.offsets.size() == rows.n_rows + 1 && rows.offsets[0] == 0 &&
         std::ranges::is_sorted(rows.offsets);
}

/// The offsets get their name last, so a set with offsets is complete.
class SparseWriter final : public VectorWriter {
 public:
  SparseWriter(OffsetsWriter offsets, NpyWriter indices, NpyWriter values)
      : offsets_(std::move(offsets)), indices_(std::move(indices)), values_(std::move(values)) {}

  Result<> write(const VectorBatch& rows) override {
    if (!has_offsets(rows) || rows.values.size() != rows.offsets.back() ||
        rows.indices.size() != rows.values.size()) {
      return misshapen(rows, "offsets for each row and one more, and an index for each value");
    }
    QV_TRY(values_.append(std::span(rows.values)));
    QV_TRY(indices_.append(std::as_bytes(std::span(rows.indices))));
    return offsets_.write(rows);
  }
  Result<> finish() override {
    QV_TRY(values_.finish());
    QV_TRY(indices_.finish());
    return offsets_.finish();
  }

 private:
  OffsetsWriter offsets_;
  NpyWriter indices_;
  NpyWriter values_;
};

class MultiWriter final : public VectorWriter {
 public:
  MultiWriter(OffsetsWriter offsets, NpyWriter values, std::uint32_t dim)
      : offsets_(std::move(offsets)), values_(std::move(values)), dim_(dim) {}

  Result<> write(const VectorBatch& rows) override {
    if (!has_offsets(rows) || rows.values.size() != rows.offsets.back() * dim_) {
      return misshapen(rows, fmt::format("offsets for each row and one more, and {} values for "
                                         "each token",
                                         dim_));
    }
    QV_TRY(values_.append(std::span(rows.values)));
    return offsets_.write(rows);
  }
  Result<> finish() override {
    QV_TRY(values_.finish());
    return offsets_.finish();
  }

 private:
  OffsetsWriter offsets_;
  NpyWriter values_;
  std::uint32_t dim_;
};

Result<std::unique_ptr<VectorWriter>> create_dense(const std::string& path,
                                                   const WriteOptions& options) {
  if (!unpacked_name(path).ends_with(".npy")) {
    return fail(Code::kInvalidArgument,
                fmt::format("{}: wanted a name with .npy or .npy.zst", path));
  }
  QV_TRY(NpyWriter values,
         NpyWriter::create(path, value_type_of(options.dtype), options.dim, options.if_exists));
  return std::make_unique<DenseWriter>(std::move(values), options.dim);
}

Result<std::unique_ptr<VectorWriter>> create_set(const std::string& destination,
                                                 const WriteOptions& options) {
  if (parse_source(destination).format != Format::kPrefix) {
    return fail(Code::kInvalidArgument,
                fmt::format("{}: wanted the prefix that a set of .npy files shares", destination));
  }
  const std::string prefix(unpacked_name(destination));
  const char* ending = prefix == destination ? "npy" : "npy.zst";
  const auto path = [&](std::string_view name) {
    return fmt::format("{}.{}.{}", prefix, name, ending);
  };
  const bool is_multi = options.kind == FieldKind::kMulti;
  QV_TRY(OffsetsWriter offsets, OffsetsWriter::create(prefix + ".indptr.npy", options.if_exists));
  QV_TRY(NpyWriter values, NpyWriter::create(path("values"), value_type_of(options.dtype),
                                             is_multi ? options.dim : 0, options.if_exists));
  if (is_multi) {
    return std::make_unique<MultiWriter>(std::move(offsets), std::move(values), options.dim);
  }
  QV_TRY(NpyWriter indices,
         NpyWriter::create(path("indices"), ValueType::kU32, 0, options.if_exists));
  return std::make_unique<SparseWriter>(std::move(offsets), std::move(indices), std::move(values));
}

}  // namespace

Result<std::unique_ptr<VectorWriter>> create_vectors(const std::string& destination,
                                                     const WriteOptions& options) {
  if (options.kind != FieldKind::kSparse && options.dim == 0) {
    return fail(Code::kInvalidArgument, destination + ": found dimension 0, wanted 1 or more");
  }
  if (destination.ends_with(".gz")) {
    return fail(Code::kInvalidArgument, destination + ": wanted a plain name or .zst, found .gz");
  }
  return options.kind == FieldKind::kDense ? create_dense(destination, options)
                                           : create_set(destination, options);
}

Result<LineWriter> LineWriter::create(const std::string& path, IfExists if_exists) {
  QV_TRY(auto sink, create_bytes(path, if_exists));
  return LineWriter(std::move(sink));
}

Result<> LineWriter::write(std::string_view line) {
  QV_TRY(sink_->append(as_byte_span(line)));
  return sink_->append(as_byte_span("\n"));
}

}  // namespace quiver::dataset
