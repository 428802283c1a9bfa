#include "engine/query/facets.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <type_traits>
#include <utility>

#include "base/observe/memory_budget.h"
#include "engine/segment/columns.h"
#include "engine/segment/segment_rows.h"
#include "payload/column/counts.h"
#include "payload/column/kinds.h"

namespace quiver::engine {
namespace {

using payload::ColumnView;
using payload::IndexKind;

constexpr std::size_t kValuesBetweenChecks = 4096;

/// A value under which counts of several segments are added up: a text, or an integer.
template <class Key>
struct Counted {
  Key key;
  std::uint64_t count = 0;
};
/// Ascending by key.
template <class Key>
using FacetCounts = std::vector<Counted<Key>>;

std::string_view key_of(const ColumnView& column, const payload::ValueCount& value,
                        std::string_view /*tag*/) {
  return column.term(static_cast<std::uint32_t>(value.value));
}
std::int64_t key_of(const ColumnView& /*column*/, const payload::ValueCount& value,
                    std::int64_t /*tag*/) {
  return value.integer();
}

/// An error about memory if there is no room for the counts of a column.
template <class Key>
Result<> check_room(const ColumnView& column) {
  constexpr bool kAreTexts = std::is_same_v<Key, std::string_view>;
  const std::size_t n_values = kAreTexts ? column.n_terms() : column.integers.size();
  // They are counted, then listed, then added to those of other segments.
  constexpr std::size_t kBytesPerValue = sizeof(payload::ValueCount) + 2 * sizeof(Counted<Key>);
  return process_memory().check(n_values * kBytesPerValue, "a facet");
}

/// The values of the segment's live rows that match. The keys borrow from the segment.
template <class Key>
Result<FacetCounts<Key>> counts_of(const Segment& segment, const ColumnView& column,
                                   const payload::Predicate* predicate, const Cancel& cancel) {
  QV_TRY(check_room<Key>(column));
  std::vector<payload::ValueCount> values;
  if (predicate == nullptr && segment.n_deleted == 0) {
    values = payload::count_values(column, nullptr);
  } else {
    QV_TRY(const Bitset rows, matching_rows(segment, predicate, cancel));
    values = payload::count_values(column, &rows);
  }
  FacetCounts<Key> counts;
  counts.reserve(values.size());
  for (const auto& value : values) counts.push_back({key_of(column, value, Key{}), value.n_rows});
  return counts;
}

/// Adds up the counts of equal keys. `parts` are ascending; so is the result.
template <class Key>
Result<FacetCounts<Key>> summed(std::vector<FacetCounts<Key>> parts, const Cancel& cancel) {
  struct Cursor {
    const FacetCounts<Key>* part;
    std::size_t next;
    [[nodiscard]] const Counted<Key>& value() const { return (*part)[next]; }
  };
  std::erase_if(parts, [](const FacetCounts<Key>& part) { return part.empty(); });
  if (parts.size() == 1) return std::move(parts.front());
  const auto later = [](const Cursor& a, const Cursor& b) { return b.value().key < a.value().key; };
  std::vector<Cursor> heap;
  for (const auto& part : parts) heap.push_back({&part, 0});
  std::make_heap(heap.begin(), heap.end(), later);
  FacetCounts<Key> sums;
  for (std::size_t i = 0; !heap.empty(); ++i) {
    if (i % kValuesBetweenChecks == 0) QV_TRY(cancel.check());
    std::pop_heap(heap.begin(), heap.end(), later);
    Cursor& least = heap.back();
    if (sums.empty() || sums.back().key != least.value().key) sums.push_back({least.value().key});
    sums.back().count += least.value().count;
    if (++least.next < least.part->size()) {
      std::push_heap(heap.begin(), heap.end(), later);
    } else {
      heap.pop_back();
    }
  }
  return sums;
}

FacetValue value_of(std::string_view key, IndexKind /*kind*/) { return std::string(key); }
FacetValue value_of(std::int64_t key, IndexKind kind) {
  if (kind == IndexKind::kBool) return key != 0;
  return key;
}

/// The most frequent of `counts`, of equally frequent ones the lesser value.
template <class Key>
std::vector<FacetHit> most_frequent(FacetCounts<Key> counts, std::uint64_t limit, IndexKind kind) {
  const auto n = static_cast<std::ptrdiff_t>(std::min<std::uint64_t>(limit, counts.size()));
  std::partial_sort(counts.begin(), counts.begin() + n, counts.end(),
                    [](const Counted<Key>& a, const Counted<Key>& b) {
                      return a.count != b.count ? a.count > b.count : a.key < b.key;
                    });
  std::vector<FacetHit> hits;
  hits.reserve(static_cast<std::size_t>(n));
  for (auto it = counts.begin(); it != counts.begin() + n; ++it) {
    hits.push_back({value_of(it->key, kind), it->count});
  }
  return hits;
}

template <class Key>
Result<std::vector<FacetHit>> facet_hits(const Snapshot& snapshot, const FacetRequest& request,
                                         const payload::Predicate* predicate, IndexKind kind,
                                         const Cancel& cancel) {
  std::vector<FacetCounts<Key>> parts;
  for (const Segment* segment : snapshot.segments()) {
    QV_TRY(cancel.check());
    const auto column = segment->data->columns.find(request.key);
    if (column == segment->data->columns.end() || column->second.index->kind != kind) {
      return fail(Code::kUnavailable,
                  fmt::format("the index of `{}` is still being built", request.key));
    }
    QV_TRY(auto counts, counts_of<Key>(*segment, column->second, predicate, cancel));
    parts.push_back(std::move(counts));
  }
  QV_TRY(auto sums, summed(std::move(parts), cancel));
  return most_frequent(std::move(sums), request.limit, kind);
}

}  // namespace

Result<std::vector<FacetHit>> count_facets(const Snapshot& snapshot, const CollectionConfig& config,
                                           const FacetRequest& request, const Cancel& cancel) {
  const auto* index = find_index(config.indexes, request.key);
  if (index == nullptr || !payload::is_countable(*index)) {
    return fail(Code::kInvalidArgument,
                fmt::format("No appropriate index for faceting: `{}`. Please create one to facet "
                            "on this field: keyword, integer, uuid and bool indexes can.",
                            request.key));
  }
  std::shared_ptr<const payload::Predicate> predicate;
  if (request.filter) {
    QV_TRY(predicate, payload::compile(*request.filter, config.indexes));
  }
  if (predicate != nullptr && predicate->always_true()) predicate = nullptr;
  const bool are_texts = payload::traits_of(index->kind).has_dictionary();
  return are_texts
             ? facet_hits<std::string_view>(snapshot, request, predicate.get(), index->kind, cancel)
             : facet_hits<std::int64_t>(snapshot, request, predicate.get(), index->kind, cancel);
}

}  // namespace quiver::engine
