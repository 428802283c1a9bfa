#include "payload/bm25/expansion.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/io/file.h"
#include "payload/json/document.h"

namespace quiver::payload {
namespace {

using testing::ElementsAre;

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
