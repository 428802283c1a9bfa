#include "engine/model/row.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

#include "base/schema_names.h"
#include "engine/model/config.h"
#include "index/stored_rows.h"
#include "kernels/kernels.h"

namespace quiver::engine {
namespace {

constexpr std::uint8_t kRowVersion = 1;

template <class T>
void put(std::string& out, T value) {
  static_assert(std::is_trivially_copyable_v<T>);
  out.append(reinterpret_cast<const char*>(&value), sizeof(T));
}

template <class T>
void put_array(std::string& out, std::span<const T> values) {
  out.append(reinterpret_cast<const char*>(values.data()), values.size_bytes());
}

/// What a field's bytes begin with.
enum class Tag : std::uint8_t { kAbsent = 0, kTokens = 1, kSparse = 2 };

/// Reads forward; after running out, `ok` is false and everything read is zero.
class Reader {
 public:
  explicit Reader(std::string_view bytes) : bytes_(bytes) {}

  template <class T>
  T get() {
    T value{};
    copy(&value, sizeof(T));
    return value;
  }
  template <class T>
  std::vector<T> get_array(std::size_t n) {
    if (n > bytes_.size() / sizeof(T)) {
      ok_ = false;
      return {};
    }
    std::vector<T> values(n);
    copy(values.data(), n * sizeof(T));
    return values;
  }
  std::string get_text(std::size_t n) {
    if (n > bytes_.size()) {
      ok_ = false;
      return {};
    }
    std::string text(bytes_.substr(0, n));
    bytes_.remove_prefix(n);
    return text;
  }
  [[nodiscard]] bool ok() const { return ok_; }
  [[nodiscard]] bool at_end() const { return ok_ && bytes_.empty(); }

 private:
  void copy(void* out, std::size_t n) {
    if (n > bytes_.size()) {
      ok_ = false;
      bytes_ = {};
      return;
    }
    if (n != 0) std::memcpy(out, bytes_.data(), n);
    bytes_.remove_prefix(n);
  }

  std::string_view bytes_;
  bool ok_ = true;
};

void encode_vector(const StoredVector& vector, std::string& out) {
  if (const auto* tokens = std::get_if<Tokens>(&vector)) {
    put(out, Tag::kTokens);
    put(out, tokens->n_tokens);
    put_array<std::byte>(out, tokens->bytes);
  } else if (const auto* sparse = std::get_if<SparseVector>(&vector)) {
    append_sparse({sparse->indices, sparse->values}, out);
  } else {
    append_absent(out);
  }
}

StoredVector decode_vector(const FieldSchema& field, std::uint8_t tag, Reader& reader) {
  const auto n = reader.get<std::uint32_t>();
  if (tag == 1) {
    const std::size_t bytes = n * vector_bytes(field.dim, field.dtype);
    return Tokens{n, reader.get_array<std::byte>(bytes)};
  }
  auto indices = reader.get_array<std::uint32_t>(n);
  return SparseVector{std::move(indices), reader.get_array<float>(n)};
}

bool tag_fits(const FieldSchema& field, std::uint8_t tag) {
  return tag == 0 || (tag == 1) == (field.kind != FieldKind::kSparse);
}

/// Without a branch for each value, so that it costs next to nothing.
bool all_finite(std::span<const float> values) {
  bool finite = true;
  for (const float value : values) finite &= std::isfinite(value);
  return finite;
}

Result<> check_finite(const FieldSchema& field, std::span<const float> values) {
  if (all_finite(values)) return {};
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (std::isfinite(values[i])) continue;
    return fail(Code::kInvalidArgument,
                fmt::format("{} has the value {} at position {}, but all values must be finite",
                            quoted_name(field), values[i], i));
  }
  return {};
}

Result<> check_dim(const FieldSchema& field, std::size_t got) {
  if (got == field.dim) return {};
  return fail(Code::kInvalidArgument,
              fmt::format("Vector dimension error: expected dim: {}, got {}", field.dim, got));
}

Result<> check_sparse(const FieldSchema& field, const SparseVector& vector) {
  if (vector.indices.size() != vector.values.size()) {
    return fail(Code::kInvalidArgument,
                fmt::format("{}: {} indices but {} values, must be the same length",
                            quoted_name(field), vector.indices.size(), vector.values.size()));
  }
  auto sorted = vector.indices;
  std::sort(sorted.begin(), sorted.end());
  const auto twice = std::adjacent_find(sorted.begin(), sorted.end());
  if (twice != sorted.end()) {
    return fail(Code::kInvalidArgument, fmt::format("{}: index {} occurs twice, must be unique",
                                                    quoted_name(field), *twice));
  }
  return check_finite(field, vector.values);
}

Result<> check_multi(const FieldSchema& field, const MultiVector& vector) {
  if (vector.n_tokens == 0) {
    return fail(Code::kInvalidArgument,
                fmt::format("{}: a multi-vector must have at least one row", quoted_name(field)));
  }
  QV_TRY(check_dim(field, vector.dim));
  if (vector.values.size() != std::size_t{vector.n_tokens} * vector.dim) {
    return fail(Code::kInvalidArgument,
                fmt::format("{}: {} values do not make {} rows of {}", quoted_name(field),
                            vector.values.size(), vector.n_tokens, vector.dim));
  }
  return check_finite(field, vector.values);
}

/// The kind of field that takes such a value.
FieldKind kind_of(const VectorValue& value) {
  if (std::holds_alternative<DenseVector>(value)) return FieldKind::kDense;
  return std::holds_alternative<SparseVector>(value) ? FieldKind::kSparse : FieldKind::kMulti;
}

SparseVector sorted_by_index(const SparseVector& vector) {
  std::vector<std::uint32_t> order(vector.indices.size());
  std::iota(order.begin(), order.end(), 0U);
  std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    return vector.indices[a] < vector.indices[b];
  });
  SparseVector sorted;
  sorted.indices.reserve(order.size());
  sorted.values.reserve(order.size());
  for (const std::uint32_t i : order) {
    sorted.indices.push_back(vector.indices[i]);
    sorted.values.push_back(vector.values[i]);
  }
  return sorted;
}

/// Drops fractions, too.
void clamp_to_u8(std::span<const float> values, std::byte* out) {
  std::transform(values.begin(), values.end(), out, [](float value) {
    return static_cast<std::byte>(std::clamp(value, 0.0F, 255.0F));
  });
}

/// `values`: `[n_tokens, dim]`, as are those of `convert`.
Result<> convert_to_codes(const FieldSchema& field, std::span<const float> values, std::byte* out) {
  const std::size_t row_bytes = vector_bytes(field.dim, field.dtype);
  for (std::size_t first = 0; first < values.size(); first += field.dim, out += row_bytes) {
    if (index::store_code(field, values.subspan(first, field.dim), out)) continue;
    return fail(Code::kInvalidArgument,
                fmt::format("{} holds {} vectors, at most {} long, but a vector is longer",
                            quoted_name(field), dtype_name(field.dtype), index::kMaxCodeLength));
  }
  return {};
}

Result<> convert_f16(const FieldSchema& field, std::span<const float> values, std::byte* out) {
  auto* halves = reinterpret_cast<std::uint16_t*>(out);
  if (kernels().convert.f32_to_f16(values.data(), values.size(), halves) == 0) return {};
  return fail(Code::kInvalidArgument,
              fmt::format("{} holds float16 values, at most 65504 in size, but a value is larger",
                          quoted_name(field)));
}

Result<> convert_bf16(const FieldSchema& field, std::span<const float> values, std::byte* out) {
  /// The least number that would be rounded to infinity.
  constexpr float kTooLarge = 0x1.FFp127F;
  const auto is_too_large = [](float value) { return std::abs(value) >= kTooLarge; };
  if (std::any_of(values.begin(), values.end(), is_too_large)) {
    return fail(Code::kInvalidArgument,
                fmt::format("{} holds bfloat16 values, at most 3.389e38 in size, but a value is "
                            "larger",
                            quoted_name(field)));
  }
  kernels().convert.f32_to_bf16(values.data(), values.size(),
                                reinterpret_cast<std::uint16_t*>(out));
  return {};
}

Result<> convert(const FieldSchema& field, std::span<const float> values, std::byte* out) {
  switch (field.dtype) {
    case DType::kF32:
      std::memcpy(out, values.data(), values.size_bytes());
      return {};
    case DType::kU8:
      clamp_to_u8(values, out);
      return {};
    case DType::kTurbo4:
    case DType::kTurbo8:
    case DType::kTurbo16:
    case DType::kI8:
    case DType::kE4m3:
    case DType::kE5m2:
    case DType::kBinary:
      return convert_to_codes(field, values, out);
    case DType::kF16:
      return convert_f16(field, values, out);
    case DType::kBf16:
      return convert_bf16(field, values, out);
  }
  return {};
}

/// Cosine compares directions, so vectors are stored at length 1; bytes cannot be.
bool is_normalised(const FieldSchema& field) {
  return field.metric == Metric::kCosine && field.dtype != DType::kU8;
}

/// Scales the rows of `values`, `[n_rows, dim]`, to length 1; a row of zeros stays. `out`: as long.
void normalise(std::span<const float> values, std::uint32_t dim, float* out) {
  for (std::size_t first = 0; first < values.size(); first += dim) {
    const auto row = values.subspan(first, dim);
    const double norm = kernels().convert.norm(row.data(), dim);
    if (norm > 0) {
      kernels().convert.scale(row.data(), dim, 1.0 / norm, out + first);
    } else {
      std::copy(row.begin(), row.end(), out + first);
    }
  }
}

/// `values`: `[n_tokens, dim]`.
Result<StoredVector> store_tokens(const FieldSchema& field, std::span<const float> values) {
  std::vector<float> unit;
  if (is_normalised(field)) {
    unit.resize(values.size());
    normalise(values, field.dim, unit.data());
    values = unit;
  }
  Tokens tokens{static_cast<std::uint32_t>(values.size() / field.dim), {}};
  tokens.bytes.resize(tokens.n_tokens * vector_bytes(field.dim, field.dtype));
  QV_TRY(convert(field, values, tokens.bytes.data()));
  return StoredVector(std::move(tokens));
}

}  // namespace

std::string quoted_name(const FieldSchema& field) {
  return field.name.empty() ? "the default vector" : fmt::format("vector `{}`", field.name);
}

std::string_view with_article(FieldKind kind) {
  return kind == FieldKind::kDense    ? "a dense vector"
         : kind == FieldKind::kSparse ? "a sparse vector"
                                      : "a multi-vector";
}

void append_row_head(Seq seq, std::string_view payload, std::size_t n_fields, std::string& out) {
  put(out, kRowVersion);
  put(out, to_number(seq));
  put(out, static_cast<std::uint32_t>(payload.size()));
  out += payload;
  put(out, static_cast<std::uint16_t>(n_fields));
}

void append_absent(std::string& out) { put(out, Tag::kAbsent); }

void append_tokens(const MatrixView& tokens, std::string& out) {
  put(out, Tag::kTokens);
  put(out, static_cast<std::uint32_t>(tokens.n_rows));
  const std::size_t row_bytes = vector_bytes(tokens.dim, tokens.dtype);
  for (std::size_t i = 0; i < tokens.n_rows; ++i) {
    put_array(out, std::span<const std::byte>(tokens.row(i), row_bytes));
  }
}

void append_sparse(const SparseView& vector, std::string& out) {
  put(out, Tag::kSparse);
  put(out, static_cast<std::uint32_t>(vector.indices.size()));
  put_array(out, vector.indices);
  put_array(out, vector.values);
}

std::uint64_t size_bytes(const Row& row) {
  std::uint64_t bytes = sizeof(Row) + row.payload.size();
  for (const auto& vector : row.vectors) {
    bytes += sizeof(StoredVector);
    if (const auto* tokens = std::get_if<Tokens>(&vector)) bytes += tokens->bytes.size();
    if (const auto* sparse = std::get_if<SparseVector>(&vector))
      bytes += sparse->indices.size() * 8;
  }
  return bytes;
}

std::string encode_row(const Row& row) {
  std::string out;
  std::size_t bytes = 32 + row.payload.size();
  for (const auto& vector : row.vectors) {
    bytes += 8;
    if (const auto* tokens = std::get_if<Tokens>(&vector)) bytes += tokens->bytes.size();
    if (const auto* sparse = std::get_if<SparseVector>(&vector))
      bytes += sparse->indices.size() * 8;
  }
  out.reserve(bytes);
  append_row_head(row.seq, row.payload, row.vectors.size(), out);
  for (const auto& vector : row.vectors) encode_vector(vector, out);
  return out;
}

Result<Row> decode_row(const PointId& id, std::string_view bytes,
                       const std::vector<FieldSchema>& fields) {
  const auto damaged = [&](std::string_view what) {
    return fail(Code::kDataLoss, fmt::format("row of point {} is damaged: {} ({} bytes)",
                                             id.to_string(), what, bytes.size()));
  };
  Reader reader(bytes);
  const auto version = reader.get<std::uint8_t>();
  if (version != kRowVersion) return damaged(fmt::format("version {}, expected 1", version));
  Row row{id, Seq{reader.get<std::uint64_t>()}, {}, {}};
  row.payload = reader.get_text(reader.get<std::uint32_t>());
  const auto n_fields = reader.get<std::uint16_t>();
  if (n_fields > fields.size()) {
    return fail(Code::kDataLoss,
                fmt::format("row of point {} has {} vector fields, and the collection has {}: the "
                            "row is damaged, or a newer configuration is not here yet",
                            id.to_string(), n_fields, fields.size()));
  }
  row.vectors.resize(fields.size());
  for (std::size_t i = 0; i < n_fields; ++i) {
    const auto tag = reader.get<std::uint8_t>();
    if (tag > 2 || !tag_fits(fields[i], tag)) return damaged(fmt::format("vector tag {}", tag));
    if (tag == 0) continue;
    auto vector = decode_vector(fields[i], tag, reader);
    if (!is_dropped(fields[i])) row.vectors[i] = std::move(vector);
  }
  if (!reader.at_end()) return damaged(reader.ok() ? "bytes left over" : "too short");
  return row;
}

Result<> check_vector(const FieldSchema& field, const VectorValue& value) {
  const bool is_token =
      field.kind == FieldKind::kMulti && std::holds_alternative<DenseVector>(value);
  if (kind_of(value) != field.kind && !is_token) {
    return fail(Code::kInvalidArgument,
                fmt::format("{} is {}, but got {}", quoted_name(field), with_article(field.kind),
                            with_article(kind_of(value))));
  }
  if (const auto* sparse = std::get_if<SparseVector>(&value)) return check_sparse(field, *sparse);
  if (const auto* multi = std::get_if<MultiVector>(&value)) return check_multi(field, *multi);
  const auto& dense = std::get<DenseVector>(value);
  QV_TRY(check_dim(field, dense.size()));
  return check_finite(field, dense);
}

Result<StoredVector> to_stored(const FieldSchema& field, const VectorValue& value) {
  QV_TRY(check_vector(field, value));
  if (const auto* sparse = std::get_if<SparseVector>(&value)) {
    return StoredVector(sorted_by_index(*sparse));
  }
  if (const auto* multi = std::get_if<MultiVector>(&value))
    return store_tokens(field, multi->values);
  return store_tokens(field, std::get<DenseVector>(value));
}

Result<> store_values(const FieldSchema& field, std::span<const float> values, std::byte* out) {
  QV_TRY(check_dim(field, values.size()));
  QV_TRY(check_finite(field, values));
  if (!is_normalised(field)) return convert(field, values, out);
  if (field.dtype == DType::kF32) {
    normalise(values, field.dim, reinterpret_cast<float*>(out));
    return {};
  }
  std::vector<float> unit(field.dim);
  normalise(values, field.dim, unit.data());
  return convert(field, unit, out);
}

Result<> check_range(const FieldSchema& field, std::span<const float> values) {
  if (field.dtype != DType::kU8) return {};
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i] >= 0 && values[i] < 256) continue;
    return fail(Code::kInvalidArgument,
                fmt::format("{} holds uint8 values, 0 to 255, but position {} has {}",
                            quoted_name(field), i, values[i]));
  }
  return {};
}

void to_floats(DType dtype, const std::byte* values, std::size_t n, float* out) {
  index::to_floats(values, dtype, n, out);
}

VectorValue to_value(const FieldSchema& field, const StoredVector& vector) {
  if (const auto* sparse = std::get_if<SparseVector>(&vector)) return *sparse;
  const auto& tokens = std::get<Tokens>(vector);
  std::vector<float> values(std::size_t{tokens.n_tokens} * field.dim);
  const std::size_t row_bytes = vector_bytes(field.dim, field.dtype);
  for (std::size_t t = 0; t < tokens.n_tokens; ++t) {
    to_floats(field.dtype, tokens.bytes.data() + t * row_bytes, field.dim,
              values.data() + t * field.dim);
  }
  if (field.kind == FieldKind::kDense) return values;
  return MultiVector{tokens.n_tokens, field.dim, std::move(values)};
}

}  // namespace quiver::engine
