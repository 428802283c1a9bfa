// Documents and queries with common words and topics, by seed, which encoders of token sets must
// rank as MaxSim does. Independent random tokens would have no neighbours to find.
#pragma once

#include <algorithm>
#include <numeric>
#include <span>
#include <vector>

#include "encoders/features/features_fit.h"
#include "encoders/set_encoder.h"
#include "tests/encoders/support.h"

namespace quiver::testing {

struct CorpusShape {
  std::size_t n_documents = 500;
  std::size_t n_queries = 40;
  std::uint32_t dim = 32;
};

class TokenCorpus {
 public:
  static constexpr std::size_t kTop = 10;
  static constexpr std::size_t kTopics = 12;
  static constexpr std::size_t kWordsPerTopic = 30;

  explicit TokenCorpus(const CorpusShape& shape) : dim_(shape.dim), random_(20240702) {
    make_words();
    std::vector<std::size_t> lengths;
    for (std::size_t i = 0; i < shape.n_documents; ++i) {
      lengths.push_back(5 + random_() % 40);
      add_document(lengths.back());
    }
    slice(document_tokens_, lengths, documents_);
    std::vector<std::size_t> query_lengths(shape.n_queries, 6);
    for (std::size_t i = 0; i < shape.n_queries; ++i) {
      add_query(documents_[random_() % shape.n_documents], 6);
    }
    slice(query_tokens_, query_lengths, queries_);
    for (std::size_t q = 0; q < shape.n_queries; ++q) {
      wanted_.push_back(best(kTop, [&](std::size_t i) { return max_sim(q, i); }));
    }
  }
  TokenCorpus(const TokenCorpus&) = delete;  // sets point into it
  TokenCorpus& operator=(const TokenCorpus&) = delete;

  [[nodiscard]] std::uint32_t dim() const { return dim_; }
  [[nodiscard]] std::span<const encoders::TokenSet> documents() const { return documents_; }
  [[nodiscard]] std::span<const encoders::TokenSet> queries() const { return queries_; }

  /// `[n, dim]` tokens of documents, or all.
  [[nodiscard]] std::vector<float> sample(std::size_t n) const {
    std::vector<float> tokens;
    for (const auto i : encoders::sample_numbers(document_tokens_.size() / dim_, n, 7)) {
      const auto first = document_tokens_.begin() + static_cast<std::ptrdiff_t>(i * dim_);
      tokens.insert(tokens.end(), first, first + dim_);
    }
    return tokens;
  }

  /// Share of each query's exact best `kTop` documents among the `n` of the greatest scalar
  /// products of `rows` `[n_documents, *]` and `queries` `[n_queries, *]`.
  [[nodiscard]] double recall(const std::vector<float>& rows, const std::vector<float>& queries,
                              std::size_t n) const {
    const std::size_t dim = rows.size() / documents_.size();
    double found = 0;
    for (std::size_t q = 0; q < queries_.size(); ++q) {
      const auto got = best(n, [&](std::size_t i) {
        return dot(std::span(&rows[i * dim], dim), std::span(&queries[q * dim], dim));
      });
      for (const std::size_t i : wanted_[q]) found += std::count(got.begin(), got.end(), i) != 0;
    }
    return found / static_cast<double>(kTop * queries_.size());
  }

 private:
  std::vector<float> unit(std::vector<float> token) {
    const double length = norm(token);
    for (float& value : token) value = static_cast<float>(value / length);
    return token;
  }
  std::vector<float> near(std::span<const float> centre, float noise) {
    auto token = normal_vector(dim_, random_);
    for (std::uint32_t d = 0; d < dim_; ++d) {
      token[d] = centre[d] + noise * token[d] / std::sqrt(static_cast<float>(dim_));
    }
    return unit(token);
  }
  void make_words() {
    for (std::size_t t = 0; t < kTopics; ++t) {
      const auto topic = unit(normal_vector(dim_, random_));
      for (std::size_t w = 0; w < kWordsPerTopic; ++w) words_.push_back(near(topic, 1.5f));
    }
  }
  void add_document(std::size_t n) {
    const std::size_t topics[] = {random_() % kTopics, random_() % kTopics, random_() % kTopics};
    for (std::size_t i = 0; i < n; ++i) {
      const auto& word =
          words_[topics[random_() % 3] * kWordsPerTopic + random_() % kWordsPerTopic];
      const auto token = near(word, 0.4f);
      document_tokens_.insert(document_tokens_.end(), token.begin(), token.end());
    }
  }
  void add_query(const encoders::TokenSet& document, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) {
      const float* of = document.values + random_() % document.n * dim_;
      const auto token = near(std::span(of, dim_), 0.6f);
      query_tokens_.insert(query_tokens_.end(), token.begin(), token.end());
    }
  }
  void slice(const std::vector<float>& tokens, const std::vector<std::size_t>& lengths,
             std::vector<encoders::TokenSet>& sets) const {
    const float* at = tokens.data();
    for (const std::size_t n : lengths) {
      sets.push_back({at, n});
      at += n * dim_;
    }
  }
  [[nodiscard]] double max_sim(std::size_t query, std::size_t document) const {
    double sum = 0;
    for (std::size_t q = 0; q < queries_[query].n; ++q) {
      double best = -HUGE_VAL;
      for (std::size_t p = 0; p < documents_[document].n; ++p) {
        best = std::max(best, dot(std::span(queries_[query].values + q * dim_, dim_),
                                  std::span(documents_[document].values + p * dim_, dim_)));
      }
      sum += best;
    }
    return sum;
  }
  template <class Score>
  [[nodiscard]] std::vector<std::size_t> best(std::size_t n, Score&& score) const {
    std::vector<double> scores(documents_.size());
    for (std::size_t i = 0; i < scores.size(); ++i) scores[i] = score(i);
    std::vector<std::size_t> order(scores.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return scores[a] > scores[b]; });
    order.resize(std::min(n, order.size()));
    return order;
  }

  std::uint32_t dim_;
  std::mt19937 random_;
  std::vector<std::vector<float>> words_;
  std::vector<float> document_tokens_, query_tokens_;
  std::vector<encoders::TokenSet> documents_, queries_;
  std::vector<std::vector<std::size_t>> wanted_;  ///< `[n_queries, kTop]` documents
};

}  // namespace quiver::testing
