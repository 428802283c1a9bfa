#include "payload/filter/entry_states.h"

#include <algorithm>
#include <limits>
#include <span>
#include <string>
#include <utility>

namespace quiver::payload {
namespace {

using enum EntryState;

EntryState state_if(bool is_true) { return is_true ? kYes : kNo; }

class StateMaker {
 public:
  explicit StateMaker(const AttributeView& attribute)
      : attribute_(attribute),
        first_double_(attribute.first_double()),
        first_text_(attribute.first_text()),
        n_texts_(attribute.n_texts()) {
    out_.states.assign(attribute.entry_bound(), kNo);
  }
  std::optional<EntryStates> take() { return std::move(out_); }

  std::optional<EntryStates> make(const MembershipCondition& condition) {
    if (condition.canonical != nullptr) return std::nullopt;
    if (condition.mode == MembershipCondition::Mode::kNoneOf) return none_of(condition);
    set(SpecialEntry::kFalse, state_if(condition.wants_false));
    set(SpecialEntry::kTrue, state_if(condition.wants_true));
    for_listed(condition, [&](std::uint32_t entry, bool is_whole) {
      out_.states[entry] = is_whole ? kYes : kMaybe;
    });
    return take();
  }

  std::optional<EntryStates> make(const TextCondition& condition) {
    if (condition.tokens) return std::nullopt;
    if (condition.words.empty()) return take();
    for (std::uint32_t text = 0; text < n_texts_; ++text) {
      const bool is_exact = attribute_.is_exact_text(text);
      set_text(text, is_exact ? state_if(condition.accepts(attribute_.text_low(text))) : kMaybe);
    }
    return take();
  }

  std::optional<EntryStates> make(const PrefixCondition& condition) {
    const std::string_view wanted = condition.prefix;
    for (std::uint32_t text = 0; text < n_texts_; ++text) {
      const auto low = attribute_.text_low(text);
      const auto high = attribute_.text_high(text);
      if (low.starts_with(wanted) && high.starts_with(wanted)) {
        set_text(text, kYes);
      } else if (may_begin_with(low, high, wanted)) {
        set_text(text, kMaybe);
      }
    }
    return take();
  }

  std::optional<EntryStates> make(const RangeCondition& condition) {
    set_interval(attribute_.integer_lows, attribute_.integer_highs, condition.integers,
                 kSpecialEntries);
    set_interval(attribute_.double_lows, attribute_.double_highs, condition.doubles, first_double_);
    set_maybe(SpecialEntry::kLargeInteger);
    return take();
  }

  std::optional<EntryStates> make(const DatetimeCondition& condition) {
    const auto lows = attribute_.moment_lows.span();
    const auto highs = attribute_.moment_highs.span();
    for (std::uint32_t text = 0; text < lows.size(); ++text) {
      set_text(text, state_of(condition.micros, lows[text], highs[text]));
    }
    return take();
  }

  std::optional<EntryStates> make(const GeoCondition&) {
    set_maybe(SpecialEntry::kNested);
    return take();
  }

  std::optional<EntryStates> make(const IsEmpty& condition) {
    std::fill(out_.states.begin(), out_.states.end(), state_if(!condition.value));
    for (const auto entry :
         {SpecialEntry::kMissing, SpecialEntry::kNull, SpecialEntry::kEmptyArray}) {
      set(entry, state_if(condition.value));
    }
    out_.needs_one_root = true;
    return take();
  }

  std::optional<EntryStates> make(const IsNull& condition) {
    set(SpecialEntry::kNull, kYes);
    if (condition.in_arrays) set(SpecialEntry::kNullElement, kYes);
    out_.is_negated = !condition.value;
    return take();
  }

  std::optional<EntryStates> make(const ValuesCount&) { return std::nullopt; }

 private:
  void set(SpecialEntry entry, EntryState state) {
    out_.states[static_cast<std::size_t>(entry)] = state;
  }
  /// An entry that no row has stays at kNo, which is faster to find.
  void set_maybe(SpecialEntry entry) {
    const auto counts = attribute_.counts.span();
    const auto place = static_cast<std::size_t>(entry);
    if (place < counts.size() && counts[place] != 0) set(entry, kMaybe);
  }
  void set_text(std::uint32_t text, EntryState state) { out_.states[first_text_ + text] = state; }

  /// An element that is not null passes unless it is listed.
  std::optional<EntryStates> none_of(const MembershipCondition& condition) {
    std::fill(out_.states.begin() + kSpecialEntries, out_.states.end(), kYes);
    set(SpecialEntry::kNested, kYes);
    set(SpecialEntry::kLargeInteger, kYes);
    set(SpecialEntry::kFalse, state_if(!condition.wants_false));
    set(SpecialEntry::kTrue, state_if(!condition.wants_true));
    for_listed(condition, [&](std::uint32_t entry, bool is_whole) {
      out_.states[entry] = is_whole ? kNo : kMaybe;
    });
    return take();
  }

  /// Calls `visit(entry, is_whole)` for entries that hold a listed number or string; `is_whole` if
  /// they hold nothing else.
  template <class Visit>
  void for_listed(const MembershipCondition& condition, Visit visit) {
    const auto lows = attribute_.integer_lows.span();
    const auto highs = attribute_.integer_highs.span();
    for (const std::int64_t integer : condition.integers) {
      const auto next = std::upper_bound(lows.begin(), lows.end(), integer) - lows.begin();
      if (next == 0) continue;
      const auto i = static_cast<std::size_t>(next - 1);
      const std::int64_t high = highs.empty() ? lows[i] : highs[i];
      if (integer > high) continue;
      visit(kSpecialEntries + static_cast<std::uint32_t>(i), lows[i] == high);
    }
    for (const std::string& text : condition.strings) {
      if (const auto found = find_text(text))
        visit(first_text_ + *found, attribute_.is_exact_text(*found));
    }
  }

  /// The entry that may hold `text`.
  [[nodiscard]] std::optional<std::uint32_t> find_text(std::string_view text) const {
    const auto cut = text.substr(0, kMaxTextBytes);
    std::uint32_t first = 0;
    std::uint32_t last = n_texts_;
    while (first < last) {
      const std::uint32_t middle = first + (last - first) / 2;
      if (attribute_.text_low(middle) <= cut) {
        first = middle + 1;
      } else {
        last = middle;
      }
    }
    if (first == 0 || attribute_.text_high(first - 1) < cut) return std::nullopt;
    return first - 1;
  }

  /// True if a string of `[low, high]`, or one that begins with a bound that was cut, may begin
  /// with `wanted`.
  static bool may_begin_with(std::string_view low, std::string_view high, std::string_view wanted) {
    if (wanted.size() > kMaxTextBytes) wanted = wanted.substr(0, kMaxTextBytes);
    return high.substr(0, wanted.size()) >= wanted && low.substr(0, wanted.size()) <= wanted &&
           (low != high || low.starts_with(wanted));
  }

  template <class T>
  static EntryState state_of(const Interval<T>& interval, T low, T high) {
    if (low > high || high < interval.low || low > interval.high) return kNo;
    return interval.contains(low) && interval.contains(high) ? kYes : kMaybe;
  }

  /// Only entries that overlap the interval are looked at.
  template <class T>
  void set_interval(const SharedSpan<T>& lows, const SharedSpan<T>& highs,
                    const Interval<T>& interval, std::uint32_t first_entry) {
    if (interval.empty()) return;
    const std::span<const T> ends = highs.empty() ? lows.span() : highs.span();
    const auto first = static_cast<std::size_t>(
        std::lower_bound(ends.begin(), ends.end(), interval.low) - ends.begin());
    const auto end = static_cast<std::size_t>(
        std::upper_bound(lows.begin(), lows.end(), interval.high) - lows.begin());
    if (first >= end) return;
    // Only the outermost entries may lie in the interval in part.
    const auto states = std::span(out_.states).subspan(first_entry);
    std::fill(states.begin() + first, states.begin() + end, kYes);
    for (const std::size_t i : {first, end - 1}) states[i] = state_of(interval, lows[i], ends[i]);
  }

  const AttributeView& attribute_;
  const std::uint32_t first_double_;
  const std::uint32_t first_text_;
  const std::uint32_t n_texts_;
  EntryStates out_;
};

}  // namespace

std::optional<EntryStates> entry_states(const AttributeView& attribute,
                                        const PreparedCondition& condition) {
  StateMaker maker(attribute);
  return std::visit([&](const auto& prepared) { return maker.make(prepared); }, condition);
}

std::uint64_t n_values_of(std::uint32_t entry) {
  if (entry >= kSpecialEntries) return 1;
  switch (static_cast<SpecialEntry>(entry)) {
    case SpecialEntry::kMissing:
    case SpecialEntry::kNull:
    case SpecialEntry::kEmptyArray:
    case SpecialEntry::kManyRoots:
      return 0;
    default:
      return 1;
  }
}

std::optional<EntryStates> code_states(const AttributeView& attribute,
                                       const PreparedCondition& condition) {
  const auto* count = std::get_if<ValuesCount>(&condition);
  if (count == nullptr) return entry_states(attribute, condition);
  EntryStates entries;
  for (std::uint32_t entry = 0; entry < attribute.entry_bound(); ++entry) {
    entries.states.push_back(in_range(*count, n_values_of(entry)) ? kYes : kNo);
  }
  return entries;
}

}  // namespace quiver::payload
