#include "payload/column/column.h"

#include <algorithm>

#include "base/hash.h"
#include "base/views.h"
#include "payload/column/kinds.h"
#include "payload/column/sealing.h"

namespace quiver::payload {
namespace {

template <class T>
std::span<const T> row_of(const ColumnView& view, const SharedSpan<T>& values, std::uint32_t row) {
  return part_of(values.span(), view.offsets[row], view.offsets[row + 1]);
}

}  // namespace

std::uint32_t ColumnView::n_terms() const {
  if (const auto n_fixed = traits_of(index->kind).n_fixed_terms; n_fixed != 0) return n_fixed;
  return term_offsets.empty() ? 0 : static_cast<std::uint32_t>(term_offsets.size() - 1);
}

std::string_view ColumnView::term(std::uint32_t id) const {
  if (std::size_t{id} + 1 >= term_offsets.size()) return {};
  const auto text = part_of(term_bytes.span(), term_offsets[id], term_offsets[id + 1]);
  return {text.data(), text.size()};
}

std::uint32_t ColumnView::first_term_from(std::string_view text) const {
  // Terms before the sample `first - 1` are less than `text`, those from `end` on are greater.
  const std::uint64_t start = text_start(text);
  const auto first = std::lower_bound(term_samples.begin(), term_samples.end(), start);
  const auto end = std::upper_bound(first, term_samples.end(), start);
  const auto term_of = [&](const std::uint64_t* sample) {
    return static_cast<std::uint32_t>(sample - term_samples.begin()) * kTermsPerSample;
  };
  std::uint32_t low = first == term_samples.begin() ? 0 : term_of(first - 1);
  std::uint32_t high = end == term_samples.end() ? n_terms() : term_of(end);
  while (low < high) {
    const std::uint32_t middle = low + (high - low) / 2;
    if (term(middle) < text) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

std::uint32_t ColumnView::find_term(std::string_view text) const {
  if (sealed) {
    const std::uint32_t id = first_term_from(text);
    return id < n_terms() && term(id) == text ? id : kNoTerm;
  }
  const std::uint64_t hash = hash_text(text);
  const std::uint32_t found = term_table->find(hash, [&](std::uint32_t id) {
    return id < term_hashes.size() && term_hashes[id] == hash && term(id) == text;
  });
  return found == SlotTable::kNone ? kNoTerm : found;
}

std::span<const std::uint32_t> ColumnView::row_terms(std::uint32_t row) const {
  return row_of(*this, terms, row);
}
std::span<const std::int64_t> ColumnView::row_integers(std::uint32_t row) const {
  return row_of(*this, integers, row);
}
std::span<const double> ColumnView::row_doubles(std::uint32_t row) const {
  return row_of(*this, doubles, row);
}
std::span<const GeoPoint> ColumnView::row_points(std::uint32_t row) const {
  return row_of(*this, points, row);
}

std::span<const std::uint32_t> ColumnView::postings(std::uint32_t term_id) const {
  if (std::size_t{term_id} + 1 >= posting_offsets.size()) return {};
  return part_of(posting_rows.span(), posting_offsets[term_id], posting_offsets[term_id + 1]);
}

std::uint64_t ColumnView::count_rows_with_values(const Bitset& live) const {
  std::uint64_t n = 0;
  live.for_each([&](std::size_t row) { n += offsets[row + 1] > offsets[row] ? 1 : 0; });
  return n;
}

}  // namespace quiver::payload
