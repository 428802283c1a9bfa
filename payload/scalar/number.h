// Compares numbers of different types without rounding.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>

#include "payload/filter.h"
#include "payload/json/document.h"

namespace quiver::payload {

[[nodiscard]] std::partial_ordering compare(const Number& a, const Number& b);
[[nodiscard]] bool in_range(const Range& range, const Number& number);
[[nodiscard]] bool in_range(const DatetimeRange& range, std::int64_t microseconds);
[[nodiscard]] bool in_range(const ValuesCount& range, std::uint64_t count);

/// nullopt if `value` is not a number.
[[nodiscard]] std::optional<Number> as_number(const Value& value);
/// The nearest double, and whether it equals the number.
struct NearestDouble {
  double value = 0;
  bool exact = true;
};
[[nodiscard]] NearestDouble nearest_double(const Number& number);

/// The numbers in a range as a closed interval of i64 or double; empty if `low > high`.
template <class T>
struct Interval {
  T low, high;
  [[nodiscard]] bool empty() const { return low > high; }
  [[nodiscard]] bool contains(T value) const { return low <= value && value <= high; }
};
[[nodiscard]] Interval<std::int64_t> integers_in(const Range& range);
[[nodiscard]] Interval<double> doubles_in(const Range& range);
[[nodiscard]] Interval<std::int64_t> integers_in(const DatetimeRange& range);

}  // namespace quiver::payload
