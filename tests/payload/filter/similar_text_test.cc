// Text conditions whose words may be misspelt or cut: columns and documents against the definition.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "base/io/file.h"
#include "payload/column/column.h"
#include "payload/filter/column_match.h"
#include "payload/filter/condition.h"
#include "payload/json/document.h"
#include "tests/payload/filter/row_set_support.h"

namespace quiver::payload {
namespace {

using QueryWords = std::vector<std::string>;

FieldIndex similar_text_index() {
  FieldIndex index;
  index.key = "t";
  index.kind = IndexKind::kText;
  return index;
}

class RandomSimilarWords {
 public:
  explicit RandomSimilarWords(std::uint64_t seed) : random_(seed) {}
  std::uint64_t below(std::uint64_t n) { return random_() % n; }
  std::string word() {
    std::string word = below(2) == 0 ? "a" : "b";
    for (std::uint64_t n = below(9); n > 0; --n) word += static_cast<char>('x' + below(3));
    return word;
  }
  QueryWords words(std::uint64_t n) {
    QueryWords words;
    while (n-- > 0) words.push_back(word());
    return words;
  }

 private:
  std::mt19937_64 random_;
};

/// By the recurrence, without a limit.
std::size_t distance_by_table(const std::string& a, const std::string& b) {
  std::vector<std::vector<std::size_t>> d(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) {
    for (std::size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0) {
        d[i][j] = i + j;
        continue;
      }
      d[i][j] = std::min(
          {d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
    }
  }
  return d[a.size()][b.size()];
}

bool stands_for_word(const std::string& token, const std::string& word,
                     const Similarity& similarity, bool is_last) {
  if (similarity.last_is_prefix && is_last && token.starts_with(word)) return true;
  const std::size_t limit = std::min<std::size_t>(similarity.max_distance, (word.size() - 1) / 3);
  return token == word || (token[0] == word[0] && distance_by_table(token, word) <= limit);
}

bool words_match(const QueryWords& tokens, const QueryWords& query, TextCondition::Mode mode,
                 const Similarity& similarity) {
  const auto is = [&](std::size_t t, std::size_t w) {
    return stands_for_word(tokens[t], query[w], similarity, w + 1 == query.size());
  };
  if (query.empty()) return false;
  if (mode == TextCondition::Mode::kPhrase) {
    for (std::size_t first = 0; first + query.size() <= tokens.size(); ++first) {
      bool all = true;
      for (std::size_t w = 0; w < query.size(); ++w) all = all && is(first + w, w);
      if (all) return true;
    }
    return false;
  }
  std::size_t n_found = 0;
  for (std::size_t w = 0; w < query.size(); ++w) {
    bool found = false;
    for (std::size_t t = 0; t < tokens.size(); ++t) found = found || is(t, w);
    n_found += found ? 1 : 0;
  }
  return mode == TextCondition::Mode::kAll ? n_found == query.size() : n_found > 0;
}

std::string text_of_words(const QueryWords& words) {
  std::string text;
  for (const auto& word : words) text += word + ' ';
  return text;
}

ValueCondition text_condition_of(TextCondition::Mode mode, const std::string& text,
                                 const Similarity& similarity) {
  if (mode == TextCondition::Mode::kAll) return MatchText{text, similarity};
  if (mode == TextCondition::Mode::kAny) return MatchTextAny{text, similarity};
  return MatchPhrase{text, similarity};
}

/// Rows with one or two strings each.
struct SimilarTexts {
  std::vector<std::vector<QueryWords>> rows;
  std::vector<Value> documents;
  ColumnView growing, sealed;
};

SimilarTexts random_similar_texts(RandomSimilarWords& random, std::size_t n_rows) {
  SimilarTexts texts;
  auto column = *MutableColumn::create(similar_text_index());
  for (std::size_t i = 0; i < n_rows; ++i) {
    auto& row = texts.rows.emplace_back();
    row.push_back(random.words(random.below(6)));
    if (random.below(4) == 0) row.push_back(random.words(random.below(6)));
    std::string json = R"({"t":[)";
    for (const auto& words : row) json += '"' + text_of_words(words) + "\",";
    json.back() = ']';
    texts.documents.push_back(*parse_json(json + "}"));
    column->add_row(texts.documents.back());
  }
  texts.growing = column->view();
  auto directory = make_memory_directory();
  EXPECT_TRUE(write_column(texts.growing, *directory, "c"));
  texts.sealed = *open_column(*directory, "c", similar_text_index());
  return texts;
}

TEST(SimilarText, EqualsTheDefinition) {
  using Mode = TextCondition::Mode;
  const auto path = *JsonPath::parse("t");
  const FieldIndex index = similar_text_index();
  for (std::uint64_t seed = 201; seed < 231; ++seed) {
    RandomSimilarWords random(seed);
    const auto texts = random_similar_texts(random, 120);
    const Bitset all(texts.rows.size(), true);
    for (int i = 0; i < 12; ++i) {
      const auto mode = std::vector{Mode::kAll, Mode::kAny, Mode::kPhrase}[random.below(3)];
      const Similarity similarity{static_cast<std::uint32_t>(random.below(3)),
                                  random.below(2) == 0};
      const QueryWords query = random.words(random.below(4));
      const auto prepared =
          *prepare(text_condition_of(mode, text_of_words(query), similarity), &index);
      Bitset wanted(texts.rows.size());
      for (std::size_t row = 0; row < texts.rows.size(); ++row) {
        const bool matches = std::any_of(
            texts.rows[row].begin(), texts.rows[row].end(),
            [&](const QueryWords& words) { return words_match(words, query, mode, similarity); });
        if (matches) wanted.set(row);
        ASSERT_EQ(passes(prepared, path, texts.documents[row]), matches)
            << "seed " << seed << " row " << row << " query " << text_of_words(query);
      }
      for (const auto* column : {&texts.growing, &texts.sealed}) {
        for (const RowSet& within : {RowSet(all), listed_set(all)}) {
          const Verdict verdict = match_column(*column, prepared, within);
          ASSERT_EQ(bits_of(verdict.yes), wanted)
              << "seed " << seed << " query " << text_of_words(query);
          ASSERT_TRUE(verdict.maybe.none());
        }
        const Estimate estimate = estimate_column(*column, prepared, texts.rows.size());
        ASSERT_LE(estimate.min, wanted.count());
        ASSERT_GE(estimate.max, wanted.count());
      }
    }
  }
}

TEST(SimilarText, WantsATextIndex) {
  const auto error = prepare(MatchText{"a", {1, false}}, nullptr);
  ASSERT_FALSE(error);
  EXPECT_EQ(error.error().message(),
            "a text condition with `fuzzy` or `prefix` needs a payload index of type `text`");
}

}  // namespace
}  // namespace quiver::payload
