// Rows by the words that they must and must not hold, against counting in the texts.
#include "payload/bm25/word_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "base/io/file.h"
#include "payload/json/document.h"

namespace quiver::payload {
namespace {

using testing::ElementsAre;
using WordSet = std::set<std::string>;

FieldIndex ruled_index(const std::string& key) {
  FieldIndex index;
  index.key = key;
  index.kind = IndexKind::kText;
  index.scoring = true;
  return index;
}

std::string joined_words(const std::vector<std::string>& words) {
  std::string text;
  for (const auto& word : words) text += word + ' ';
  return text;
}

/// Random texts under two keys, the second one with the stop word "w0".
class RuledRandomTexts {
 public:
  RuledRandomTexts(std::uint64_t seed, std::uint32_t n_rows) : random_(seed) {
    indexes_[1].text.stopwords.custom = {"w0"};
    for (std::uint32_t row = 0; row < n_rows; ++row) {
      for (auto& texts : texts_) texts.push_back(words(random_() % 8));
    }
  }
  std::vector<std::string> words(std::size_t n) {
    std::vector<std::string> words;
    for (; n > 0; --n)
      words.push_back("w" + std::to_string(std::min(random_() % 12, random_() % 12)));
    return words;
  }
  std::uint64_t below(std::uint64_t n) { return random_() % n; }

  [[nodiscard]] ColumnView column(std::size_t key, bool sealed) const {
    auto column = *MutableColumn::create(indexes_[key]);
    for (const auto& text : texts_[key]) {
      column->add_row(
          *parse_json("{\"" + indexes_[key].key + "\":\"" + joined_words(text) + "\"}"));
    }
    if (!sealed) return column->view();
    auto directory = make_memory_directory();
    EXPECT_TRUE(write_column(column->view(), *directory, "c"));
    return *open_column(*directory, "c", indexes_[key]);
  }
  [[nodiscard]] const TextOptions& options(std::size_t key) const { return indexes_[key].text; }
  [[nodiscard]] WordSet row_words(std::size_t key, std::uint32_t row) const {
    return tokens(key, joined_words(texts_[key][row]));
  }
  [[nodiscard]] WordSet tokens(std::size_t key, const std::string& text) const {
    const auto all = tokenize(text, options(key), TokenUse::kQuery);
    return {all.begin(), all.end()};
  }

 private:
  std::mt19937_64 random_;
  std::vector<FieldIndex> indexes_ = {ruled_index("a"), ruled_index("b")};
  std::vector<std::vector<std::string>> texts_[2];
};

std::size_t n_common_words(const WordSet& a, const WordSet& b) {
  return static_cast<std::size_t>(
      std::count_if(a.begin(), a.end(), [&](const auto& word) { return b.contains(word); }));
}

/// The rules by their definition. `n_keys` first keys.
bool is_allowed_by_rules(const RuledRandomTexts& texts, const TextRequest& request,
                         std::size_t n_keys, std::uint32_t row) {
  const auto holds = [&](const std::string& text, bool& is_rule) {
    bool held = false;
    for (std::size_t key = 0; key < n_keys; ++key) {
      const auto wanted = texts.tokens(key, text);
      if (wanted.empty()) continue;
      is_rule = true;
      held = held || n_common_words(wanted, texts.row_words(key, row)) == wanted.size();
    }
    return held;
  };
  for (const auto& text : request.rules.required) {
    bool is_rule = false;
    if (!holds(text, is_rule) && is_rule) return false;
  }
  for (const auto& text : request.rules.excluded) {
    bool is_rule = false;
    if (holds(text, is_rule)) return false;
  }
  bool has_words = false;
  for (std::size_t key = 0; key < n_keys; ++key) {
    const auto wanted = texts.tokens(key, request.text);
    if (wanted.empty()) continue;
    has_words = true;
    const auto& [count, percent] = request.rules.minimum;
    const std::size_t least = std::min<std::size_t>(
        wanted.size(), std::max<std::size_t>(count, wanted.size() * percent / 100));
    if (n_common_words(wanted, texts.row_words(key, row)) >= least) return true;
  }
  return !has_words;
}

Bitset found_by_rules(const RuledRandomTexts& texts, const TextRequest& request, std::size_t n_keys,
                      bool sealed) {
  std::vector<KeyQuery> queries;
  std::vector<Occurrences> occurrences;
  std::vector<RuledTexts> keys;
  for (std::size_t key = 0; key < n_keys; ++key) {
    const std::vector columns = {texts.column(key, sealed)};
    Analyzer analyzer(texts.options(key));
    queries.push_back(analyze_query(request, analyzer, columns));
    occurrences.emplace_back(columns[0], queries.back().tokens.texts);
  }
  for (std::size_t key = 0; key < n_keys; ++key) keys.push_back({queries[key], occurrences[key]});
  return rows_by_rules(keys, occurrences[0].column().n_rows);
}

TEST(WordRules, EqualTheirDefinition) {
  for (std::uint64_t seed = 91; seed < 131; ++seed) {
    const std::uint32_t n_rows = seed % 4 == 0 ? 700 : 60;
    RuledRandomTexts texts(seed, n_rows);
    for (int i = 0; i < 10; ++i) {
      TextRequest request;
      request.text = joined_words(texts.words(texts.below(6)));
      if (texts.below(2) == 0)
        request.rules.required.push_back(joined_words(texts.words(texts.below(3))));
      if (texts.below(2) == 0)
        request.rules.excluded.push_back(joined_words(texts.words(texts.below(3))));
      if (texts.below(2) == 0) {
        request.rules.minimum.count = static_cast<std::uint32_t>(texts.below(5));
      } else {
        request.rules.minimum.percent = static_cast<std::uint32_t>(texts.below(101));
      }
      const std::size_t n_keys = 1 + texts.below(2);
      Bitset wanted(n_rows);
      for (std::uint32_t row = 0; row < n_rows; ++row) {
        if (is_allowed_by_rules(texts, request, n_keys, row)) wanted.set(row);
      }
      SCOPED_TRACE(testing::Message() << "seed " << seed << ", query " << i);
      ASSERT_EQ(found_by_rules(texts, request, n_keys, false), wanted);
      ASSERT_EQ(found_by_rules(texts, request, n_keys, true), wanted);
    }
  }
}

TEST(WordRules, MinimumIsAtMostTheNumberOfWords) {
  EXPECT_EQ((MinimumWords{9, 0}.of(4)), 4U);
  EXPECT_EQ((MinimumWords{0, 75}.of(3)), 2U);
  EXPECT_EQ((MinimumWords{0, 100}.of(3)), 3U);
  EXPECT_EQ((MinimumWords{0, 10}.of(3)), 0U);
}

class AnalyzedQuery : public testing::Test {
 protected:
  static ColumnView column(const std::vector<std::string>& texts) {
    auto column = *MutableColumn::create(ruled_index("a"));
    for (const auto& text : texts) column->add_row(*parse_json("{\"a\":\"" + text + "\"}"));
    return column->view();
  }
  static KeyQuery analyzed(const std::vector<ColumnView>& columns, const TextRequest& request) {
    Analyzer analyzer(ruled_index("a").text);
    return analyze_query(request, analyzer, columns);
  }
};

TEST_F(AnalyzedQuery, RequiredWordsAreRanked) {
  const auto query = analyzed({}, {"whale ship whale", {{"ship moby", "moby"}, {"dick"}, {}}});
  EXPECT_THAT(query.tokens.texts, ElementsAre("whale", "ship", "moby"));
  EXPECT_THAT(query.tokens.shares, ElementsAre(2, 1, 1));
  EXPECT_EQ(query.n_words, 2U);
  EXPECT_THAT(query.required, ElementsAre(ElementsAre(2, 1), ElementsAre(2)));
  EXPECT_THAT(query.excluded, ElementsAre(ElementsAre("dick")));
}

TEST_F(AnalyzedQuery, WordsThatStandForOthersCount) {
  const std::vector columns = {column({"vectors of ships", "vector of ship", "victor", "nothing"})};
  // "vectors" is a word of the query and stands for "vector" too.
  const TextRequest request{"vector vectors", {{"vectorr"}, {}, {2, 0}}, {1}};
  const auto query = analyzed(columns, request);
  const Occurrences occurrences(columns[0], query.tokens.texts);
  const RuledTexts key{query, occurrences};
  const auto rows = rows_by_rules({&key, 1}, 4);
  EXPECT_TRUE(rows.test(0));
  EXPECT_TRUE(rows.test(1));
  EXPECT_FALSE(rows.test(2));
  EXPECT_FALSE(rows.test(3));
}

}  // namespace
}  // namespace quiver::payload
