#include "payload/bm25/expansion.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "base/io/file.h"
#include "payload/json/document.h"

namespace quiver::payload {
namespace {

using testing::ElementsAre;

/// By the definition, over bytes.
std::uint32_t slow_distance(const std::string& a, const std::string& b) {
  if (a.empty() || b.empty()) return static_cast<std::uint32_t>(a.size() + b.size());
  const std::string rest_a = a.substr(1), rest_b = b.substr(1);
  if (a[0] == b[0]) return slow_distance(rest_a, rest_b);
  return 1 + std::min({slow_distance(rest_a, b), slow_distance(a, rest_b),
                       slow_distance(rest_a, rest_b)});
}

TEST(EditDistance, EqualsTheDefinition) {
  std::mt19937 random(81);
  const auto word = [&] {
    std::string text(random() % 7, 'a');
    for (char& letter : text) letter = static_cast<char>('a' + random() % 3);
    return text;
  };
  for (int i = 0; i < 2000; ++i) {
    const std::string a = word(), b = word();
    const auto limit = static_cast<std::uint32_t>(random() % 4);
    ASSERT_EQ(edit_distance(a, b, limit), std::min(slow_distance(a, b), limit + 1))
        << a << " " << b;
  }
}

TEST(EditDistance, CountsCodePoints) {
  EXPECT_EQ(edit_distance("\xC3\xA9t\xC3\xA9", "ete", 2), 2U);
  EXPECT_EQ(edit_distance("\xE4\xB8\xAD\xE6\x96\x87", "\xE4\xB8\xAD", 2), 1U);
  EXPECT_EQ(edit_distance("\xFF\x80", "a", 2), 1U);  // no UTF-8
}

class Expand : public testing::TestWithParam<bool> {
 protected:
  /// A growing or a sealed column with one row for each text.
  static ColumnView column_of(const std::vector<std::string>& texts) {
    FieldIndex index;
    index.key = "t";
    index.kind = IndexKind::kText;
    index.scoring = true;
    auto column = *MutableColumn::create(index);
    for (const auto& text : texts) column->add_row(*parse_json("{\"t\":\"" + text + "\"}"));
    if (!GetParam()) return column->view();
    auto directory = make_memory_directory();
    EXPECT_TRUE(write_column(column->view(), *directory, "c"));
    return *open_column(*directory, "c", index);
  }
  static QueryTokens expanded(const std::vector<std::string>& texts,
                              const std::vector<std::string>& words, const Expansion& expansion) {
    const std::vector columns = {column_of(texts), column_of({"nothing"})};
    auto tokens = QueryTokens::of(words);
    expand(expansion, columns, tokens.texts.size() - 1, tokens);
    return tokens;
  }
};
INSTANTIATE_TEST_SUITE_P(Columns, Expand, testing::Bool());

TEST_P(Expand, FindsMisspeltWords) {
  const auto tokens =
      expanded({"vector vectors", "victor", "sector vortex vectorised"}, {"vector"}, {1});
  EXPECT_THAT(tokens.texts, ElementsAre("vector", "vectors", "victor"));
  EXPECT_THAT(tokens.shares, ElementsAre(1.0, 1 - 1.0 / 6, 1 - 1.0 / 6));
  EXPECT_THAT(tokens.origins, ElementsAre(0, 0, 0));
}

TEST_P(Expand, ShortWordsStay) {
  EXPECT_THAT(expanded({"cut bat cats"}, {"cat"}, {2}).texts, ElementsAre("cat"));
  EXPECT_THAT(expanded({"cards carts"}, {"card"}, {2}).texts, ElementsAre("card", "cards"));
}

TEST_P(Expand, TheLastTokenMayBeAPrefix) {
  const auto tokens =
      expanded({"search engine engines england", "english"}, {"engl", "eng"}, {0, true});
  EXPECT_THAT(tokens.texts, testing::UnorderedElementsAre("engl", "eng", "engine", "engines",
                                                          "england", "english"));
  EXPECT_EQ(tokens.shares.back(), 1.0);
  EXPECT_EQ(tokens.origins.back(), 1U);
}

TEST_P(Expand, TakesTheMostFrequentWords) {
  if (!GetParam()) GTEST_SKIP() << "a growing column counts no rows";
  EXPECT_THAT(expanded({"words", "wordy", "wordy", "word"}, {"word"}, {1, false, 1}).texts,
              ElementsAre("word", "wordy"));
}

TEST(UnitedStatistics, TokensOfOneOriginCountAsTheMostFrequent) {
  QueryTokens tokens;
  tokens.texts = {"a", "b", "a2"};
  tokens.shares = {1, 1, 0.5};
  tokens.origins = {0, 1, 0};
  CorpusStatistics corpus;
  corpus.n_with_token = {2, 5, 7};
  corpus.unite(tokens);
  EXPECT_THAT(corpus.n_with_token, ElementsAre(7, 5, 7));
}

}  // namespace
}  // namespace quiver::payload
