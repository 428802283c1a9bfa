// Searches of texts by BM25 (docs/text.md): microseconds of the thread for each query, from the
// text of the query to the best rows, over one sealed column in memory. No JSON, no threads, no
// filter.
//
//   text_search_bench TEXTS QUERIES [passes] [k]      one text per line each; 5 passes, k = 10
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <queue>
#include <string>
#include <string_view>
#include <vector>

#include "base/io/file.h"
#include "bench/micro/yardstick.h"
#include "payload/bm25/bm25.h"
#include "payload/column/column.h"
#include "payload/json/document.h"
#include "payload/text/analyzer.h"

namespace quiver {
namespace {

using payload::ColumnView;
using payload::FieldIndex;
using payload::QueryTokens;

std::vector<std::string> read_lines(const char* path) {
  std::ifstream file(path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(std::move(line));
  return lines;
}

FieldIndex index_of(bool is_english) {
  FieldIndex index;
  index.key = "text";
  index.kind = payload::IndexKind::kText;
  index.scoring = true;
  if (!is_english) return index;
  index.text.stopwords.languages = {payload::StopwordLanguage::kEnglish};
  index.text.stemmer = payload::StemmerLanguage::kEnglish;
  return index;
}

ColumnView sealed_column(const FieldIndex& index, const std::vector<std::string>& texts,
                         Directory& directory) {
  auto column = *payload::MutableColumn::create(index);
  for (const auto& text : texts) {
    column->add_row(payload::Value(payload::Object{{"text", payload::Value(text)}}));
  }
  if (!payload::write_column(column->view(), directory, "column")) std::abort();
  return *payload::open_column(directory, "column", index);
}

class BestRows final : public payload::RowSink {
 public:
  explicit BestRows(std::size_t limit) : limit_(limit) {}
  void offer(std::uint32_t, float score) override {
    scores_.push(score);
    if (scores_.size() > limit_) scores_.pop();
  }
  [[nodiscard]] float threshold() const override {
    return scores_.size() < limit_ ? 0 : scores_.top();
  }
  [[nodiscard]] std::size_t limit() const override { return limit_; }

 private:
  std::size_t limit_;
  std::priority_queue<float, std::vector<float>, std::greater<>> scores_;
};

/// The score of the last hit.
float search(const ColumnView& column, const std::string& text, std::size_t k) {
  std::vector<std::string> words;
  payload::analyzer_of_thread(column.index->text)
      .for_each_token(text, payload::TokenUse::kQuery,
                      [&](std::string_view token) { words.emplace_back(token); });
  const auto tokens = QueryTokens::of(words);
  const payload::Occurrences occurrences(column, tokens.texts);
  payload::CorpusStatistics corpus;
  corpus.add(occurrences, nullptr);
  const payload::Bm25 bm25(tokens, corpus, {});
  BestRows best(k);
  const payload::ScoredTexts key{occurrences, bm25};
  if (!payload::search_texts({&key, 1}, nullptr, best, {})) std::abort();
  return best.threshold();
}

std::size_t n_postings(const ColumnView& column, const std::vector<std::string>& queries) {
  std::size_t n = 0;
  for (const auto& text : queries) {
    std::vector<std::string> words;
    payload::analyzer_of_thread(column.index->text)
        .for_each_token(text, payload::TokenUse::kQuery,
                        [&](std::string_view token) { words.emplace_back(token); });
    const payload::Occurrences occurrences(column, QueryTokens::of(words).texts);
    for (std::size_t i = 0; i < occurrences.n_tokens(); ++i) n += occurrences.n_rows(i, nullptr);
  }
  return n;
}

int run(char** argv, int n_passes, std::size_t k) {
  const auto texts = read_lines(argv[1]);
  const auto queries = read_lines(argv[2]);
  if (texts.empty() || queries.empty()) {
    fmt::print(stderr, "text_search_bench: no text in {} or {}\n", argv[1], argv[2]);
    return 1;
  }
  fmt::print(
      "| words | postings a query | us a query, mean | p50 | p99 |\n|---|---|---|---|---|\n");
  for (const bool is_english : {false, true}) {
    const auto directory = make_memory_directory();
    const auto column = sealed_column(index_of(is_english), texts, *directory);
    std::vector<double> best(queries.size(), 1e9);
    for (int pass = 0; pass < n_passes; ++pass) {
      for (std::size_t i = 0; i < queries.size(); ++i) {
        const double s = thread_seconds([&] { g_sink = search(column, queries[i], k); });
        best[i] = std::min(best[i], s * 1e6);
      }
    }
    double sum = 0;
    for (const double us : best) sum += us;
    std::sort(best.begin(), best.end());
    fmt::print("| {} | {} | {:.1f} | {:.1f} | {:.1f} |\n", is_english ? "English" : "all",
               n_postings(column, queries) / queries.size(),
               sum / static_cast<double>(queries.size()), best[best.size() / 2],
               best[best.size() * 99 / 100]);
  }
  return 0;
}

}  // namespace
}  // namespace quiver

int main(int argc, char** argv) {
  if (argc < 3 || argc > 5) {
    fmt::print(stderr, "usage: text_search_bench TEXTS QUERIES [passes] [k]\n");
    return 2;
  }
  return quiver::run(argv, argc > 3 ? std::max(1, std::atoi(argv[3])) : 5,
                     argc > 4 ? static_cast<std::size_t>(std::max(1, std::atoi(argv[4]))) : 10);
}
