// What an aggregation gathers from the rows of segments, and the three forms in which it gets them.
//
// A collector takes each matching row once: from the attribute of its path where entries tell its
// values exactly enough, else from the column of a declared index, else from its document. The
// outcome does not depend on which. It knows the elements under its path as filters do: an array
// stands for its elements, one level.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "base/bitset.h"
#include "base/io/shared_span.h"
#include "base/result.h"
#include "payload/attribute/attribute.h"
#include "payload/column/column.h"
#include "payload/json/document.h"
#include "payload/json/path.h"

namespace quiver::payload {

/// The slot in which the codes of each entry of an attribute are counted.
struct EntrySlots {
  static constexpr std::uint32_t kNone = 0xFFFFFFFF;  ///< the entry holds nothing to count
  static constexpr std::uint32_t kOpen = 0xFFFFFFFE;  ///< it does not tell what there is to count

  std::vector<std::uint32_t>
      slots;  ///< [AttributeView::entry_bound]: below `n_slots`, or one of the above
  std::uint32_t n_slots = 0;
  std::vector<double> labels;  ///< [n_slots], if the collector needs them

  explicit EntrySlots(const AttributeView& attribute) : slots(attribute.entry_bound(), kNone) {}
  void set(SpecialEntry entry, std::uint32_t slot) {
    slots[static_cast<std::size_t>(entry)] = slot;
  }
  /// Gives each entry that is one number the slot of its own number; ranges are open.
  template <class T>
  void set_single_numbers(const SharedSpan<T>& lows, const SharedSpan<T>& highs,
                          std::uint32_t first_entry) {
    for (std::uint32_t i = 0; i < lows.size(); ++i) {
      const bool is_single = highs.empty() || lows[i] == highs[i];
      slots[first_entry + i] = is_single ? first_entry + i : kOpen;
    }
  }
};

/// Codes of chosen rows by slot.
struct SlotCounts {
  std::vector<std::uint32_t> n_rows;      ///< [n_slots] rows with a code, once or more
  std::vector<std::uint32_t> n_elements;  ///< [n_slots] codes
  std::uint64_t n_without = 0;            ///< rows without a code that has a slot
};

/// One thread.
class Collector {
 public:
  /// `path` without `[]` at its end.
  explicit Collector(JsonPath path) : path_(std::move(path)) {}
  virtual ~Collector() = default;
  Collector(const Collector&) = delete;
  Collector& operator=(const Collector&) = delete;

  [[nodiscard]] const JsonPath& path() const { return path_; }
  /// Rows without a value to collect.
  [[nodiscard]] std::uint64_t n_missing() const { return n_missing_; }
  /// Adds rows that are known to have none.
  void add_missing(std::uint64_t n_rows) { n_missing_ += n_rows; }

  [[nodiscard]] virtual EntrySlots slots_of(const AttributeView& attribute) const = 0;
  /// Adds rows by their codes. `slots` are those of the attribute.
  virtual void add(const AttributeView& attribute, const EntrySlots& slots,
                   const SlotCounts& counts) = 0;
  /// True if columns of this kind hold what is collected.
  [[nodiscard]] virtual bool reads(IndexKind kind) const = 0;
  /// Facts (`RowFacts::Flag`) of rows that a column of this kind does not tell enough about.
  [[nodiscard]] virtual std::uint32_t undecided(IndexKind kind) const = 0;
  /// Adds rows without such facts. It reads the kind of the column.
  virtual void add(const ColumnView& column, const Bitset& rows) = 0;
  /// An error about memory if there is no room for what the rows of a column may add.
  [[nodiscard]] virtual Result<> check_room(const ColumnView& /*column*/,
                                            std::size_t /*n_rows*/) const {
    return {};
  }
  virtual void add(const Value& document) = 0;
  /// Asked again and again while documents are added. kInvalidArgument if there is more to collect
  /// than an answer may hold; an error about memory if there is no room for it.
  [[nodiscard]] virtual Result<> check() { return {}; }

 protected:
  std::uint64_t n_missing_ = 0;

 private:
  const JsonPath path_;
};

}  // namespace quiver::payload
