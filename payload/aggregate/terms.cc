#include "payload/aggregate/terms.h"

#include <algorithm>
#include <functional>
#include <span>
#include <utility>

#include "base/hash.h"
#include "payload/column/kinds.h"

namespace quiver::payload {
namespace {

/// Memory of a term beside its text: a node of a map, and its place in the list that is ordered by
/// counts.
constexpr std::uint64_t kBytesPerTerm = 112;

/// Calls `visit` for each distinct value; `values` may be reordered in `scratch`.
template <class T, class Visit>
void for_each_distinct_value(std::span<const T> values, std::vector<T>& scratch,
                             const Visit& visit) {
  if (values.size() == 1) return visit(values.front());
  scratch.assign(values.begin(), values.end());
  std::sort(scratch.begin(), scratch.end());
  std::for_each(scratch.begin(), std::unique(scratch.begin(), scratch.end()), visit);
}

}  // namespace

std::size_t TermCollector::Hash::operator()(std::string_view text) const { return hash_text(text); }

EntrySlots TermCollector::slots_of(const AttributeView& attribute) const {
  EntrySlots slots(attribute);
  slots.n_slots = attribute.n_entries();
  for (const auto entry : {SpecialEntry::kFalse, SpecialEntry::kTrue}) {
    slots.set(entry, static_cast<std::uint32_t>(entry));
  }
  slots.set_single_numbers(attribute.integer_lows, attribute.integer_highs, kSpecialEntries);
  for (std::uint32_t text = 0; text < attribute.n_texts(); ++text) {
    const std::uint32_t entry = attribute.first_text() + text;
    slots.slots[entry] = attribute.is_exact_text(text) ? entry : EntrySlots::kOpen;
  }
  return slots;
}

void TermCollector::add(const AttributeView& attribute, const EntrySlots& /*slots*/,
                        const SlotCounts& counts) {
  n_missing_ += counts.n_without;
  bools_[0] += counts.n_rows[static_cast<std::size_t>(SpecialEntry::kFalse)];
  bools_[1] += counts.n_rows[static_cast<std::size_t>(SpecialEntry::kTrue)];
  const auto lows = attribute.integer_lows.span();
  for (std::size_t i = 0; i < lows.size(); ++i) {
    const std::uint64_t n = counts.n_rows[kSpecialEntries + i];
    if (n != 0) integers_[lows[i]] += n;
  }
  for (std::uint32_t text = 0; text < attribute.n_texts(); ++text) {
    const std::uint64_t n = counts.n_rows[attribute.first_text() + text];
    if (n != 0) add(attribute.text_low(text), n);
  }
}

bool TermCollector::reads(IndexKind kind) const {
  return kind == IndexKind::kKeyword || kind == IndexKind::kInteger || kind == IndexKind::kBool;
}

/// Elements of another type than the column's may be terms, too.
std::uint32_t TermCollector::undecided(IndexKind /*kind*/) const { return RowFacts::kOther; }

void TermCollector::add(const ColumnView& column, const Bitset& rows) {
  if (traits_of(column.index->kind).storage == ValueStorage::kIntegers) {
    add_integers(column, rows);
  } else {
    add_terms(column, rows);
  }
}

void TermCollector::add_terms(const ColumnView& column, const Bitset& rows) {
  std::vector<std::uint32_t> counts(column.n_terms());
  std::vector<std::uint32_t> scratch;
  rows.for_each([&](std::size_t row) {
    const auto terms = column.row_terms(static_cast<std::uint32_t>(row));
    if (terms.empty()) ++n_missing_;
    for_each_distinct_value(terms, scratch, [&](std::uint32_t term) {
      if (term < counts.size()) ++counts[term];
    });
  });
  const bool are_bools = column.index->kind == IndexKind::kBool;
  for (std::uint32_t term = 0; term < counts.size(); ++term) {
    if (counts[term] == 0) continue;
    if (are_bools) {
      bools_[term] += counts[term];
    } else {
      add(column.term(term), counts[term]);
    }
  }
}

void TermCollector::add_integers(const ColumnView& column, const Bitset& rows) {
  std::vector<std::int64_t> scratch;
  rows.for_each([&](std::size_t row) {
    const auto values = column.row_integers(static_cast<std::uint32_t>(row));
    if (values.empty()) ++n_missing_;
    for_each_distinct_value(values, scratch, [&](std::int64_t value) { ++integers_[value]; });
  });
}

void TermCollector::add(const Value& document) {
  std::vector<std::string_view> texts;
  std::vector<std::int64_t> integers;
  std::array<bool, 2> bools{};
  for_each_element(document, path(), [&](const Value& element) {
    if (const auto* text = element.as_string()) texts.emplace_back(*text);
    if (const auto* integer = element.as_i64()) integers.push_back(*integer);
    if (const auto* flag = element.as_bool()) bools[*flag ? 1 : 0] = true;
  });
  if (texts.empty() && integers.empty() && !bools[0] && !bools[1]) ++n_missing_;
  std::vector<std::string_view> text_scratch;
  std::vector<std::int64_t> integer_scratch;
  for_each_distinct_value<std::string_view>(texts, text_scratch,
                                            [&](std::string_view text) { add(text, 1); });
  for_each_distinct_value<std::int64_t>(integers, integer_scratch,
                                        [&](std::int64_t value) { ++integers_[value]; });
  for (std::size_t i = 0; i < bools.size(); ++i) bools_[i] += bools[i] ? 1 : 0;
}

void TermCollector::add(std::string_view text, std::uint64_t n_rows) {
  const auto found = texts_.find(text);
  if (found != texts_.end()) {
    found->second += n_rows;
  } else {
    texts_.emplace(text, n_rows);
    text_bytes_ += text.size();
  }
}

Result<> TermCollector::check_room(const ColumnView& column, std::size_t n_rows) const {
  const bool are_integers = traits_of(column.index->kind).storage == ValueStorage::kIntegers;
  // A row of integers may have more than one, but rows with many are rare.
  const std::size_t n_terms = are_integers ? n_rows : column.n_terms();
  const std::size_t n_new = std::min(n_terms, n_rows);
  const std::uint64_t n_bytes =
      are_integers || n_terms == 0 ? 0 : column.term_bytes.size() / n_terms * n_new;
  return process_memory().check(n_new * kBytesPerTerm + n_bytes, kPurpose);
}

Result<> TermCollector::check() {
  const std::uint64_t n_bytes = (texts_.size() + integers_.size()) * kBytesPerTerm + text_bytes_;
  return memory_.add(n_bytes - std::exchange(asked_bytes_, n_bytes));
}

std::uint64_t TermCollector::n_distinct() const {
  return texts_.size() + integers_.size() + (bools_[0] != 0 ? 1 : 0) + (bools_[1] != 0 ? 1 : 0);
}

std::vector<TermCount> TermCollector::most_frequent(std::uint64_t limit) const {
  using Key = std::variant<std::string_view, std::int64_t, bool>;
  std::vector<std::pair<Key, std::uint64_t>> all;
  all.reserve(n_distinct());
  for (const auto& [text, n] : texts_) all.emplace_back(std::string_view(text), n);
  for (const auto& [value, n] : integers_) all.emplace_back(value, n);
  for (std::size_t i = 0; i < bools_.size(); ++i) {
    if (bools_[i] != 0) all.emplace_back(i == 1, bools_[i]);
  }
  const auto n = static_cast<std::ptrdiff_t>(std::min<std::uint64_t>(limit, all.size()));
  std::partial_sort(all.begin(), all.begin() + n, all.end(), [](const auto& a, const auto& b) {
    return a.second != b.second ? a.second > b.second : a.first < b.first;
  });
  std::vector<TermCount> counts;
  for (const auto& [key, n_rows] : std::span(all).first(static_cast<std::size_t>(n))) {
    if (const auto* text = std::get_if<std::string_view>(&key)) {
      counts.push_back({std::string(*text), n_rows});
    } else if (const auto* integer = std::get_if<std::int64_t>(&key)) {
      counts.push_back({*integer, n_rows});
    } else {
      counts.push_back({std::get<bool>(key), n_rows});
    }
  }
  return counts;
}

}  // namespace quiver::payload
