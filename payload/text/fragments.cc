#include "payload/text/fragments.h"

#include <algorithm>
#include <queue>
#include <tuple>

#include "payload/text/characters.h"

namespace quiver::payload {
namespace {

bool continues_code_point(char c) { return (static_cast<unsigned>(c) & 0xC0U) == 0x80; }

/// `from`, at most `n` code points further, not beyond byte `bound`.
TextPosition forward(std::string_view text, TextPosition from, std::size_t n, std::size_t bound) {
  for (; n > 0 && from.byte < bound; --n, ++from.point) {
    do ++from.byte;
    while (from.byte < bound && continues_code_point(text[from.byte]));
  }
  return from;
}

/// The same towards the beginning of the text.
TextPosition backward(std::string_view text, TextPosition from, std::size_t n, std::size_t bound) {
  for (; n > 0 && from.byte > bound; --n, --from.point) {
    do --from.byte;
    while (from.byte > bound && continues_code_point(text[from.byte]));
  }
  return from;
}

/// The code point that ends before `at`, which is not the beginning.
std::int32_t code_point_before(std::string_view text, std::size_t at) {
  return code_point_at(text, backward(text, {at, at}, 1, 0).byte).value;
}

/// True if a text may be cut before `at`: not within a word, nor before a combining mark.
bool is_between_words(std::string_view text, std::size_t at) {
  if (at == 0 || at == text.size()) return true;
  const std::int32_t before = code_point_before(text, at);
  const std::int32_t after = code_point_at(text, at).value;
  if (before < 0 || after < 0) return true;
  if (class_of(after) == CharacterClass::kMark) return false;
  return !is_word(before) || !is_word(after) || is_unspaced(before) || is_unspaced(after);
}

bool can_begin_at(std::string_view text, std::size_t at) {
  return is_between_words(text, at) && !is_space(code_point_at(text, at).value);
}

bool can_end_at(std::string_view text, std::size_t at) {
  return is_between_words(text, at) && !is_space(code_point_before(text, at));
}

/// A part of a text that no fragment covers.
struct Gap {
  std::size_t text = 0;
  std::size_t first_match = 0;
  std::size_t end_match = 0;
  std::size_t begin_byte = 0;
  std::size_t end_byte = 0;
};

/// The best run of matches in a gap that fits a fragment.
struct Candidate {
  Gap gap;
  std::size_t first_match = 0;
  std::size_t end_match = 0;
  std::size_t n_distinct = 0;

  [[nodiscard]] std::size_t n_matches() const { return end_match - first_match; }
};

struct IsWorse {
  bool operator()(const Candidate& a, const Candidate& b) const {
    if (a.n_distinct != b.n_distinct) return a.n_distinct < b.n_distinct;
    if (a.n_matches() != b.n_matches()) return a.n_matches() < b.n_matches();
    return std::tie(a.gap.text, a.first_match) > std::tie(b.gap.text, b.first_match);
  }
};

class Chooser {
 public:
  Chooser(std::span<const MatchedText> texts, const FragmentLimits& limits)
      : texts_(texts), limits_(limits), counts_(limits.n_tokens) {}

  std::vector<Fragment> run() {
    for (std::size_t i = 0; i < texts_.size(); ++i) {
      add({i, 0, texts_[i].matches.size(), 0, texts_[i].text.size()});
    }
    std::vector<Fragment> fragments;
    while (!candidates_.empty() && fragments.size() < limits_.n_fragments) {
      const Candidate best = candidates_.top();
      candidates_.pop();
      const Fragment& fragment = fragments.emplace_back(with_context(best));
      const Gap& gap = best.gap;
      add({gap.text, gap.first_match, best.first_match, gap.begin_byte, fragment.begin.byte});
      add({gap.text, best.end_match, gap.end_match, fragment.end.byte, gap.end_byte});
    }
    std::ranges::sort(fragments, {}, [](const Fragment& fragment) {
      return std::pair(fragment.text, fragment.first_match);
    });
    return fragments;
  }

 private:
  void add(const Gap& gap) {
    if (gap.first_match < gap.end_match) candidates_.push(best_of(gap));
  }

  /// Moves a window over the matches.
  Candidate best_of(const Gap& gap) {
    const MatchedText& text = texts_[gap.text];
    Candidate best{gap};
    std::size_t n_distinct = 0;
    std::size_t end = gap.first_match;
    for (std::size_t first = gap.first_match; first < gap.end_match; ++first) {
      while (end < gap.end_match && (end == first || fits(text, first, end))) {
        for (const auto token : text.tokens_of(end)) n_distinct += counts_[token]++ == 0 ? 1 : 0;
        ++end;
      }
      const Candidate window{gap, first, end, n_distinct};
      if (IsWorse()(best, window)) best = window;
      for (const auto token : text.tokens_of(first)) n_distinct -= --counts_[token] == 0 ? 1 : 0;
    }
    return best;
  }

  [[nodiscard]] bool fits(const MatchedText& text, std::size_t first, std::size_t last) const {
    return text.matches[last].end.point - text.matches[first].begin.point <= limits_.max_length;
  }

  /// Half of the context stands on each side, or more where the other side has too little text.
  [[nodiscard]] Fragment with_context(const Candidate& chosen) const {
    const Gap& gap = chosen.gap;
    const std::string_view text = texts_[gap.text].text;
    const auto& matches = texts_[gap.text].matches;
    const TextPosition first = matches[chosen.first_match].begin;
    const TextPosition last = matches[chosen.end_match - 1].end;
    // Other matches are shown whole or not at all.
    const std::size_t min_byte = chosen.first_match == gap.first_match
                                     ? gap.begin_byte
                                     : matches[chosen.first_match - 1].end.byte;
    const std::size_t max_byte =
        chosen.end_match == gap.end_match ? gap.end_byte : matches[chosen.end_match].begin.byte;
    const std::size_t length = last.point - first.point;
    const std::size_t n_context = limits_.max_length - std::min(length, limits_.max_length);
    TextPosition end = forward(text, last, n_context / 2, max_byte);
    TextPosition begin = backward(text, first, n_context - (end.point - last.point), min_byte);
    end = forward(text, last, n_context - (first.point - begin.point), max_byte);
    while (begin.byte < first.byte && !can_begin_at(text, begin.byte)) {
      begin = forward(text, begin, 1, first.byte);
    }
    while (end.byte > last.byte && !can_end_at(text, end.byte)) {
      end = backward(text, end, 1, last.byte);
    }
    return {gap.text, chosen.first_match, chosen.end_match, begin, end};
  }

  const std::span<const MatchedText> texts_;
  const FragmentLimits limits_;
  std::vector<std::size_t> counts_;  ///< of each token in the window
  std::priority_queue<Candidate, std::vector<Candidate>, IsWorse> candidates_;
};

}  // namespace

std::vector<Fragment> choose_fragments(std::span<const MatchedText> texts,
                                       const FragmentLimits& limits) {
  return Chooser(texts, limits).run();
}

}  // namespace quiver::payload
