#include "payload/filter/column_match.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "payload/column/kinds.h"
#include "payload/filter/column_terms.h"

namespace quiver::payload {
namespace {

/// Postings that are read in the time that the terms of one row take, which lie at a random place.
constexpr std::size_t kPostingsPerRow = 8;

/// True if an element of `type` may be stored as a value of the column.
bool may_hold(const IndexTraits& traits, ScalarType type) {
  switch (type) {
    case ScalarType::kString:
      return traits.element == ElementType::kString;
    case ScalarType::kInteger:
      return traits.element == ElementType::kInteger || traits.element == ElementType::kNumber;
    case ScalarType::kBool:
      return traits.element == ElementType::kBool;
    case ScalarType::kNone:
      return false;
  }
  return false;
}

class Matcher {
 public:
  Matcher(const ColumnView& column, const RowSet& within)
      : column_(column),
        traits_(traits_of(column.index->kind)),
        within_(within),
        out_(Verdict::none_like(within)) {}
  Verdict take() { return std::move(out_); }

  void match(const MembershipCondition& condition) {
    if (condition.mode == MembershipCondition::Mode::kNoneOf) {
      match_none_of(condition);
    } else if (condition.type == ScalarType::kNone) {
      return;
    } else if (!holds(traits_.kind, condition.type)) {
      unsure(may_hold(traits_, condition.type) ? RowFacts::kElement : RowFacts::kOther);
    } else if (condition.type == ScalarType::kInteger) {
      match_integers(condition.integers);
    } else {
      match_terms(wanted_terms(column_, condition));
    }
  }

  void match(const TextCondition& condition) {
    if (condition.words.empty()) return;
    if (condition.tokens && traits_.decides(Decidable::kTokens)) {
      match_tokens(condition);
    } else if (!condition.tokens && traits_.decides(Decidable::kStringParts)) {
      match_terms(accepted_terms(column_, condition));
    } else {
      unsure_about_strings();
    }
  }

  void match(const PrefixCondition& condition) {
    if (traits_.decides(Decidable::kStringParts)) {
      match_terms(prefixed_terms(column_, condition.prefix));
    } else {
      unsure_about_strings();
    }
  }

  void match(const RangeCondition& condition) {
    if (!traits_.decides(Decidable::kRange)) return unsure(RowFacts::kOther);
    if (traits_.storage == ValueStorage::kIntegers) {
      match_interval(column_.integers, column_.sorted_integers, condition.integers);
      unsure(RowFacts::kOther);
    } else {
      match_interval(column_.doubles, column_.sorted_doubles, condition.doubles);
      for_each_irregular(RowFacts::kInexact, [&](std::uint32_t row) {
        out_.yes.reset(row);
        out_.maybe.set(row);
      });
    }
  }

  void match(const DatetimeCondition& condition) {
    if (traits_.decides(Decidable::kDatetimeRange)) {
      match_interval(column_.integers, column_.sorted_integers, condition.micros);
    } else {
      unsure_about_strings();
    }
  }

  void match(const GeoCondition& condition) {
    if (!traits_.decides(Decidable::kGeo)) return unsure(RowFacts::kOther);
    const auto check = [&](std::uint32_t row) {
      const auto points = column_.row_points(row);
      if (std::any_of(points.begin(), points.end(),
                      [&](const GeoPoint& point) { return condition.accepts(point); })) {
        out_.yes.set(row);
      }
    };
    if (column_.sealed) {
      const auto range = find_sorted<double>(column_.sorted_doubles.span(), condition.latitudes.low,
                                             condition.latitudes.high);
      if (range.size() <= n_within()) return for_each_sorted(range, check);
    }
    within_.for_each([&](std::size_t row) { check(static_cast<std::uint32_t>(row)); });
  }

  void match(const ValuesCount& condition) {
    const RowFacts* facts = column_.facts.data();
    within_.for_each([&](std::size_t row) {
      if (facts[row].has(RowFacts::kManyRoots)) {
        out_.maybe.set(row);
      } else if (in_range(condition, facts[row].count)) {
        out_.yes.set(row);
      }
    });
  }
  void match(const IsEmpty& condition) { match_flag(RowFacts::kEmpty, condition.value); }
  void match(const IsNull& condition) {
    if (condition.in_arrays) return match_flag(RowFacts::kNull, condition.value);
    const RowFacts* facts = column_.facts.data();
    within_.for_each([&](std::size_t row) {
      const bool has_null = facts[row].has(RowFacts::kNull);
      if (has_null && facts[row].has(RowFacts::kManyRoots)) {
        out_.maybe.set(row);
      } else if ((has_null && facts[row].count == 0) == condition.value) {
        out_.yes.set(row);  // an array with a null in it has a count
      }
    });
  }

 private:
  std::size_t n_within() {
    if (!n_within_) n_within_ = within_.count();
    return *n_within_;
  }
  /// Rows that are found by their values in the time that all rows of `within` take. They are in no
  /// order, which takes longer in a listed set.
  std::size_t n_found_by_value() { return within_.is_listed() ? n_within() / 8 : n_within(); }
  [[nodiscard]] bool wanted(std::uint32_t row) const {
    return row < within_.size() && within_.test(row);
  }

  void match_flag(std::uint32_t flag, bool value) {
    const RowFacts* facts = column_.facts.data();
    within_.for_each([&](std::size_t row) {
      if (facts[row].has(flag) == value) out_.yes.set(row);
    });
  }

  template <class Visit>
  void for_each_irregular(std::uint32_t flag, Visit visit) {
    if (column_.irregular.size() > n_within()) {
      return within_.for_each([&](std::size_t row) {
        if (column_.facts[row].has(flag)) visit(static_cast<std::uint32_t>(row));
      });
    }
    for (const std::uint32_t row : column_.irregular) {
      if (wanted(row) && column_.facts[row].has(flag)) visit(row);
    }
  }
  template <class Visit>
  void for_each_sorted(SortedRange range, Visit visit) {
    for (std::size_t i = range.first; i < range.last; ++i) {
      const std::uint32_t row = column_.sorted_rows[i];
      if (wanted(row)) visit(row);
    }
  }

  /// Rows with this flag that are not known to match may match.
  void unsure(std::uint32_t flag) {
    const auto add = [&](std::uint32_t row) {
      if (!out_.yes.test(row)) out_.maybe.set(row);
    };
    if (flag == RowFacts::kOther) return for_each_irregular(flag, add);
    within_.for_each([&](std::size_t row) {
      if (column_.facts[row].has(flag)) add(static_cast<std::uint32_t>(row));
    });
  }

  /// For a condition on strings that the column does not decide.
  void unsure_about_strings() {
    unsure(traits_.element == ElementType::kString ? RowFacts::kElement : RowFacts::kOther);
  }

  /// Rows of `within` with a value that `accept` accepts. One sequential pass.
  template <class T, class Accept>
  void scan(const SharedSpan<T>& values, Accept accept) {
    const std::uint64_t* offsets = column_.offsets.data();
    const T* data = values.data();
    const std::uint64_t n_values = values.size();
    within_.for_each([&](std::size_t row) {
      const std::uint64_t end = std::min(offsets[row + 1], n_values);
      for (std::uint64_t i = offsets[row]; i < end; ++i) {
        if (accept(data[i])) {
          out_.yes.set(row);
          return;
        }
      }
    });
  }

  template <class T>
  void match_interval(const SharedSpan<T>& values, const SharedSpan<T>& sorted,
                      const Interval<T>& interval) {
    if (interval.empty()) return;
    if (column_.sealed) {
      const auto range = find_sorted<T>(sorted.span(), interval.low, interval.high);
      if (range.size() <= n_found_by_value()) {
        return for_each_sorted(range, [&](std::uint32_t row) { out_.yes.set(row); });
      }
    }
    scan(values, [&](T value) { return interval.contains(value); });
  }

  void match_integers(const std::vector<std::int64_t>& wanted_values) {
    if (column_.sealed) {
      std::vector<SortedRange> ranges;
      std::size_t n_found = 0;
      for (const std::int64_t value : wanted_values) {
        ranges.push_back(find_sorted(column_.sorted_integers.span(), value, value));
        n_found += ranges.back().size();
      }
      if (n_found <= n_found_by_value()) {
        for (const SortedRange& range : ranges) {
          for_each_sorted(range, [&](std::uint32_t row) { out_.yes.set(row); });
        }
        return;
      }
    }
    if (wanted_values.size() == 1) {
      const std::int64_t only = wanted_values.front();
      return scan(column_.integers, [&](std::int64_t value) { return value == only; });
    }
    scan(column_.integers, [&](std::int64_t value) {
      return std::binary_search(wanted_values.begin(), wanted_values.end(), value);
    });
  }

  void match_terms(const std::vector<std::uint32_t>& ids) {
    if (ids.empty()) return;
    if (column_.sealed) {
      std::size_t n_postings = 0;
      for (const std::uint32_t id : ids) n_postings += column_.postings(id).size();
      if (n_postings <= kPostingsPerRow * n_within()) return add_postings(ids);
    }
    if (ids.size() == 1) {
      const std::uint32_t only = ids.front();
      return scan(column_.terms, [&](std::uint32_t id) { return id == only; });
    }
    scan(column_.terms, TermSet(ids, column_.n_terms()));
  }
  void add_postings(const std::vector<std::uint32_t>& ids) {
    for (const std::uint32_t id : ids) {
      for (const std::uint32_t row : column_.postings(id)) {
        if (wanted(row)) out_.yes.set(row);
      }
    }
  }

  /// Rows with an element that is neither null nor in the list.
  void match_none_of(const MembershipCondition& condition) {
    if (condition.type == ScalarType::kNone) {
      match_flag(RowFacts::kElement, true);
    } else if (!holds(traits_.kind, condition.type)) {
      unsure(RowFacts::kElement);
    } else {
      if (condition.type == ScalarType::kInteger) {
        scan(column_.integers, [&](std::int64_t value) {
          return !std::binary_search(condition.integers.begin(), condition.integers.end(), value);
        });
      } else {
        const TermSet listed(wanted_terms(column_, condition), column_.n_terms());
        scan(column_.terms, [&](std::uint32_t id) { return !listed(id); });
      }
      for_each_irregular(RowFacts::kOther, [&](std::uint32_t row) { out_.yes.set(row); });
    }
  }

  void match_tokens(const TextCondition& condition) {
    if (!condition.patterns.empty()) return match_patterns(condition);
    const bool any = condition.mode == TextCondition::Mode::kAny;
    std::vector<std::uint32_t> ids;
    for (const auto& word : condition.words) {
      const std::uint32_t id = column_.find_term(word);
      if (id != ColumnView::kNoTerm) {
        ids.push_back(id);
      } else if (!any) {
        return;
      }
    }
    if (any) return match_terms(ids);
    if (column_.sealed) return match_token_postings(condition, ids);
    within_.for_each([&](std::size_t row) {
      if (row_has_tokens(column_.row_terms(static_cast<std::uint32_t>(row)), condition.mode, ids)) {
        out_.yes.set(row);
      }
    });
  }
  /// Words for which several terms may stand.
  void match_patterns(const TextCondition& condition) {
    std::vector<std::vector<std::uint32_t>> ids;
    for (const auto& word : condition.patterns) ids.push_back(resembling_terms(column_, word));
    if (condition.mode == TextCondition::Mode::kAny) {
      std::vector<std::uint32_t> all;
      for (const auto& of_word : ids) all.insert(all.end(), of_word.begin(), of_word.end());
      std::sort(all.begin(), all.end());
      all.erase(std::unique(all.begin(), all.end()), all.end());
      return match_terms(all);
    }
    std::vector<TermSet> words;
    RowSet possible = within_;
    for (const auto& of_word : ids) {
      words.emplace_back(of_word, column_.n_terms());
      if (column_.sealed && !within_.is_listed()) possible &= rows_with_any(of_word);
    }
    possible.for_each([&](std::size_t i) {
      const auto row = static_cast<std::uint32_t>(i);
      if (row_has_tokens(column_.row_terms(row), condition.mode, words)) out_.yes.set(row);
    });
  }
  /// Sealed only.
  [[nodiscard]] RowSet rows_with_any(const std::vector<std::uint32_t>& ids) const {
    RowSet rows = RowSet::none_like(within_);
    for (const std::uint32_t id : ids) {
      for (const std::uint32_t row : column_.postings(id)) {
        if (row < rows.size()) rows.set(row);
      }
    }
    return rows;
  }
  void match_token_postings(const TextCondition& condition, const std::vector<std::uint32_t>& ids) {
    RowSet all = within_;
    if (!within_.is_listed()) {
      for (const std::uint32_t id : ids) all &= rows_with_any({id});
    }
    all.for_each([&](std::size_t i) {
      const auto row = static_cast<std::uint32_t>(i);
      const bool sure = !within_.is_listed() && condition.mode == TextCondition::Mode::kAll &&
                        !column_.facts[row].has(RowFacts::kManyTexts);
      if (sure || row_has_tokens(column_.row_terms(row), condition.mode, ids)) out_.yes.set(row);
    });
  }

  const ColumnView& column_;
  const IndexTraits& traits_;
  const RowSet& within_;
  std::optional<std::size_t> n_within_;
  Verdict out_;
};

}  // namespace

Verdict match_column(const ColumnView& column, const PreparedCondition& condition,
                     const RowSet& within) {
  Matcher matcher(column, within);
  std::visit([&](const auto& t) { matcher.match(t); }, condition);
  return matcher.take();
}

}  // namespace quiver::payload
