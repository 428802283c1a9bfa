#include "payload/filter/code_match.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "kernels/kernels.h"

namespace quiver::payload {

using enum EntryState;

namespace {

/// The codes of the entries in state `a` or `b`; nullopt if they are not neighbours.
std::optional<CodeInterval> interval_of(const AttributeView& attribute,
                                        const std::vector<EntryState>& states, EntryState a,
                                        EntryState b) {
  const auto is_in = [&](EntryState state) { return state == a || state == b; };
  const auto first = std::find_if(states.begin(), states.end(), is_in);
  const auto end = std::find_if_not(first, states.end(), is_in);
  if (std::any_of(end, states.end(), is_in)) return std::nullopt;
  if (first == end) return CodeInterval();
  const auto low = static_cast<std::uint32_t>(first - states.begin()) << attribute.shift;
  const auto next = static_cast<std::uint32_t>(end - states.begin()) << attribute.shift;
  return CodeInterval{static_cast<std::uint16_t>(low), static_cast<std::uint16_t>(next - 1)};
}

/// Row by row: for few rows.
Verdict match_each(std::span<const CodeCondition> conditions, const RowSet& within) {
  Verdict verdict = Verdict::none_like(within);
  within.for_each([&](std::size_t row) {
    bool is_sure = true;
    for (const CodeCondition& condition : conditions) {
      const EntryState state = condition.of_row(row);
      if (state == kNo) return;
      is_sure = is_sure && state == kYes;
    }
    (is_sure ? verdict.yes : verdict.maybe).set(row);
  });
  return verdict;
}

}  // namespace

CellClasses classes_of(const AttributeView& attribute, const std::vector<EntryState>& states) {
  const std::uint32_t n_codes = attribute.rests.empty() ? 1 : 256;  // of one cell
  CellClasses classes;
  for (std::uint32_t cell = 0; cell < 256; ++cell) {
    const std::uint32_t first = cell * n_codes >> attribute.shift;
    if (first >= states.size()) break;
    const auto last = std::min<std::size_t>(
        states.size(), ((cell * n_codes + n_codes - 1) >> attribute.shift) + std::size_t{1});
    const EntryState state = states[first];
    const bool is_uniform =
        state != kMaybe &&
        std::all_of(states.begin() + first, states.begin() + static_cast<std::ptrdiff_t>(last),
                    [state](EntryState other) { return other == state; });
    if (!is_uniform) {
      classes.add_open(static_cast<std::uint8_t>(cell));
    } else if (state == kYes) {
      classes.add_yes(static_cast<std::uint8_t>(cell));
    }
  }
  return classes;
}

std::optional<CodeCondition> CodeCondition::make(const AttributeView& attribute,
                                                 const PreparedCondition& condition) {
  if (!attribute.offsets.empty()) return std::nullopt;
  auto entries = code_states(attribute, condition);
  if (!entries) return std::nullopt;
  return CodeCondition(attribute, *std::move(entries));
}

CodeCondition::CodeCondition(const AttributeView& attribute, EntryStates entries)
    : attribute_(&attribute),
      entries_(std::move(entries)),
      classes_(classes_of(attribute, entries_.states)) {
  const auto counts = attribute.counts.span();
  for (auto open = std::find(entries_.states.begin(), entries_.states.end(), kMaybe);
       open != entries_.states.end(); open = std::find(open + 1, entries_.states.end(), kMaybe)) {
    n_open_ += counts[static_cast<std::size_t>(open - entries_.states.begin())];
  }
  if (attribute.rests.empty()) return;
  const auto possible = interval_of(attribute, entries_.states, kMaybe, kYes);
  const auto yes = interval_of(attribute, entries_.states, kYes, kYes);
  if (!possible || !yes) return;
  yes_ = *yes;
  possible_ = *possible;
}

bool CodeCondition::narrow(std::uint32_t first_row, Block& block) const {
  const CellRange range = attribute_->ranges[first_row / kRowsPerCellRange];
  if (!classes_.has_any(range.low, range.high)) {
    if (!entries_.is_negated) block = Block();
    return entries_.is_negated;
  }
  Words yes;  // filled below: clearing them first would cost more than the rest
  Words maybe;
  match(first_row, block.possible, yes, maybe);
  // A loop without branches becomes vector instructions.
  const std::uint64_t flip = entries_.is_negated ? ~std::uint64_t{0} : 0;
  std::uint64_t left = 0;
  for (std::uint32_t w = 0; w < kWordsPerBlock; ++w) {
    const std::uint64_t sure = (yes[w] ^ flip) & ~(maybe[w] & flip);
    block.yes[w] &= sure;
    block.possible[w] &= sure | maybe[w];
    left |= block.possible[w];
  }
  return left != 0;
}

void CodeCondition::match(std::uint32_t first_row, const Words& wanted, Words& yes,
                          Words& open) const {
  const std::uint32_t n = std::min(kRowsPerCellRange, attribute_->n_rows - first_row);
  for (std::uint32_t w = n / 64; w < kWordsPerBlock; ++w) yes[w] = open[w] = 0;
  const auto* cells = attribute_->cells.data() + first_row;
  const bool is_open = classes_.n_open != 0;
  if (!is_open || !is_interval()) {
    kernels().cells.classify(cells, n, classes_, yes.data(), open.data());
    if (is_open) decide(first_row, wanted, yes, open);
    return;
  }
  const auto* rests = attribute_->rests.data() + first_row;
  kernels().cells.between(cells, rests, n, yes_, yes.data());
  if (possible_ == yes_) return open.fill(0);
  kernels().cells.between(cells, rests, n, possible_, open.data());
  for (std::uint32_t w = 0; w < kWordsPerBlock; ++w) open[w] &= ~yes[w];
}

void CodeCondition::decide(std::uint32_t first_row, const Words& wanted, Words& yes,
                           Words& open) const {
  for (std::uint32_t w = 0; w < kWordsPerBlock; ++w) {
    std::uint64_t maybe = 0;
    for (std::uint64_t rest = open[w] & wanted[w]; rest != 0; rest &= rest - 1) {
      const auto bit = static_cast<std::uint32_t>(std::countr_zero(rest));
      const EntryState state = entries_.states[attribute_->entry_at(first_row + w * 64 + bit)];
      yes[w] |= std::uint64_t{state == kYes} << bit;
      maybe |= std::uint64_t{state == kMaybe} << bit;
    }
    open[w] = maybe;
  }
}

Verdict match_codes(std::span<const CodeCondition> conditions, const RowSet& within) {
  if (within.is_listed()) return match_each(conditions, within);
  const auto wanted = within.words();
  if (wanted.empty()) return Verdict::none_like(within);
  Bitset yes(within.size());
  Bitset maybe;  // mostly there are none
  CodeCondition::Block block;
  for (std::size_t first = 0; first < wanted.size(); first += CodeCondition::kWordsPerBlock) {
    const auto words = wanted.subspan(
        first, std::min<std::size_t>(CodeCondition::kWordsPerBlock, wanted.size() - first));
    if (words.size() < CodeCondition::kWordsPerBlock) block.yes.fill(0);
    std::copy(words.begin(), words.end(), block.yes.begin());
    block.possible = block.yes;
    const auto row = static_cast<std::uint32_t>(first * 64);
    const bool has_any =
        std::all_of(conditions.begin(), conditions.end(),
                    [&](const CodeCondition& condition) { return condition.narrow(row, block); });
    if (!has_any) continue;
    std::copy_n(block.yes.begin(), words.size(), yes.words().data() + first);
    for (std::size_t w = 0; w < words.size(); ++w) {
      const std::uint64_t open = block.possible[w] & ~block.yes[w];
      if (open == 0) continue;
      if (maybe.size() == 0) maybe = Bitset(within.size());
      maybe.words()[first + w] = open;
    }
  }
  const bool has_maybe = maybe.size() != 0;
  return {RowSet(std::move(yes)), has_maybe ? RowSet(std::move(maybe)) : RowSet::none_like(within)};
}

}  // namespace quiver::payload
