// Recall of the mean and of FDE, and the promises of the mean.
#include <gtest/gtest.h>

#include "encoders/fde/fde_encoder.h"
#include "encoders/mean_encoder.h"
#include "tests/encoders/set_support.h"

namespace quiver::testing {
namespace {

using encoders::FdeEncoder;
using encoders::MeanEncoder;

constexpr unsigned kSetEncodersSeed = 20240610;
constexpr std::uint32_t kDim = 32;

/// Documents of 4 to 40 tokens near words of a vocabulary, a third of which belong to the topic of
/// the document; queries are tokens of one document, moved.
struct Corpus {
  std::vector<Tokens> documents;
  std::vector<Tokens> queries;
  std::vector<std::size_t> best;  ///< of each query, by MaxSim
};

void append_near(const float* word, double noise, std::mt19937& random, Tokens& to) {
  const auto shift = unit_tokens(1, kDim, random);
  std::vector<double> token(kDim);
  for (std::uint32_t d = 0; d < kDim; ++d) token[d] = word[d] + noise * shift.values[d];
  const double length = norm(token);
  for (double value : token) to.values.push_back(static_cast<float>(value / length));
}

std::size_t best_of(const Tokens& query, const std::vector<Tokens>& documents) {
  std::vector<double> scores;
  for (const Tokens& document : documents) scores.push_back(max_sim(query, document));
  const auto best = std::max_element(scores.begin(), scores.end());
  return static_cast<std::size_t>(best - scores.begin());
}

Corpus clustered(std::size_t n_documents, std::size_t n_queries) {
  std::mt19937 random(kSetEncodersSeed);
  const Tokens words = unit_tokens(400, kDim, random);
  Corpus corpus;
  for (std::size_t i = 0; i < n_documents; ++i) {
    Tokens document{kDim, {}};
    const std::size_t topic = random() % 20 * 20;
    for (std::size_t n = 4 + random() % 37; n > 0; --n) {
      const std::size_t word = random() % 3 == 0 ? topic + random() % 20 : random() % 400;
      append_near(words[word], 0.4, random, document);
    }
    corpus.documents.push_back(document);
  }
  for (std::size_t i = 0; i < n_queries; ++i) {
    const Tokens& document = corpus.documents[random() % n_documents];
    Tokens query{kDim, {}};
    for (int n = 0; n < 8; ++n) append_near(document[random() % document.n()], 0.4, random, query);
    corpus.best.push_back(best_of(query, corpus.documents));
    corpus.queries.push_back(query);
  }
  return corpus;
}

/// Share of queries whose best document by MaxSim is among the `n` best of the encoder.
double recall(const encoders::SetEncoder& encoder, const Corpus& corpus, std::size_t n) {
  std::vector<std::vector<float>> vectors;
  for (const Tokens& document : corpus.documents) {
    vectors.push_back(document_vector(encoder, document));
  }
  double found = 0;
  for (std::size_t q = 0; q < corpus.queries.size(); ++q) {
    const auto vector = query_vector(encoder, corpus.queries[q]);
    std::vector<double> scores;
    for (const auto& other : vectors) scores.push_back(dot(vector, other));
    const double bar = scores[corpus.best[q]];
    const auto n_better =
        std::count_if(scores.begin(), scores.end(), [bar](double score) { return score > bar; });
    found += static_cast<std::size_t>(n_better) < n ? 1 : 0;
  }
  return found / static_cast<double>(corpus.queries.size());
}

TEST(SetEncoders, FindTheBestDocument) {
  const Corpus corpus = clustered(300, 40);
  double last = 0;
  for (std::uint32_t repetitions : {2u, 6u, 20u}) {
    const auto encoder = FdeEncoder::make(kDim, {.repetitions = repetitions}).value();
    const double share = recall(*encoder, corpus, 15);
    EXPECT_GE(share, last - 0.02) << repetitions << " repetitions, seed " << kSetEncodersSeed;
    last = share;
  }
  EXPECT_GE(last, 0.95);
  EXPECT_GE(recall(*FdeEncoder::make(kDim, {.final_dim = 2560}).value(), corpus, 15), 0.95);
  EXPECT_GE(recall(MeanEncoder(kDim), corpus, 15), 0.6);
}

TEST(MeanEncoder, DocumentsAreDirectionsAndQueriesSums) {
  const MeanEncoder encoder(3);
  EXPECT_EQ(encoder.dim(), 3u);
  EXPECT_EQ(encoder.token_dim(), 3u);
  const Tokens tokens{3, {1, 2, 3, 2, 2, 1}};
  EXPECT_EQ(query_vector(encoder, tokens), (std::vector<float>{3, 4, 4}));
  const auto document = document_vector(encoder, tokens);
  EXPECT_LT(
      difference(document, {3 / std::sqrt(41.0f), 4 / std::sqrt(41.0f), 4 / std::sqrt(41.0f)}),
      1e-6);
  EXPECT_EQ(document_vector(encoder, scaled(joined(tokens, tokens), 4.0f)), document);
  EXPECT_EQ(query_vector(encoder, joined(tokens, tokens)), (std::vector<float>{6, 8, 8}));
  EXPECT_EQ(document_vector(encoder, {3, {1, 2, 3, -1, -2, -3}}), (std::vector<float>{0, 0, 0}));
  EXPECT_EQ(query_vector(encoder, {3, {}}), (std::vector<float>{0, 0, 0}));
}

TEST(MeanEncoder, OrderAndCompanyDoNotMatter) {
  std::mt19937 random(kSetEncodersSeed);
  const MeanEncoder encoder(50);
  const Tokens a = unit_tokens(40, 50, random), b = unit_tokens(1000, 50, random);
  EXPECT_LT(difference(document_vector(encoder, reversed(b)), document_vector(encoder, b)), 1e-6);
  const encoders::TokenSet sets[] = {a.set(), b.set()};
  std::vector<float> both(100);
  encoder.encode_documents(sets, both.data());
  EXPECT_EQ(std::vector<float>(both.begin() + 50, both.end()), document_vector(encoder, b));
  auto sum = query_vector(encoder, a);
  const auto other = query_vector(encoder, b);
  for (std::size_t d = 0; d < 50; ++d) sum[d] += other[d];
  EXPECT_LT(difference(query_vector(encoder, joined(a, b)), sum), 1e-6);
}

}  // namespace
}  // namespace quiver::testing
