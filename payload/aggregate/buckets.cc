#include "payload/aggregate/buckets.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>

#include "base/views.h"
#include "payload/scalar/datetime.h"
#include "payload/scalar/number.h"

namespace quiver::payload {
namespace {

using std::chrono::days;
using std::chrono::sys_days;
using std::chrono::year_month_day;
using Micros = std::chrono::sys_time<std::chrono::microseconds>;

constexpr double kMaxDouble = std::numeric_limits<double>::max();

/// Monotone in `number`. Buckets beyond the range of doubles are one with the last.
double number_bucket(const NumberBuckets& buckets, double number) {
  const double n = std::floor((number - buckets.offset) / buckets.interval);
  return std::clamp(n, -kMaxDouble, kMaxDouble) + 0.0;  // never -0.0
}

/// Hours from 1970 to the begin of the year, month, day or hour.
std::int64_t calendar_bucket(CalendarUnit unit, std::int64_t micros) {
  const Micros moment{std::chrono::microseconds(micros)};
  if (unit == CalendarUnit::kHour) {
    return std::chrono::floor<std::chrono::hours>(moment).time_since_epoch().count();
  }
  const auto day = std::chrono::floor<days>(moment);
  const year_month_day date(day);
  sys_days first = day;
  if (unit == CalendarUnit::kMonth) first = date.year() / date.month() / std::chrono::day(1);
  if (unit == CalendarUnit::kYear) first = date.year() / std::chrono::January / 1;
  return std::chrono::hours(first.time_since_epoch()).count();
}

}  // namespace

template <class T>
double BucketCollector::bucket_of(T value) const {
  if (const auto* numbers = std::get_if<NumberBuckets>(&buckets_)) {
    return number_bucket(*numbers, static_cast<double>(value));
  }
  const auto unit = std::get<CalendarBuckets>(buckets_).unit;
  return static_cast<double>(calendar_bucket(unit, static_cast<std::int64_t>(value)));
}

/// A range of values has a slot if it lies in one bucket. Numbers of both types share slots.
template <class T>
void BucketCollector::set_slots(const SharedSpan<T>& lows, const SharedSpan<T>& highs,
                                std::uint32_t first_entry,
                                std::map<double, std::uint32_t>& slot_of_bucket,
                                EntrySlots& slots) const {
  for (std::uint32_t i = 0; i < lows.size(); ++i) {
    const T high = highs.empty() ? lows[i] : highs[i];
    if (high < lows[i]) continue;  // no moments
    const double bucket = bucket_of(lows[i]);
    if (bucket != bucket_of(high)) {
      slots.slots[first_entry + i] = EntrySlots::kOpen;
      continue;
    }
    const auto [slot, is_new] = slot_of_bucket.try_emplace(bucket, slots.n_slots);
    if (is_new) {
      ++slots.n_slots;
      slots.labels.push_back(bucket);
    }
    slots.slots[first_entry + i] = slot->second;
  }
}

EntrySlots BucketCollector::slots_of(const AttributeView& attribute) const {
  EntrySlots slots(attribute);
  std::map<double, std::uint32_t> slot_of_bucket;
  if (!takes_numbers()) {
    set_slots(attribute.moment_lows, attribute.moment_highs, attribute.first_text(), slot_of_bucket,
              slots);
    return slots;
  }
  slots.set(SpecialEntry::kLargeInteger, EntrySlots::kOpen);
  set_slots(attribute.integer_lows, attribute.integer_highs, kSpecialEntries, slot_of_bucket,
            slots);
  set_slots(attribute.double_lows, attribute.double_highs, attribute.first_double(), slot_of_bucket,
            slots);
  return slots;
}

void BucketCollector::add(const AttributeView& /*attribute*/, const EntrySlots& slots,
                          const SlotCounts& counts) {
  n_missing_ += counts.n_without;
  for (std::uint32_t slot = 0; slot < slots.n_slots; ++slot) {
    if (counts.n_rows[slot] != 0) counts_[slots.labels[slot]] += counts.n_rows[slot];
  }
}

bool BucketCollector::reads(IndexKind kind) const {
  if (!takes_numbers()) return kind == IndexKind::kDatetime;
  return kind == IndexKind::kInteger || kind == IndexKind::kFloat;
}

/// Only a column of integers lacks numbers: those with a fraction. A rounded number has the bucket
/// of its double.
std::uint32_t BucketCollector::undecided(IndexKind kind) const {
  return kind == IndexKind::kInteger ? std::uint32_t{RowFacts::kOther} : 0;
}

void BucketCollector::add(const ColumnView& column, const Bitset& rows) {
  if (column.index->kind == IndexKind::kFloat) {
    add_values(column, column.doubles, rows);
  } else {
    add_values(column, column.integers, rows);
  }
}

template <class T>
void BucketCollector::add_values(const ColumnView& column, const SharedSpan<T>& values,
                                 const Bitset& rows) {
  rows.for_each([&](std::size_t row) {
    own_.clear();
    for (const T value : part_of(values.span(), column.offsets[row], column.offsets[row + 1])) {
      own_.push_back(bucket_of(value));
    }
    add_own();
  });
}

void BucketCollector::add(const Value& document) {
  own_.clear();
  for_each_element(document, path(), [&](const Value& element) {
    if (takes_numbers()) {
      if (const auto number = as_number(element)) {
        own_.push_back(bucket_of(nearest_double(*number).value));
      }
    } else if (const auto* text = element.as_string()) {
      if (const auto moment = parse_datetime(*text)) own_.push_back(bucket_of(*moment));
    }
  });
  add_own();
}

void BucketCollector::add_own() {
  if (own_.empty()) ++n_missing_;
  if (own_.size() > 1) {
    std::sort(own_.begin(), own_.end());
    own_.erase(std::unique(own_.begin(), own_.end()), own_.end());
  }
  for (const double bucket : own_) ++counts_[bucket];
}

Result<> BucketCollector::check() {
  if (counts_.size() <= kMaxBuckets) return {};
  return fail(Code::kInvalidArgument,
              fmt::format("the values under `{}` lie in more than {} buckets, the most that an "
                          "answer has; choose wider ones",
                          path().to_string(), kMaxBuckets));
}

std::vector<std::pair<double, std::uint64_t>> BucketCollector::number_buckets() const {
  const auto& numbers = std::get<NumberBuckets>(buckets_);
  std::vector<std::pair<double, std::uint64_t>> buckets;
  for (const auto& [bucket, n_rows] : counts_) {
    const double from = numbers.offset + bucket * numbers.interval;
    buckets.emplace_back(std::clamp(from, -kMaxDouble, kMaxDouble), n_rows);
  }
  return buckets;
}

std::vector<std::pair<std::int64_t, std::uint64_t>> BucketCollector::calendar_buckets() const {
  std::vector<std::pair<std::int64_t, std::uint64_t>> buckets;
  for (const auto& [hours, n_rows] : counts_) {
    const std::chrono::microseconds from = std::chrono::hours(static_cast<std::int64_t>(hours));
    buckets.emplace_back(from.count(), n_rows);
  }
  return buckets;
}

}  // namespace quiver::payload
