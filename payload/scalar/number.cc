#include "payload/scalar/number.h"

#include <cmath>
#include <limits>

namespace quiver::payload {
namespace {

constexpr auto kMinI64 = std::numeric_limits<std::int64_t>::min();
constexpr auto kMaxI64 = std::numeric_limits<std::int64_t>::max();
constexpr double kTwo63 = 9223372036854775808.0;
constexpr double kTwo64 = 18446744073709551616.0;

std::partial_ordering compare_two(std::int64_t a, std::int64_t b) { return a <=> b; }
std::partial_ordering compare_two(std::uint64_t a, std::uint64_t b) { return a <=> b; }
std::partial_ordering compare_two(double a, double b) { return a <=> b; }
std::partial_ordering compare_two(std::int64_t a, std::uint64_t b) {
  return a < 0 ? std::partial_ordering::less : static_cast<std::uint64_t>(a) <=> b;
}
std::partial_ordering flip(std::partial_ordering order) { return 0 <=> order; }
std::partial_ordering compare_two(std::uint64_t a, std::int64_t b) {
  return flip(compare_two(b, a));
}

/// Compares integer parts as integers; the fraction decides only if they are equal.
std::partial_ordering with_fraction(std::partial_ordering whole, double fraction) {
  return whole == 0 ? 0.0 <=> fraction : whole;
}
std::partial_ordering compare_two(std::int64_t a, double b) {
  if (std::isnan(b)) return std::partial_ordering::unordered;
  if (b >= kTwo63) return std::partial_ordering::less;
  if (b < -kTwo63) return std::partial_ordering::greater;
  const double whole = std::trunc(b);
  return with_fraction(a <=> static_cast<std::int64_t>(whole), b - whole);
}
std::partial_ordering compare_two(std::uint64_t a, double b) {
  if (std::isnan(b)) return std::partial_ordering::unordered;
  if (b >= kTwo64) return std::partial_ordering::less;
  if (b < 0) return std::partial_ordering::greater;
  const double whole = std::trunc(b);
  return with_fraction(a <=> static_cast<std::uint64_t>(whole), b - whole);
}
std::partial_ordering compare_two(double a, std::int64_t b) { return flip(compare_two(b, a)); }
std::partial_ordering compare_two(double a, std::uint64_t b) { return flip(compare_two(b, a)); }

template <class T, class Bounds, class Compare>
bool within(const Bounds& bounds, const T& value, Compare order) {
  return (!bounds.gt || order(value, *bounds.gt) > 0) &&
         (!bounds.gte || order(value, *bounds.gte) >= 0) &&
         (!bounds.lt || order(value, *bounds.lt) < 0) &&
         (!bounds.lte || order(value, *bounds.lte) <= 0);
}

/// The least T that is >= the bound (> if `strict`); nullopt if there is none.
std::optional<std::int64_t> first_integer(const Number& bound, bool strict) {
  if (compare(bound, Number(kMinI64)) < 0) return kMinI64;
  if (compare(bound, Number(kMaxI64)) > 0 || std::isnan(nearest_double(bound).value)) {
    return std::nullopt;
  }
  std::int64_t candidate = 0;
  if (const auto* number = std::get_if<double>(&bound)) {
    const double up = std::ceil(*number);
    if (up >= kTwo63) return std::nullopt;
    candidate = static_cast<std::int64_t>(up);
  } else if (const auto* integer = std::get_if<std::int64_t>(&bound)) {
    candidate = *integer;
  } else {
    candidate = static_cast<std::int64_t>(std::get<std::uint64_t>(bound));
  }
  if (strict && compare(Number(candidate), bound) == 0) {
    if (candidate == kMaxI64) return std::nullopt;
    ++candidate;
  }
  return candidate;
}

std::optional<double> first_double(const Number& bound, bool strict) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  double candidate = nearest_double(bound).value;
  if (std::isnan(candidate)) return std::nullopt;
  const auto too_low = [&](double value) {
    const auto order = compare(Number(value), bound);
    return strict ? order <= 0 : order < 0;
  };
  if (too_low(candidate)) {
    if (candidate == kInfinity) return std::nullopt;
    candidate = std::nextafter(candidate, kInfinity);
  }
  return candidate;
}

/// The greatest T that is <= the bound (< if `strict`); nullopt if there is none.
std::optional<std::int64_t> last_integer(const Number& bound, bool strict) {
  const auto after = first_integer(bound, !strict);  // first value that is too high
  if (std::isnan(nearest_double(bound).value)) return std::nullopt;
  if (!after) return kMaxI64;
  if (*after == kMinI64) return std::nullopt;
  return *after - 1;
}
std::optional<double> last_double(const Number& bound, bool strict) {
  if (std::isnan(nearest_double(bound).value)) return std::nullopt;
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const auto after = first_double(bound, !strict);
  if (!after) return kInfinity;
  if (*after == -kInfinity) return std::nullopt;
  return std::nextafter(*after, -kInfinity);
}

/// Narrows `interval` by each given bound; a bound that no T satisfies empties it.
template <class T, class First, class Last>
Interval<T> narrow(Interval<T> interval, const Range& range, First first, Last last) {
  const Interval<T> none{T{1}, T{0}};
  for (const auto& [bound, strict] : {std::pair(&range.gt, true), std::pair(&range.gte, false)}) {
    if (!*bound) continue;
    const auto low = first(**bound, strict);
    if (!low) return none;
    interval.low = std::max(interval.low, *low);
  }
  for (const auto& [bound, strict] : {std::pair(&range.lt, true), std::pair(&range.lte, false)}) {
    if (!*bound) continue;
    const auto high = last(**bound, strict);
    if (!high) return none;
    interval.high = std::min(interval.high, *high);
  }
  return interval;
}

}  // namespace

std::partial_ordering compare(const Number& a, const Number& b) {
  return std::visit([](auto x, auto y) { return compare_two(x, y); }, a, b);
}

bool in_range(const Range& range, const Number& number) { return within(range, number, compare); }

bool in_range(const DatetimeRange& range, std::int64_t microseconds) {
  return within(range, microseconds, [](std::int64_t a, std::int64_t b) { return a <=> b; });
}

bool in_range(const ValuesCount& range, std::uint64_t count) {
  return within(range, count, [](std::uint64_t a, std::uint64_t b) { return a <=> b; });
}

std::optional<Number> as_number(const Value& value) {
  if (const auto* integer = value.as_i64()) return Number(*integer);
  if (const auto* large = value.as_u64()) return Number(*large);
  if (const auto* number = value.as_double()) return Number(*number);
  return std::nullopt;
}

NearestDouble nearest_double(const Number& number) {
  const double value = std::visit([](auto x) { return static_cast<double>(x); }, number);
  return {value, compare(number, Number(value)) == 0};
}

Interval<std::int64_t> integers_in(const Range& range) {
  return narrow<std::int64_t>({kMinI64, kMaxI64}, range, first_integer, last_integer);
}

Interval<double> doubles_in(const Range& range) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  return narrow<double>({-kInfinity, kInfinity}, range, first_double, last_double);
}

Interval<std::int64_t> integers_in(const DatetimeRange& range) {
  const auto number = [](const std::optional<std::int64_t>& bound) {
    return bound ? std::optional<Number>(*bound) : std::nullopt;
  };
  return integers_in(
      Range{number(range.gt), number(range.gte), number(range.lt), number(range.lte)});
}

}  // namespace quiver::payload
