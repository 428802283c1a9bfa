#include "payload/filter/column_terms.h"

#include <algorithm>
#include <functional>
#include <unordered_set>

#include "base/hash.h"
#include "payload/column/kinds.h"

namespace quiver::payload {
namespace {

/// Up to this many texts are looked up one by one in a growing dictionary; more are found in one
/// pass over all hashes.
constexpr std::size_t kMaxTextsOneByOne = 4;

std::vector<std::uint32_t> find_in_one_pass(const ColumnView& column,
                                            std::span<const std::string> texts) {
  std::unordered_set<std::uint64_t> hashes;
  for (const auto& text : texts) hashes.insert(hash_text(text));
  std::vector<std::uint32_t> ids;
  for (std::uint32_t id = 0; id < column.n_terms(); ++id) {
    if (!hashes.contains(column.term_hashes[id])) continue;
    if (std::binary_search(texts.begin(), texts.end(), column.term(id))) ids.push_back(id);
  }
  return ids;
}

}  // namespace

bool holds(IndexKind kind, ScalarType type) {
  const IndexTraits& traits = traits_of(kind);
  if (type != ScalarType::kNone && !traits.decides(Decidable::kEquality)) return false;
  switch (type) {
    case ScalarType::kString:
      return traits.element == ElementType::kString;
    case ScalarType::kInteger:
      return traits.element == ElementType::kInteger;
    case ScalarType::kBool:
      return traits.element == ElementType::kBool;
    case ScalarType::kNone:
      return true;
  }
  return false;
}

std::vector<std::uint32_t> find_terms(const ColumnView& column,
                                      std::span<const std::string> texts) {
  if (!column.sealed && texts.size() > kMaxTextsOneByOne) return find_in_one_pass(column, texts);
  std::vector<std::uint32_t> ids;
  for (const auto& text : texts) {
    const std::uint32_t id = column.find_term(text);
    if (id != ColumnView::kNoTerm) ids.push_back(id);
  }
  return ids;
}

std::vector<std::uint32_t> wanted_terms(const ColumnView& column,
                                        const MembershipCondition& condition) {
  if (condition.type == ScalarType::kString) return find_terms(column, condition.strings);
  std::vector<std::uint32_t> ids;
  if (condition.wants_false) ids.push_back(0);
  if (condition.wants_true) ids.push_back(1);
  return ids;
}

std::vector<std::uint32_t> accepted_terms(const ColumnView& column,
                                          const TextCondition& condition) {
  std::vector<std::uint32_t> ids;
  for (std::uint32_t id = 0; id < column.n_terms(); ++id) {
    if (condition.accepts(column.term(id))) ids.push_back(id);
  }
  return ids;
}

std::vector<std::uint32_t> prefixed_terms(const ColumnView& column, std::string_view prefix) {
  std::vector<std::uint32_t> ids;
  std::uint32_t id = column.sealed ? column.first_term_from(prefix) : 0;
  for (; id < column.n_terms(); ++id) {
    if (column.term(id).starts_with(prefix)) {
      ids.push_back(id);
    } else if (column.sealed) {
      break;  // terms are ordered
    }
  }
  return ids;
}

std::vector<std::uint32_t> resembling_terms(const ColumnView& column, const Resembling& word) {
  std::vector<std::uint32_t> ids;
  std::uint32_t id = column.sealed ? column.first_term_from(word.start()) : 0;
  for (; id < column.n_terms(); ++id) {
    const std::string_view term = column.term(id);
    if (word.distance_to(term)) {
      ids.push_back(id);
    } else if (column.sealed && !term.starts_with(word.start())) {
      break;  // terms are ordered
    }
  }
  return ids;
}

namespace {

/// `is(token, word)`: whether a token is a word.
template <class Word, class Is>
bool has_words(std::span<const std::uint32_t> tokens, TextCondition::Mode mode,
               std::span<const Word> words, Is is) {
  // A gap is no word, so a phrase cannot cross it.
  if (mode == TextCondition::Mode::kPhrase) {
    return std::search(tokens.begin(), tokens.end(), words.begin(), words.end(), is) !=
           tokens.end();
  }
  for (auto first = tokens.begin();;) {
    const auto last = std::find(first, tokens.end(), ColumnView::kGap);
    const auto occurs = [&](const Word& word) {
      return std::any_of(first, last, [&](std::uint32_t token) { return is(token, word); });
    };
    if (std::all_of(words.begin(), words.end(), occurs)) return true;
    if (last == tokens.end()) return false;
    first = last + 1;
  }
}

}  // namespace

bool row_has_tokens(std::span<const std::uint32_t> tokens, TextCondition::Mode mode,
                    std::span<const std::uint32_t> ids) {
  return has_words(tokens, mode, ids, std::equal_to<std::uint32_t>());
}

bool row_has_tokens(std::span<const std::uint32_t> tokens, TextCondition::Mode mode,
                    std::span<const TermSet> words) {
  return has_words(tokens, mode, words,
                   [](std::uint32_t token, const TermSet& word) { return word(token); });
}

}  // namespace quiver::payload
