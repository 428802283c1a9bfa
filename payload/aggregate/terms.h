// How many rows have each string, integer and bool under a path.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <variant>
#include <vector>

#include "base/observe/memory_budget.h"
#include "base/variant.h"
#include "payload/aggregate/collector.h"

namespace quiver::payload {

/// A string as documents have it, an integer of 64 bits with a sign, or a bool.
using Term = Variant<std::string, std::int64_t, bool>;

struct TermCount {
  Term term;
  std::uint64_t n_rows = 0;  ///< rows that have it, once or more
};

/// Elements of other types are not counted. A row without terms is missing.
class TermCollector final : public Collector {
 public:
  using Collector::Collector;

  [[nodiscard]] EntrySlots slots_of(const AttributeView& attribute) const override;
  void add(const AttributeView& attribute, const EntrySlots& slots,
           const SlotCounts& counts) override;
  [[nodiscard]] bool reads(IndexKind kind) const override;
  [[nodiscard]] std::uint32_t undecided(IndexKind kind) const override;
  void add(const ColumnView& column, const Bitset& rows) override;
  void add(const Value& document) override;
  [[nodiscard]] Result<> check_room(const ColumnView& column, std::size_t n_rows) const override;
  [[nodiscard]] Result<> check() override;

  [[nodiscard]] std::uint64_t n_distinct() const;
  /// The `limit` most frequent; of equally frequent ones the first in the order strings, integers,
  /// bools, each ascending.
  [[nodiscard]] std::vector<TermCount> most_frequent(std::uint64_t limit) const;

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const;
  };

  static constexpr std::string_view kPurpose = "an aggregation";

  void add(std::string_view text, std::uint64_t n_rows);
  void add_terms(const ColumnView& column, const Bitset& rows);
  void add_integers(const ColumnView& column, const Bitset& rows);

  std::unordered_map<std::string, std::uint64_t, Hash, std::equal_to<>> texts_;
  std::unordered_map<std::int64_t, std::uint64_t> integers_;
  std::array<std::uint64_t, 2> bools_{};
  std::uint64_t text_bytes_ = 0;   ///< of the keys of `texts_`
  std::uint64_t asked_bytes_ = 0;  ///< of the terms that `memory_` was asked for
  GrowingMemory memory_{kPurpose};
};

}  // namespace quiver::payload
