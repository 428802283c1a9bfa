#include "payload/aggregate/slot_counts.h"

#include <algorithm>
#include <bit>
#include <span>

#include "base/views.h"

namespace quiver::payload {
namespace {

constexpr std::uint32_t kNone = EntrySlots::kNone;
constexpr std::uint32_t kOpen = EntrySlots::kOpen;

/// Calls `visit(row)` for the rows of `within`, all `n_rows` if it is nullptr.
template <class Visit>
void for_each_row(std::uint32_t n_rows, const Bitset* within, const Visit& visit) {
  if (within == nullptr) {
    for (std::uint32_t row = 0; row < n_rows; ++row) visit(row);
  } else {
    within->for_each([&](std::size_t row) { visit(static_cast<std::uint32_t>(row)); });
  }
}

/// Rows of `within` by entry, for an attribute with one code for each row.
std::vector<std::uint32_t> count_entries(const AttributeView& attribute, const Bitset& within) {
  std::vector<std::uint32_t> counts(std::size_t{1} << (attribute.rests.empty() ? 8 : 16));
  const std::uint8_t* cells = attribute.cells.data();
  const std::uint8_t* rests = attribute.rests.data();
  if (rests == nullptr) {
    within.for_each([&](std::size_t row) { ++counts[cells[row]]; });
  } else {
    within.for_each([&](std::size_t row) { ++counts[cells[row] << 8 | rests[row]]; });
  }
  for (std::uint32_t entry = 0; entry < attribute.n_entries(); ++entry) {
    counts[entry] = counts[std::size_t{entry} << attribute.shift];
  }
  counts.resize(attribute.n_entries());
  return counts;
}

SlotCounts count_single_codes(const AttributeView& attribute, const EntrySlots& slots,
                              const Bitset* within, Bitset& open) {
  std::vector<std::uint32_t> of_rows;
  if (within != nullptr) of_rows = count_entries(attribute, *within);
  const std::span<const std::uint32_t> counts =
      within != nullptr ? std::span<const std::uint32_t>(of_rows) : attribute.counts.span();
  SlotCounts result;
  result.n_rows.resize(slots.n_slots);
  bool has_open = false;
  for (std::size_t entry = 0; entry < counts.size(); ++entry) {
    const std::uint32_t slot = slots.slots[entry];
    if (slot == kNone) {
      result.n_without += counts[entry];
    } else if (slot == kOpen) {
      has_open = has_open || counts[entry] != 0;
    } else {
      result.n_rows[slot] += counts[entry];
    }
  }
  result.n_elements = result.n_rows;
  if (has_open) {
    for_each_row(attribute.n_rows, within, [&](std::uint32_t row) {
      if (slots.slots[attribute.entry_at(row)] == kOpen) open.set(row);
    });
  }
  return result;
}

/// Rows with lists of codes, one after the other.
class ListCounter {
 public:
  ListCounter(const AttributeView& attribute, const EntrySlots& slots, Bitset& open)
      : attribute_(attribute), slots_(slots.slots), open_(open) {
    counts_.n_rows.resize(slots.n_slots);
    counts_.n_elements.resize(slots.n_slots);
  }

  void add(std::uint32_t row) {
    const auto places = attribute_.places_of(row);
    own_.clear();
    for (std::uint32_t i = places.first; i < places.last; ++i) {
      const std::uint32_t slot = slots_[attribute_.entry_at(i)];
      if (slot == kOpen) return open_.set(row);
      if (slot != kNone) own_.push_back(slot);
    }
    if (own_.empty()) ++counts_.n_without;
    for (const std::uint32_t slot : own_) ++counts_.n_elements[slot];
    if (own_.size() > 1) {
      std::sort(own_.begin(), own_.end());
      own_.erase(std::unique(own_.begin(), own_.end()), own_.end());
    }
    for (const std::uint32_t slot : own_) ++counts_.n_rows[slot];
  }
  SlotCounts take() { return std::move(counts_); }

 private:
  const AttributeView& attribute_;
  const std::vector<std::uint32_t>& slots_;
  Bitset& open_;
  std::vector<std::uint32_t> own_;  ///< slots of the row
  SlotCounts counts_;
};

}  // namespace

SlotCounts count_slots(const AttributeView& attribute, const EntrySlots& slots,
                       const Bitset* within, Bitset& open) {
  if (attribute.offsets.empty()) return count_single_codes(attribute, slots, within, open);
  ListCounter counter(attribute, slots, open);
  for_each_row(attribute.n_rows, within, [&](std::uint32_t row) { counter.add(row); });
  return counter.take();
}

}  // namespace quiver::payload
