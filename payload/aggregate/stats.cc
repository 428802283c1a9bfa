#include "payload/aggregate/stats.h"

#include "base/views.h"
#include "payload/column/kinds.h"
#include "payload/scalar/number.h"

namespace quiver::payload {
namespace {

/// The same number as an integer, if it is one.
Number as_whole(const Number& number) {
  const auto* value = std::get_if<double>(&number);
  if (value == nullptr) return number;
  constexpr double kTwo63 = 9223372036854775808.0;
  if (*value >= -kTwo63 && *value < kTwo63) {
    const auto whole = static_cast<std::int64_t>(*value);
    if (static_cast<double>(whole) == *value) return whole;
  } else if (*value >= 0 && *value < 2 * kTwo63) {
    return static_cast<std::uint64_t>(*value);  // beyond 2^53 all doubles are whole
  }
  return number;
}

}  // namespace

EntrySlots StatsCollector::slots_of(const AttributeView& attribute) const {
  EntrySlots slots(attribute);
  slots.n_slots = attribute.n_entries();
  slots.set(SpecialEntry::kLargeInteger, EntrySlots::kOpen);
  slots.set_single_numbers(attribute.integer_lows, attribute.integer_highs, kSpecialEntries);
  slots.set_single_numbers(attribute.double_lows, attribute.double_highs, attribute.first_double());
  return slots;
}

void StatsCollector::add(const AttributeView& attribute, const EntrySlots& /*slots*/,
                         const SlotCounts& counts) {
  n_missing_ += counts.n_without;
  const auto integers = attribute.integer_lows.span();
  for (std::size_t i = 0; i < integers.size(); ++i) {
    add(integers[i], counts.n_elements[kSpecialEntries + i]);
  }
  const auto doubles = attribute.double_lows.span();
  for (std::size_t i = 0; i < doubles.size(); ++i) {
    add(doubles[i], counts.n_elements[attribute.first_double() + i]);
  }
}

bool StatsCollector::reads(IndexKind kind) const {
  return kind == IndexKind::kInteger || kind == IndexKind::kFloat;
}

/// A column of integers lacks fractions; one of doubles has every number, some of them rounded.
std::uint32_t StatsCollector::undecided(IndexKind kind) const {
  return kind == IndexKind::kInteger ? RowFacts::kOther : RowFacts::kInexact;
}

void StatsCollector::add(const ColumnView& column, const Bitset& rows) {
  if (traits_of(column.index->kind).storage == ValueStorage::kIntegers) {
    add_values(column, column.integers, rows);
  } else {
    add_values(column, column.doubles, rows);
  }
}

template <class T>
void StatsCollector::add_values(const ColumnView& column, const SharedSpan<T>& values,
                                const Bitset& rows) {
  rows.for_each([&](std::size_t row) {
    const auto own = part_of(values.span(), column.offsets[row], column.offsets[row + 1]);
    if (own.empty()) ++n_missing_;
    for (const T value : own) add(Number(value), 1);
  });
}

void StatsCollector::add(const Value& document) {
  const std::uint64_t before = count_;
  for_each_element(document, path(), [&](const Value& element) {
    if (const auto number = as_number(element)) add(*number, 1);
  });
  if (count_ == before) ++n_missing_;
}

void StatsCollector::add(const Number& number, std::uint32_t times) {
  if (times == 0) return;
  count_ += times;
  sum_.add(number, times);
  if (!min_ || compare(number, *min_) < 0) min_ = number;
  if (!max_ || compare(number, *max_) > 0) max_ = number;
}

NumberStats StatsCollector::stats() const {
  NumberStats stats;
  stats.count = count_;
  stats.n_missing = n_missing_;
  if (min_) stats.min = as_whole(*min_);
  if (max_) stats.max = as_whole(*max_);
  stats.sum = sum_.sum();
  if (count_ != 0) stats.average = nearest_double(stats.sum).value / static_cast<double>(count_);
  return stats;
}

}  // namespace quiver::payload
