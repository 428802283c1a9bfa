// Token codes against MaxSim in double precision: how far scores err at each number of bits, ragged
// documents, carving, files.
#include "index/multi/tokens/token_codes.h"
#include "tests/index/multi/multi_support.h"

namespace quiver::index::testing {
namespace {

using multi::TokenCodes;
using multi::TokenQuery;

/// What the product of a query token with a document token, both of unit length, errs by at most:
/// coordinates, and so their steps, are as large as fewer of them make a length.
double bound_of(const TokenCodes& codes) {
  const double of_128 = codes.codec().facts().bits == 8   ? 0.004
                        : codes.codec().facts().bits == 4 ? 0.04
                                                          : 0.15;
  return of_128 * std::sqrt(128.0 / codes.codec().facts().padded_dim);
}

void expect_near(const FieldColumn& column, const TokenCodes& codes, const PlainVector& query,
                 double bound_in_bounds = 1) {
  const auto scores = scores_of(codes, query);
  const auto exact = exact_scores(column, query);
  const auto n_query = static_cast<double>(query.values.size() / column.schema.dim);
  for (std::uint32_t row = 0; row < column.n_rows; ++row) {
    ASSERT_EQ(std::isnan(exact[row]), std::isnan(scores[row])) << "row " << row;
    if (std::isnan(exact[row])) continue;
    ASSERT_NEAR(scores[row], exact[row], n_query * bound_of(codes) * bound_in_bounds)
        << "row " << row;
  }
}

TEST(TokenCodes, ErrAsLittleAsTheirBitsAllow) {
  Random random(kMultiSeed);
  for (const std::uint32_t dim : {3U, 64U, 100U, 128U, 384U}) {
    Words words(dim, random);
    const FieldColumn column = words.column(multi_schema(dim), some_sizes(60, 80, random));
    for (const std::uint32_t bits : {8U, 4U, 2U}) {
      SCOPED_TRACE(::testing::Message() << dim << " dimensions, " << bits << " bits");
      const TokenCodes codes = CodesFile(column, bits).open();
      for (const std::size_t n_query : {1, 15, 33}) {
        // Three dimensions have far larger coordinates than a normal distribution.
        expect_near(column, codes, words.tokens(n_query), dim == 3 ? 2 : 1);
      }
    }
  }
}

TEST(TokenCodes, SuitEveryTypeOfValues) {
  Random random(kMultiSeed);
  Words words(96, random);
  for (const Metric metric : {Metric::kDot, Metric::kCosine}) {
    for (const DType dtype : {DType::kF32, DType::kF16, DType::kU8}) {
      const FieldSchema schema = multi_schema(96, metric, dtype);
      SCOPED_TRACE(describe(schema));
      const FieldColumn column = words.column(schema, some_sizes(40, 30, random));
      const TokenCodes codes = CodesFile(column, 8).open();
      // Bytes are a hundred times a unit vector, and their middle.
      const bool in_bytes = metric == Metric::kDot && dtype == DType::kU8;
      expect_near(column, codes, words.tokens(9), in_bytes ? 100 : 1);
    }
  }
}

TEST(TokenCodes, KeepTheOrderWhereScoresDiffer) {
  Random random(kMultiSeed);
  Words words(128, random);
  const FieldColumn column = words.column(multi_schema(128), some_sizes(300, 60, random));
  const TokenCodes codes = CodesFile(column, 8).open();
  for (int q = 0; q < 10; ++q) {
    const PlainVector query = words.tokens(15);
    const auto scores = scores_of(codes, query);
    std::vector<std::uint32_t> order = all_rows(column.n_rows);
    const auto exact = exact_scores(column, query);
    std::sort(order.begin(), order.end(), [&](auto a, auto b) { return exact[a] > exact[b]; });
    for (std::size_t i = 0; i < 10; ++i) {
      for (std::size_t j = i + 1; j < order.size(); ++j) {
        if (exact[order[i]] - exact[order[j]] < 15 * 0.004) continue;
        ASSERT_GT(scores[order[i]], scores[order[j]]);
      }
    }
  }
}

TEST(TokenCodes, TellHowFarTheyErr) {
  Random random(kMultiSeed);
  Words words(128, random, 2000);
  const FieldColumn column = words.column(multi_schema(128), some_sizes(300, 60, random));
  for (const std::uint32_t bits : {8U, 4U, 2U}) {
    const TokenCodes codes = CodesFile(column, bits).open();
    double squares = 0;
    double expected = 0;
    for (int q = 0; q < 10; ++q) {
      const PlainVector tokens = words.tokens(20);
      TokenQuery query;
      query.set(codes.codec(), tokens.values);
      const auto exact = exact_scores(column, tokens);
      std::vector<double> errors;
      double mean = 0;
      for (std::uint32_t row = 0; row < column.n_rows; ++row) {
        errors.push_back(codes.score_row(query, row) - exact[row]);
        mean += errors.back() / column.n_rows;
      }
      for (const double error : errors) squares += (error - mean) * (error - mean);
      expected += double{query.deviation()} * query.deviation() * column.n_rows;
    }
    const double ratio = std::sqrt(squares / expected);
    EXPECT_GT(ratio, 0.7) << bits;
    EXPECT_LT(ratio, 1.2) << bits;
  }
}

/// Bit for bit: what is scored together, in any order, and alone in a file of its own codec's
/// codes.
TEST(TokenCodes, DoNotDependOnTheirNeighbours) {
  Random random(kMultiSeed);
  Words words(40, random);
  const FieldColumn column = words.column(multi_schema(40), {3, 0, 1, 64, 1, 0, 17, 33, 9, 8});
  for (const std::uint32_t bits : {8U, 4U, 2U}) {
    const TokenCodes codes = CodesFile(column, bits).open();
    TokenQuery query;
    query.set(codes.codec(), words.tokens(1000).values);  // whose memory is used again
    const PlainVector tokens = words.tokens(21);
    query.set(codes.codec(), tokens.values);
    const auto together = scores_of(codes, tokens);
    for (std::uint32_t row = 0; row < column.n_rows; ++row) {
      const float alone = codes.score_row(query, row);
      EXPECT_EQ(std::memcmp(&alone, &together[row], sizeof alone), 0);
      EXPECT_EQ(std::isnan(alone), column.present[row] == 0);
      EXPECT_EQ(codes.n_tokens(row), column.multi().row(row).n_rows);
    }
  }
}

TEST(TokenCodes, OfLongDocumentsAndQueries) {
  Random random(kMultiSeed);
  Words words(16, random);
  const FieldColumn column = words.column(multi_schema(16), {2, 70'000, 5});
  for (const std::uint32_t bits : {8U, 2U}) {
    const TokenCodes codes = CodesFile(column, bits).open();
    expect_near(column, codes, words.tokens(3));
  }
  const FieldColumn few = words.column(multi_schema(16), {20, 1, 40});
  expect_near(few, CodesFile(few, 8).open(), words.tokens(1000));
}

TEST(TokenCodes, OfDegenerateColumns) {
  Random random(kMultiSeed);
  for (const std::uint32_t bits : {8U, 4U, 2U}) {
    Words words(7, random);
    const PlainVector query = words.tokens(2);
    EXPECT_TRUE(
        scores_of(CodesFile(words.column(multi_schema(7), {}), bits).open(), query).empty());
    for (const float score :
         scores_of(CodesFile(words.column(multi_schema(7), {0, 0}), bits).open(), query)) {
      EXPECT_TRUE(std::isnan(score));
    }
    // The mean is all that there is.
    const FieldColumn same = make_column(multi_schema(7), repeated(5, words.tokens(1)));
    expect_near(same, CodesFile(same, bits).open(), query, 1e-3);
    const FieldColumn line = Words(1, random).column(multi_schema(1), {1, 4, 2});
    expect_near(line, CodesFile(line, bits).open(), Words(1, random).tokens(3), 2);
    const PlainVector zero{std::vector<float>(14), {}};
    EXPECT_EQ(scores_of(CodesFile(same, bits).open(), zero)[0], 0);
    EXPECT_TRUE(std::isnan(scores_of(CodesFile(same, bits).open(), {})[0]));
  }
}

/// One token among thousands that is a thousand times as long leaves the others their precision.
TEST(TokenCodes, BearATokenOfAnotherLength) {
  Random random(kMultiSeed);
  Words words(128, random);
  std::vector<std::optional<PlainVector>> vectors;
  for (int i = 0; i < 400; ++i) vectors.emplace_back(words.tokens(30));
  for (float& value : vectors[7]->values) value *= 1000;
  vectors[7]->values.resize(128);
  const FieldColumn column = make_column(multi_schema(128, Metric::kDot), vectors);
  const TokenCodes codes = CodesFile(column, 8).open();
  const PlainVector query = words.tokens(8);
  const auto scores = scores_of(codes, query);
  const auto exact = exact_scores(column, query);
  for (std::uint32_t row = 8; row < 400; ++row) EXPECT_NEAR(scores[row], exact[row], 8 * 0.004);
}

TEST(TokenCodes, StopWhenCancelled) {
  Random random(kMultiSeed);
  Words words(64, random);
  const FieldColumn column = words.column(multi_schema(64), some_sizes(400, 60, random));
  const CodesFile file(column, 8);
  const TokenCodes codes = file.open();
  TokenQuery query;
  query.set(codes.codec(), words.tokens(40).values);
  const Cancel cancel;
  cancel.cancel();
  std::vector<float> scores(column.n_rows);
  EXPECT_FALSE(codes.score(query, all_rows(column.n_rows), cancel, scores.data()));
  SectionWriter writer(kTestFormat, *file.directory->create_file("another"));
  EXPECT_FALSE(TokenCodes::write(column, 8, {nullptr, cancel, 1, nullptr}, writer));
}

TEST(TokenCodes, TellTheirProgress) {
  Random random(kMultiSeed);
  Words words(8, random);
  const FieldColumn column = words.column(multi_schema(8), some_sizes(50, 6, random));
  const auto directory = make_memory_directory();
  SectionWriter writer(kTestFormat, *directory->create_file("tokens"));
  const Cancel cancel;
  std::uint64_t done = 0;
  ASSERT_TRUE(
      TokenCodes::write(column, 4, {nullptr, cancel, 1, [&](auto n) { done = n; }}, writer));
  EXPECT_EQ(done, 50U);
}

}  // namespace
}  // namespace quiver::index::testing
