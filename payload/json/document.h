// A JSON value in memory, and the one text form in which payloads are stored.
//
// The stored form ("canonical") is compact JSON without spaces. Keys keep the given order (the last
// value of a repeated key counts). Integers and doubles are kept apart (`1` and `1.0`). Doubles
// have the shortest form that reads back to the same bits. Answers include this text without
// parsing it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/result.h"
#include "base/variant.h"

namespace quiver::payload {

class Value;
struct Member;
using Array = std::vector<Value>;
/// Members in the order of the text; keys are distinct.
using Object = std::vector<Member>;

class Value {
 public:
  /// `parse_json` refuses deeper arrays and objects.
  static constexpr std::size_t kMaxDepth = 128;

  Value() = default;
  explicit Value(bool value);
  explicit Value(std::int64_t value);
  /// Stored as a signed integer if it fits one, so that equal numbers are equal values.
  explicit Value(std::uint64_t value);
  explicit Value(double value);
  explicit Value(std::string value);
  explicit Value(Array value);
  explicit Value(Object value);

  [[nodiscard]] bool is_null() const { return std::holds_alternative<std::monostate>(data_); }
  [[nodiscard]] bool is_number() const { return as_i64() || as_u64() || as_double(); }

  /// Each returns null unless the value has exactly that type: a double is never an integer.
  [[nodiscard]] const bool* as_bool() const { return std::get_if<bool>(&data_); }
  [[nodiscard]] const std::int64_t* as_i64() const { return std::get_if<std::int64_t>(&data_); }
  /// Set only for integers above the range of i64.
  [[nodiscard]] const std::uint64_t* as_u64() const { return std::get_if<std::uint64_t>(&data_); }
  /// A non-negative integer, of either integer type.
  [[nodiscard]] std::optional<std::uint64_t> as_unsigned() const;
  [[nodiscard]] const double* as_double() const { return std::get_if<double>(&data_); }
  [[nodiscard]] const std::string* as_string() const { return std::get_if<std::string>(&data_); }
  [[nodiscard]] const Array* as_array() const { return std::get_if<Array>(&data_); }
  [[nodiscard]] const Object* as_object() const { return std::get_if<Object>(&data_); }
  [[nodiscard]] Array* as_array() { return std::get_if<Array>(&data_); }
  [[nodiscard]] Object* as_object() { return std::get_if<Object>(&data_); }

  /// The member of an object; null if it is missing or this is no object.
  [[nodiscard]] const Value* find(std::string_view key) const;
  /// `as_unsigned` of the member; nullopt if it is missing.
  [[nodiscard]] std::optional<std::uint64_t> find_unsigned(std::string_view key) const;

  friend bool operator==(const Value& a, const Value& b);

 private:
  Variant<std::monostate, bool, std::int64_t, std::uint64_t, double, std::string, Array, Object>
      data_;
};

struct Member {
  std::string key;
  Value value;
  bool operator==(const Member&) const = default;
};

/// kInvalidArgument if `text` is not one JSON value in UTF-8, nests deeper than `Value::kMaxDepth`,
/// or has a number that fits neither 64-bit integers nor doubles.
[[nodiscard]] Result<Value> parse_json(std::string_view text);

/// Appends the canonical text.
void write_json(const Value& value, std::string& out);
[[nodiscard]] std::string to_json(const Value& value);

/// Parses `text` and prints it in canonical form. Errors as for `parse_json`.
[[nodiscard]] Result<std::string> canonical_json(std::string_view text);

}  // namespace quiver::payload
