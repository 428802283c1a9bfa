// BM25 against the formula, evaluated over all tokens of all rows.
#include "payload/bm25/bm25.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "base/io/file.h"
#include "payload/column/column.h"
#include "payload/json/document.h"

namespace quiver::payload {
namespace {

using Tokens = std::vector<std::string>;

FieldIndex scored_index() {
  FieldIndex index;
  index.key = "t";
  index.kind = IndexKind::kText;
  index.scoring = true;
  return index;
}

/// Words by Zipf's law, of which a few are frequent.
class Words {
 public:
  explicit Words(std::uint64_t seed) : random_(seed) {}
  std::string word() {
    const double u = std::uniform_real_distribution<>(0.0, 1.0)(random_);
    return "w" + std::to_string(static_cast<int>(std::pow(2000.0, u)) - 1);
  }
  Tokens text(int n) {
    Tokens words;
    for (int i = 0; i < n; ++i) words.push_back(word());
    return words;
  }
  int below(int n) { return std::uniform_int_distribution<>(0, n - 1)(random_); }

 private:
  std::mt19937_64 random_;
};

std::string document_of(const Tokens& words, bool in_two) {
  std::string text = in_two ? R"({"t":["more )" : R"({"t":")";
  for (std::size_t i = 0; i < words.size(); ++i) {
    text += (i == words.size() / 2 && in_two) ? "\",\"" : " ";
    text += words[i];
  }
  return text + (in_two ? "\"]}" : "\"}");
}

ColumnView growing_column(const std::vector<std::string>& documents) {
  auto column = *MutableColumn::create(scored_index());
  for (const auto& document : documents) column->add_row(*parse_json(document));
  return column->view();
}

ColumnView sealed_column(const ColumnView& column) {
  auto directory = make_memory_directory();
  EXPECT_TRUE(write_column(column, *directory, "c"));
  return *open_column(*directory, "c", scored_index());
}

struct Hit {
  float score;
  std::uint32_t row;
  bool operator==(const Hit&) const = default;
};

/// The best rows, equal scores by row.
class BestRows final : public RowSink {
 public:
  explicit BestRows(std::size_t limit) : limit_(limit) {}
  void offer(std::uint32_t row, float score) override {
    hits_.push_back({score, row});
    std::sort(hits_.begin(), hits_.end(), [](const Hit& a, const Hit& b) {
      return a.score != b.score ? a.score > b.score : a.row < b.row;
    });
    if (hits_.size() > limit_) hits_.pop_back();
  }
  [[nodiscard]] float threshold() const override {
    return hits_.size() < limit_ ? 0.0F : hits_.back().score;
  }
  [[nodiscard]] std::size_t limit() const override { return limit_; }
  [[nodiscard]] const std::vector<Hit>& hits() const { return hits_; }

 private:
  std::size_t limit_;
  std::vector<Hit> hits_;
};

/// The texts as tokens: the reference knows no columns.
Tokens tokens_of(const ColumnView& column, std::uint32_t row) {
  Tokens tokens;
  for (const auto id : column.row_terms(row)) {
    if (id != ColumnView::kGap) tokens.emplace_back(column.term(id));
  }
  return tokens;
}

std::vector<Hit> expected(const std::vector<Tokens>& texts, const Tokens& query,
                          const Bitset* within, const Bm25Params& params, std::size_t limit) {
  const auto allowed = [&](std::size_t row) { return within == nullptr || within->test(row); };
  double n_texts = 0, n_tokens = 0;
  for (std::size_t row = 0; row < texts.size(); ++row) {
    if (!allowed(row)) continue;
    n_texts += texts[row].empty() ? 0 : 1;
    n_tokens += static_cast<double>(texts[row].size());
  }
  const double mean = std::max(1.0, n_tokens) / std::max(1.0, n_texts);
  std::vector<double> scores(texts.size(), 0);
  for (const auto& token : QueryTokens::of(query).texts) {
    double n = 0;
    for (std::size_t row = 0; row < texts.size(); ++row) {
      n += allowed(row) && std::ranges::count(texts[row], token) != 0 ? 1 : 0;
    }
    const double idf = std::log(1 + (n_texts - n + 0.5) / (n + 0.5));
    const auto repetitions = static_cast<double>(std::ranges::count(query, token));
    for (std::size_t row = 0; row < texts.size(); ++row) {
      const auto tf = static_cast<double>(std::ranges::count(texts[row], token));
      if (tf == 0) continue;  // 0 / 0 if k is 0
      const auto length = static_cast<double>(texts[row].size());
      scores[row] += repetitions * idf * tf * (params.k + 1) /
                     (tf + params.k * (1 - params.b + params.b * length / mean));
    }
  }
  std::vector<Hit> hits;
  for (std::uint32_t row = 0; row < texts.size(); ++row) {
    if (allowed(row) && scores[row] > 0) hits.push_back({static_cast<float>(scores[row]), row});
  }
  std::sort(hits.begin(), hits.end(), [](const Hit& a, const Hit& b) {
    return a.score != b.score ? a.score > b.score : a.row < b.row;
  });
  if (hits.size() > limit) hits.resize(limit);
  return hits;
}

std::vector<Hit> found(const ColumnView& column, const Tokens& query, const Bitset* within,
                       const Bm25Params& params, std::size_t limit) {
  const auto tokens = QueryTokens::of(query);
  const Occurrences occurrences(column, tokens.texts);
  CorpusStatistics corpus;
  corpus.add(occurrences, within);
  BestRows best(limit);
  const Bm25 bm25(tokens, corpus, params);
  const ScoredTexts texts{occurrences, bm25};
  EXPECT_TRUE(search_texts({&texts, 1}, within, best, Cancel()));
  return best.hits();
}

/// Scores may differ by what doubles lose; rows only where scores are that close.
void expect_near(const std::vector<Hit>& hits, const std::vector<Hit>& wanted) {
  ASSERT_EQ(hits.size(), wanted.size());
  for (std::size_t i = 0; i < hits.size(); ++i) {
    ASSERT_NEAR(hits[i].score, wanted[i].score, 1e-6 * wanted[i].score) << i;
  }
}

struct Corpus {
  std::vector<std::string> documents;
  ColumnView growing, sealed;
  std::vector<Tokens> texts;
};

Corpus random_corpus(Words& words, int n_rows) {
  Corpus corpus;
  for (int i = 0; i < n_rows; ++i) {
    const int kind = words.below(50);
    if (kind == 0) {
      corpus.documents.emplace_back(words.below(2) == 0 ? "{}" : R"({"t":""})");
    } else {
      const int n = kind == 1 ? 700 + words.below(300) : 1 + words.below(40);
      corpus.documents.push_back(document_of(words.text(n), words.below(4) == 0));
    }
  }
  corpus.growing = growing_column(corpus.documents);
  corpus.sealed = sealed_column(corpus.growing);
  for (std::uint32_t row = 0; row < corpus.growing.n_rows; ++row) {
    corpus.texts.push_back(tokens_of(corpus.growing, row));
  }
  return corpus;
}

TEST(Bm25, EqualsTheFormula) {
  Words words(71);
  for (const int n_rows : {1, 511, 512, 1300, 9000}) {
    const Corpus corpus = random_corpus(words, n_rows);
    for (int i = 0; i < (n_rows > 5000 ? 6 : 20); ++i) {
      const Tokens query = words.text(1 + words.below(9));
      std::optional<Bitset> within;
      if (words.below(3) != 0) {
        within.emplace(static_cast<std::size_t>(n_rows));
        const int share = 1 + words.below(20);
        for (int row = 0; row < n_rows; ++row) {
          if (words.below(20) < share && words.below(40) < 2 * share) within->set(row);
        }
      }
      const Bitset* rows = within ? &*within : nullptr;
      const Bm25Params params{words.below(4) * 0.6, words.below(5) * 0.25};
      const auto limit = static_cast<std::size_t>(1 + words.below(100));
      SCOPED_TRACE(testing::Message() << n_rows << " rows, query " << i);
      const auto wanted = expected(corpus.texts, query, rows, params, limit);
      const auto in_sealed = found(corpus.sealed, query, rows, params, limit);
      expect_near(in_sealed, wanted);
      EXPECT_EQ(found(corpus.growing, query, rows, params, limit), in_sealed);
    }
  }
}

TEST(Bm25, CountsAboveTheRangeOfAByteAreExact) {
  std::vector<std::string> documents;
  for (const int n : {254, 255, 256, 400, 1000}) {
    Tokens words(static_cast<std::size_t>(n), "many");
    words.emplace_back("other");
    documents.push_back(document_of(words, false));
  }
  const auto growing = growing_column(documents);
  std::vector<Tokens> texts;
  for (std::uint32_t row = 0; row < growing.n_rows; ++row) texts.push_back(tokens_of(growing, row));
  const auto wanted = expected(texts, {"many"}, nullptr, {}, 10);
  expect_near(found(growing, {"many"}, nullptr, {}, 10), wanted);
  expect_near(found(sealed_column(growing), {"many"}, nullptr, {}, 10), wanted);
}

/// The gain of such a row is not known before its exact score, and most of it may be for nothing: a
/// search must not take it for the bar.
TEST(Bm25, RowsThatHoldAWordVeryOftenHideNoBetterRow) {
  constexpr std::uint64_t kSeed = 20261126;
  Words words(kSeed);
  std::vector<std::string> documents;
  for (int row = 0; row < 600; ++row) {
    Tokens text = words.text(5 + words.below(20));
    if (row % 7 == 0) {
      text.insert(text.end(), static_cast<std::size_t>(256 + words.below(400)), "often");
      for (int i = 3000; i > 0; --i) text.push_back("filler");
    } else if (row % 3 == 0) {
      text.insert(text.end(), static_cast<std::size_t>(1 + words.below(4)), "often");
    }
    documents.push_back(document_of(text, false));
  }
  const ColumnView growing = growing_column(documents);
  const ColumnView sealed = sealed_column(growing);
  std::vector<Tokens> texts;
  for (std::uint32_t row = 0; row < growing.n_rows; ++row) {
    texts.push_back(tokens_of(growing, row));
  }
  for (const std::size_t limit : {1, 3, 10, 40, 150}) {
    for (const Tokens& query : {Tokens{"often"}, Tokens{"often", "w3"}, Tokens{"w0", "often"}}) {
      SCOPED_TRACE(query.front() + ", limit " + std::to_string(limit));
      const auto wanted = expected(texts, query, nullptr, {}, limit);
      expect_near(found(growing, query, nullptr, {}, limit), wanted);
      expect_near(found(sealed, query, nullptr, {}, limit), wanted);
    }
  }
}

TEST(Bm25, OlderViewsOfAGrowingColumnSeeTheirRowsOnly) {
  Words words(72);
  auto column = *MutableColumn::create(scored_index());
  std::vector<ColumnView> views;
  for (int i = 0; i < 1100; ++i) {
    column->add_row(*parse_json(document_of(words.text(10), false)));
    if (i % 100 == 50) views.push_back(column->view());
  }
  const Tokens query = words.text(5);
  (void)found(column->view(), query, nullptr, {}, 10);  // makes all blocks
  for (const auto& view : views) {
    std::vector<Tokens> texts;
    for (std::uint32_t row = 0; row < view.n_rows; ++row) texts.push_back(tokens_of(view, row));
    expect_near(found(view, query, nullptr, {}, 10), expected(texts, query, nullptr, {}, 10));
  }
}

TEST(Bm25, MemoryOfAGrowingColumnCountsItsPostings) {
  Words words(76);
  auto column = *MutableColumn::create(scored_index());
  for (int i = 0; i < 600; ++i) column->add_row(*parse_json(document_of(words.text(20), false)));
  const std::size_t before = column->memory_bytes();
  (void)found(column->view(), words.text(3), nullptr, {}, 10);  // makes a block of 512 rows
  // Four bytes of row and one of count for each posting, at least ten in a row.
  EXPECT_GT(column->memory_bytes(), before + std::size_t{512} * 10 * 5);
}

TEST(Bm25, QueriesWithoutKnownWordsFindNothing) {
  Words words(73);
  const Corpus corpus = random_corpus(words, 600);
  for (const auto* column : {&corpus.growing, &corpus.sealed}) {
    EXPECT_TRUE(found(*column, {}, nullptr, {}, 10).empty());
    EXPECT_TRUE(found(*column, {"unheard"}, nullptr, {}, 10).empty());
    const Bitset none(600);
    EXPECT_TRUE(found(*column, {"w0", "w1"}, &none, {}, 10).empty());
  }
}

/// Scores of one key by themselves.
std::vector<float> scores_of(const ColumnView& column, const Tokens& query, double boost) {
  const auto tokens = QueryTokens::of(query);
  const Occurrences occurrences(column, tokens.texts);
  CorpusStatistics corpus;
  corpus.add(occurrences, nullptr);
  const Bm25 bm25(tokens, corpus, {}, boost);
  std::vector<float> scores;
  for (std::uint32_t row = 0; row < column.n_rows; ++row) {
    scores.push_back(static_cast<float>(bm25.score(occurrences, row)));
  }
  return scores;
}

TEST(Bm25, ScoresOfSeveralKeysAddUp) {
  Words words(75);
  const int n_rows = 5000;
  const Corpus titles = random_corpus(words, n_rows);
  const Corpus bodies = random_corpus(words, n_rows);
  for (int i = 0; i < 5; ++i) {
    const Tokens query = words.text(4);
    const auto of_titles = scores_of(titles.sealed, query, 2.5);
    const auto of_bodies = scores_of(bodies.sealed, query, 1);
    std::vector<Hit> wanted;
    for (std::uint32_t row = 0; row < n_rows; ++row) {
      const float score = of_titles[row] + of_bodies[row];
      if (score > 0) wanted.push_back({score, row});
    }
    std::sort(wanted.begin(), wanted.end(), [](const Hit& a, const Hit& b) {
      return a.score != b.score ? a.score > b.score : a.row < b.row;
    });
    wanted.resize(std::min<std::size_t>(wanted.size(), 20));
    const auto tokens = QueryTokens::of(query);
    const Occurrences in_titles(titles.sealed, tokens.texts);
    const Occurrences in_bodies(bodies.growing, tokens.texts);
    CorpusStatistics title_corpus, body_corpus;
    title_corpus.add(in_titles, nullptr);
    body_corpus.add(in_bodies, nullptr);
    const Bm25 title_scores(tokens, title_corpus, {}, 2.5), body_scores(tokens, body_corpus, {});
    const std::array keys = {ScoredTexts{in_titles, title_scores},
                             ScoredTexts{in_bodies, body_scores}};
    BestRows best(20);
    ASSERT_TRUE(search_texts(keys, nullptr, best, Cancel()));
    expect_near(best.hits(), wanted);
  }
}

TEST(Bm25, ACancelledSearchStops) {
  Words words(74);
  const Corpus corpus = random_corpus(words, 600);
  const auto tokens = QueryTokens::of({"w0"});
  const Occurrences occurrences(corpus.sealed, tokens.texts);
  CorpusStatistics statistics;
  statistics.add(occurrences, nullptr);
  Cancel cancel;
  cancel.cancel();
  BestRows best(10);
  const Bm25 bm25(tokens, statistics, {});
  const ScoredTexts texts{occurrences, bm25};
  EXPECT_FALSE(search_texts({&texts, 1}, nullptr, best, cancel));
}

}  // namespace
}  // namespace quiver::payload
