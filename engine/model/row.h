// A point as it is stored: payload text and vectors in their fields' own types.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "base/schema.h"
#include "base/views.h"
#include "engine/model/vector.h"

namespace quiver::engine {

/// `n_tokens` vectors of the field's type (`vector_bytes` each), not padded; one for a dense field.
struct Tokens {
  std::uint32_t n_tokens = 0;
  std::vector<std::byte> bytes;
  bool operator==(const Tokens&) const = default;
};

using StoredVector = std::variant<std::monostate, Tokens, SparseVector>;

struct Row {
  PointId id;
  Seq seq{};
  std::string payload = "{}";         ///< canonical JSON object
  std::vector<StoredVector> vectors;  ///< one for each field of the collection, in order
  bool operator==(const Row&) const = default;
};

[[nodiscard]] inline bool is_present(const StoredVector& vector) { return vector.index() != 0; }

/// The estimated memory that a row holds.
[[nodiscard]] std::uint64_t size_bytes(const Row& row);

/// The value of a row in the store (docs/formats/row.md).
[[nodiscard]] std::string encode_row(const Row& row);
/// The same value written part by part, without a `Row`: its head, then each field in turn.
/// Appends to `out`.
void append_row_head(Seq seq, std::string_view payload, std::size_t n_fields, std::string& out);
void append_absent(std::string& out);
void append_tokens(const MatrixView& tokens, std::string& out);
void append_sparse(const SparseView& vector, std::string& out);
/// kDataLoss if `bytes` is not a row of these fields or of the first of them: the row may be older
/// than the last ones. Vectors of dropped fields are left out.
[[nodiscard]] Result<Row> decode_row(const PointId& id, std::string_view bytes,
                                     const std::vector<FieldSchema>& fields);

/// Brings a vector into its field's stored form: sparse sorted by index, Cosine scaled to unit
/// length (u8 excepted), values converted; one vector for a field of multi-vectors is one token.
/// Numbers for a uint8 field lose their fractions and are clamped to 0..255. kInvalidArgument if it
/// does not fit the field: the text names the dimension or number found and what was wanted.
[[nodiscard]] Result<StoredVector> to_stored(const FieldSchema& field, const VectorValue& value);
/// The same for one dense vector or one token, `[dim]`, written to `out` (unpadded, aligned to the
/// stored type) without an allocation for most fields.
[[nodiscard]] Result<> store_values(const FieldSchema& field, std::span<const float> values,
                                    std::byte* out);
/// kInvalidArgument if `store_values` would clamp one of `values`.
[[nodiscard]] Result<> check_range(const FieldSchema& field, std::span<const float> values);
/// The same checks, without conversion: a query vector for `field`.
[[nodiscard]] Result<> check_vector(const FieldSchema& field, const VectorValue& value);

/// "vector `name`" and "a multi-vector", as these errors have them.
[[nodiscard]] std::string quoted_name(const FieldSchema& field);
[[nodiscard]] std::string_view with_article(FieldKind kind);

/// `n` stored values as f32; of a code the values of one vector.
void to_floats(DType dtype, const std::byte* values, std::size_t n, float* out);
/// A stored vector as users see it.
[[nodiscard]] VectorValue to_value(const FieldSchema& field, const StoredVector& vector);

}  // namespace quiver::engine
