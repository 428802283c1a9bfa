// Count, extremes, sum and mean of the numbers under a path.
#pragma once

#include <cstdint>
#include <optional>

#include "payload/aggregate/collector.h"
#include "payload/filter.h"
#include "payload/scalar/exact_sum.h"

namespace quiver::payload {

/// Whole numbers within 64 bits are integers, whatever their form in documents.
struct NumberStats {
  std::uint64_t count = 0;         ///< numbers; each element of an array counts
  std::uint64_t n_missing = 0;     ///< rows without a number
  std::optional<Number> min, max;  ///< nullopt if there are no numbers
  Number sum = std::int64_t{0};    ///< exact if it is an integer; else the nearest double
  std::optional<double> average;   ///< the sum as the nearest double, divided by `count`
};

class StatsCollector final : public Collector {
 public:
  using Collector::Collector;

  [[nodiscard]] EntrySlots slots_of(const AttributeView& attribute) const override;
  void add(const AttributeView& attribute, const EntrySlots& slots,
           const SlotCounts& counts) override;
  [[nodiscard]] bool reads(IndexKind kind) const override;
  [[nodiscard]] std::uint32_t undecided(IndexKind kind) const override;
  void add(const ColumnView& column, const Bitset& rows) override;
  void add(const Value& document) override;

  [[nodiscard]] NumberStats stats() const;

 private:
  void add(const Number& number, std::uint32_t times);
  template <class T>
  void add_values(const ColumnView& column, const SharedSpan<T>& values, const Bitset& rows);

  std::uint64_t count_ = 0;
  std::optional<Number> min_, max_;
  ExactSum sum_;
};

}  // namespace quiver::payload
