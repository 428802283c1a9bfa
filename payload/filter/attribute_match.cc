#include "payload/filter/attribute_match.h"

#include <algorithm>
#include <array>
#include <bit>
#include <utility>

#include "base/bitset_slice.h"
#include "base/views.h"
#include "kernels/kernels.h"
#include "payload/filter/code_match.h"
#include "payload/filter/entry_states.h"
#include "payload/scalar/number.h"

namespace quiver::payload {
namespace {

using enum EntryState;

constexpr std::uint32_t kRowsPerWord = 64;

/// Calls `visit(row, first, last)` with the codes of each row of `within`.
template <class Visit>
void for_each_list(const AttributeView& attribute, const RowSet& within, Visit visit) {
  within.for_each([&](std::size_t row) {
    const auto places = attribute.places_of(row);
    visit(row, places.first, places.last);
  });
}

constexpr auto kManyRootsEntry = static_cast<std::uint32_t>(SpecialEntry::kManyRoots);

/// Rows with lists of codes: one element that matches is enough.
class ListMatcher {
 public:
  ListMatcher(const AttributeView& attribute, const EntryStates& entries, const RowSet& within)
      : attribute_(attribute),
        entries_(entries),
        within_(within),
        verdict_(Verdict::none_like(within)) {}

  Verdict run() {
    if (entries_.needs_one_root) {
      match_each_row();
    } else if (within_.is_listed()) {
      match_each_code();
    } else {
      match_codes();
    }
    verdict_.maybe.subtract(verdict_.yes);
    return std::move(verdict_);
  }

 private:
  /// Finds the codes that match first, and then their rows.
  void match_codes() {
    const CellClasses classes = classes_of(attribute_, entries_.states);
    const std::size_t n_codes = attribute_.cells.size();
    for (std::size_t begin = 0; begin < n_codes; begin += kRowsPerCellRange) {
      const std::size_t n = std::min<std::size_t>(kRowsPerCellRange, n_codes - begin);
      std::array<std::uint64_t, kRowsPerCellRange / kRowsPerWord> yes{};
      std::array<std::uint64_t, kRowsPerCellRange / kRowsPerWord> open{};
      kernels().cells.classify(attribute_.cells.data() + begin, n, classes, yes.data(),
                               open.data());
      for (std::size_t w = 0; w < yes.size(); ++w) {
        for (std::uint64_t rest = yes[w] | open[w]; rest != 0; rest &= rest - 1) {
          add_code(begin + w * kRowsPerWord + static_cast<std::size_t>(std::countr_zero(rest)));
        }
      }
    }
  }

  /// `position` ascends from call to call.
  void add_code(std::size_t position) {
    const std::uint32_t* offsets = attribute_.offsets.data();
    const std::uint32_t n_rows = attribute_.n_rows;
    std::uint32_t step = 1;
    while (row_ + step < n_rows && offsets[row_ + step] <= position) step *= 2;
    for (; step > 0; step /= 2) {
      if (row_ + step < n_rows && offsets[row_ + step] <= position) row_ += step;
    }
    if (row_ >= within_.size() || !within_.test(row_)) return;
    const EntryState state = entries_.states[attribute_.entry_at(position)];
    if (state == kYes) verdict_.yes.set(row_);
    if (state == kMaybe) verdict_.maybe.set(row_);
  }

  /// Row by row: for few rows.
  void match_each_code() {
    for_each_list(attribute_, within_,
                  [&](std::size_t row, std::uint32_t first, std::uint32_t last) {
                    for (std::uint32_t i = first; i < last; ++i) {
                      const EntryState state = entries_.states[attribute_.entry_at(i)];
                      if (state == kYes) verdict_.yes.set(row);
                      if (state == kMaybe) verdict_.maybe.set(row);
                    }
                  });
  }

  void match_each_row() {
    for_each_list(attribute_, within_,
                  [&](std::size_t row, std::uint32_t first, std::uint32_t last) {
                    for (std::uint32_t i = first; i < last; ++i) {
                      const std::uint32_t entry = attribute_.entry_at(i);
                      if (entry == kManyRootsEntry) return verdict_.maybe.set(row);
                      if (entries_.states[entry] == kYes) return verdict_.yes.set(row);
                    }
                  });
  }

  const AttributeView& attribute_;
  const EntryStates& entries_;
  const RowSet& within_;
  std::uint32_t row_ = 0;  ///< of the last code
  Verdict verdict_;
};

/// The rows of `within` that are neither.
void negate(Verdict& verdict, const RowSet& within) {
  RowSet no = within;
  no.subtract(verdict.yes);
  no.subtract(verdict.maybe);
  verdict.yes = std::move(no);
}

Verdict match_counts(const AttributeView& attribute, const ValuesCount& condition,
                     const RowSet& within) {
  Verdict verdict = Verdict::none_like(within);
  for_each_list(attribute, within, [&](std::size_t row, std::uint32_t first, std::uint32_t last) {
    std::uint64_t n = 0;
    for (std::uint32_t i = first; i < last; ++i) {
      const std::uint32_t entry = attribute.entry_at(i);
      if (entry == kManyRootsEntry) return verdict.maybe.set(row);
      n += n_values_of(entry);
    }
    if (in_range(condition, n)) verdict.yes.set(row);
  });
  return verdict;
}

std::optional<Estimate> estimate_attribute(const AttributeView& attribute,
                                           const PreparedCondition& condition) {
  const std::uint64_t n_rows = attribute.n_rows;
  const auto entries = code_states(attribute, condition);
  if (!entries) return std::nullopt;
  std::uint64_t n_yes = 0;
  std::uint64_t n_maybe = 0;
  const auto counts = attribute.counts.span();
  for (std::size_t entry = 0; entry < counts.size(); ++entry) {
    if (entries->states[entry] == kYes) n_yes += counts[entry];
    if (entries->states[entry] == kMaybe) n_maybe += counts[entry];
  }
  if (!attribute.offsets.empty()) {  // a row may have several of these codes
    const bool is_sum = !entries->is_negated && !std::holds_alternative<ValuesCount>(condition);
    if (!is_sum) return Estimate{0, n_rows / 2, n_rows};
    const std::uint64_t most = std::min(n_rows, n_yes + n_maybe);
    return Estimate{0, std::min(most, n_yes + n_maybe / 2), most};
  }
  if (entries->is_negated) n_yes = n_rows - n_yes - n_maybe;
  return Estimate{n_yes, n_yes + n_maybe / 2, n_yes + n_maybe};
}

/// Rows whose path leads to nothing: all match, or none.
std::optional<Verdict> match_missing(const PreparedCondition& condition, const RowSet& within) {
  const auto entries = code_states(AttributeView(), condition);
  if (!entries) return std::nullopt;
  const EntryState state = entries->states[static_cast<std::size_t>(SpecialEntry::kMissing)];
  const bool matches = (state == kYes) != entries->is_negated;
  return Verdict{matches ? within : RowSet::none_like(within), RowSet::none_like(within)};
}

std::optional<Estimate> estimate_missing(const PreparedCondition& condition, std::uint64_t n_rows) {
  const auto verdict = match_missing(condition, RowSet(Bitset(1, true)));
  if (!verdict) return std::nullopt;
  return verdict->yes.test(0) ? Estimate{n_rows, n_rows, n_rows} : Estimate{};
}

}  // namespace

std::optional<Verdict> match_attribute(const AttributeView& attribute,
                                       const PreparedCondition& condition, const RowSet& within) {
  if (const auto codes = CodeCondition::make(attribute, condition)) {
    return match_codes({&*codes, 1}, within);
  }
  if (attribute.offsets.empty()) return std::nullopt;
  const auto* count = std::get_if<ValuesCount>(&condition);
  if (count != nullptr) return match_counts(attribute, *count, within);
  const auto entries = entry_states(attribute, condition);
  if (!entries) return std::nullopt;
  Verdict verdict = ListMatcher(attribute, *entries, within).run();
  if (entries->is_negated) negate(verdict, within);
  return verdict;
}

namespace {

std::optional<Verdict> match_part(const AttributePart& part, const PreparedCondition& condition,
                                  const RowSet& rows) {
  return part.view != nullptr ? match_attribute(*part.view, condition, rows)
                              : match_missing(condition, rows);
}

}  // namespace

Verdict match_attributes(std::span<const AttributePart> parts, const PreparedCondition& condition,
                         const RowSet& within) {
  const Verdict unknown{RowSet::none_like(within), within};
  if (parts.size() == 1 && parts[0].first_row == 0 && parts[0].n_rows >= within.size()) {
    return match_part(parts[0], condition, within).value_or(unknown);
  }
  // A listed set comes from sealed columns, and sealed rows have one part.
  if (within.is_listed() || within.none()) return unknown;
  const Bitset all = RowSet(within).take_bits();
  Bitset yes(within.size());
  Bitset maybe = all;
  for (const AttributePart& part : parts) {
    if (part.first_row >= within.size()) continue;
    const RowSet rows(slice_of(all, part.first_row,
                               std::min<std::size_t>(part.n_rows, within.size() - part.first_row)));
    auto of_part = match_part(part, condition, rows);
    if (!of_part) continue;
    put_slice(std::move(of_part->yes).take_bits(), part.first_row, yes);
    put_slice(std::move(of_part->maybe).take_bits(), part.first_row, maybe);
  }
  return {RowSet(std::move(yes)), RowSet(std::move(maybe))};
}

Estimate estimate_attributes(std::span<const AttributePart> parts,
                             const PreparedCondition& condition, std::uint64_t n_rows) {
  Estimate sum;
  std::uint64_t n_unknown = n_rows;
  for (const AttributePart& part : parts) {
    const auto of_part = part.view != nullptr ? estimate_attribute(*part.view, condition)
                                              : estimate_missing(condition, part.n_rows);
    if (!of_part || part.n_rows > n_unknown) continue;
    n_unknown -= part.n_rows;
    sum.min += of_part->min;
    sum.expected += of_part->expected;
    sum.max += of_part->max;
  }
  return {sum.min, sum.expected + n_unknown / 2, sum.max + n_unknown};
}

}  // namespace quiver::payload
