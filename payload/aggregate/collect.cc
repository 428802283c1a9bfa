#include "payload/aggregate/collect.h"

#include <algorithm>
#include <bit>
#include <string>
#include <utility>
#include <vector>

#include "base/bitset_slice.h"
#include "payload/aggregate/slot_counts.h"

namespace quiver::payload {
namespace {

constexpr std::uint32_t kRowsPerWord = 64;
/// Documents parsed between two polls of `cancel`.
constexpr std::uint32_t kDocumentsPerPoll = 16;

/// Collects from one source after the other. `open_` has the rows that are left.
class SegmentCollection {
 public:
  SegmentCollection(Collector& collector, const RowsView& rows, const Bitset* within)
      : collector_(collector), rows_(rows), within_(within) {}

  void take_attributes() {
    const std::string path = attribute_path(collector_.path());
    const auto parts = path.empty() ? std::vector<AttributePart>() : rows_.attributes(path);
    const bool is_one_part = parts.size() == 1 && parts.front().n_rows == rows_.n_rows();
    if (is_one_part) {
      open_ = take(parts.front().view, within_, rows_.n_rows());
      return;
    }
    open_ = within_ != nullptr ? *within_ : Bitset(rows_.n_rows(), true);
    for (const AttributePart& part : parts) {
      if (part.first_row + part.n_rows > rows_.n_rows()) continue;
      const Bitset own = slice_of(open_, part.first_row, part.n_rows);
      put_slice(take(part.view, &own, part.n_rows), part.first_row, open_);
    }
  }

  Result<> take_column(std::span<const FieldIndex> indexes) {
    const ColumnView* column = find_column(indexes);
    if (column == nullptr || open_.none()) return {};
    const std::uint32_t undecided = collector_.undecided(column->index->kind);
    Bitset left(open_.size());
    for (const std::uint32_t row : column->irregular) {
      if (row < open_.size() && open_.test(row) && column->facts[row].has(undecided)) left.set(row);
    }
    open_.subtract(left);
    QV_TRY(collector_.check_room(*column, open_.count()));
    collector_.add(*column, open_);
    open_ = std::move(left);
    return {};
  }

  [[nodiscard]] bool is_open(std::uint32_t row) const { return open_.test(row); }
  [[nodiscard]] const Bitset& open() const { return open_; }
  void take_document(const Value& document) { collector_.add(document); }
  [[nodiscard]] Result<> check() const { return collector_.check(); }

 private:
  /// Returns the rows that are left. `view`: nullptr if the path leads to nothing.
  Bitset take(const AttributeView* view, const Bitset* within, std::uint32_t n_rows) {
    Bitset open(n_rows);
    if (view == nullptr) {
      collector_.add_missing(within != nullptr ? within->count() : n_rows);
    } else {
      const EntrySlots slots = collector_.slots_of(*view);
      collector_.add(*view, slots, count_slots(*view, slots, within, open));
    }
    return open;
  }

  [[nodiscard]] const ColumnView* find_column(std::span<const FieldIndex> indexes) const {
    for (const FieldIndex& index : indexes) {
      const auto path = JsonPath::parse(index.key);
      if (!path || *path != collector_.path() || !collector_.reads(index.kind)) continue;
      const ColumnView* column = rows_.column(index.key);
      if (column == nullptr || column->n_rows < rows_.n_rows()) return nullptr;
      return column->index->kind == index.kind ? column : nullptr;
    }
    return nullptr;
  }

  Collector& collector_;
  const RowsView& rows_;
  const Bitset* within_;
  Bitset open_;
};

Result<> take_documents(std::vector<SegmentCollection>& collections, const RowsView& rows,
                        const Bitset& open, const Cancel& cancel) {
  std::uint32_t n_done = 0;
  const auto words = open.words();
  for (std::size_t w = 0; w < words.size(); ++w) {
    for (std::uint64_t rest = words[w]; rest != 0; rest &= rest - 1) {
      const auto row = static_cast<std::uint32_t>(w * kRowsPerWord) +
                       static_cast<std::uint32_t>(std::countr_zero(rest));
      if (n_done++ % kDocumentsPerPoll == 0) {
        QV_TRY(cancel.check());
        for (const auto& collection : collections) QV_TRY(collection.check());
      }
      QV_TRY(const Value document, read_document(rows, row));
      for (auto& collection : collections) {
        if (collection.is_open(row)) collection.take_document(document);
      }
    }
  }
  return {};
}

}  // namespace

Result<> collect(std::span<Collector* const> collectors, const RowsView& rows, const Bitset* within,
                 std::span<const FieldIndex> indexes, const Cancel& cancel) {
  std::vector<SegmentCollection> collections;
  Bitset open(rows.n_rows());
  for (Collector* collector : collectors) {
    QV_TRY(cancel.check());
    SegmentCollection collection(*collector, rows, within);
    collection.take_attributes();
    QV_TRY(collection.take_column(indexes));
    open |= collection.open();
    collections.push_back(std::move(collection));
  }
  QV_TRY(take_documents(collections, rows, open, cancel));
  for (Collector* collector : collectors) QV_TRY(collector->check());
  return {};
}

}  // namespace quiver::payload
