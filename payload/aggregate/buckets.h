// How many rows have a number, or a moment, in each of the intervals that a line is divided into.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "payload/aggregate/collector.h"
#include "payload/filter.h"

namespace quiver::payload {

/// The most buckets that an answer has.
inline constexpr std::size_t kMaxBuckets = 10'000;

/// Bucket `n` has the numbers whose `floor((number - offset) / interval)` is `n`, in doubles.
struct NumberBuckets {
  double interval = 1;  ///< above 0
  double offset = 0;
};
enum class CalendarUnit : std::uint8_t { kYear, kMonth, kDay, kHour };
/// Years, months, days or hours of UTC, by strings that are moments.
struct CalendarBuckets {
  CalendarUnit unit = CalendarUnit::kYear;
};
using Buckets = std::variant<NumberBuckets, CalendarBuckets>;

/// A row counts once in each bucket that has a value of it.
class BucketCollector final : public Collector {
 public:
  BucketCollector(JsonPath path, Buckets buckets) : Collector(std::move(path)), buckets_(buckets) {}

  [[nodiscard]] EntrySlots slots_of(const AttributeView& attribute) const override;
  void add(const AttributeView& attribute, const EntrySlots& slots,
           const SlotCounts& counts) override;
  [[nodiscard]] bool reads(IndexKind kind) const override;
  [[nodiscard]] std::uint32_t undecided(IndexKind kind) const override;
  void add(const ColumnView& column, const Bitset& rows) override;
  void add(const Value& document) override;
  /// kInvalidArgument if there are more than `kMaxBuckets`.
  [[nodiscard]] Result<> check() override;

  /// Buckets that have rows, ascending: the lower bound and the number of rows. The bound is a
  /// number, or microseconds of a moment.
  [[nodiscard]] std::vector<std::pair<double, std::uint64_t>> number_buckets() const;
  [[nodiscard]] std::vector<std::pair<std::int64_t, std::uint64_t>> calendar_buckets() const;

 private:
  [[nodiscard]] bool takes_numbers() const {
    return std::holds_alternative<NumberBuckets>(buckets_);
  }
  /// The key of the bucket of a number, or of a moment in microseconds.
  template <class T>
  [[nodiscard]] double bucket_of(T value) const;
  template <class T>
  void set_slots(const SharedSpan<T>& lows, const SharedSpan<T>& highs, std::uint32_t first_entry,
                 std::map<double, std::uint32_t>& slot_of_bucket, EntrySlots& slots) const;
  template <class T>
  void add_values(const ColumnView& column, const SharedSpan<T>& values, const Bitset& rows);
  /// Adds a row with the buckets in `own_`.
  void add_own();

  const Buckets buckets_;
  /// Rows by bucket. The key is the bucket's number, or the hours from 1970 to its begin.
  std::map<double, std::uint64_t> counts_;
  std::vector<double> own_;  ///< buckets of the row that is added
};

}  // namespace quiver::payload
