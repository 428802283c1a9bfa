// Signs of tokens: scores against what the codes say, files, rows without tokens.
#include <bit>
#include <cstdlib>
#include <limits>

#include "base/threads/executor.h"
#include "index/multi/tokens/token_signs.h"
#include "tests/index/multi/multi_support.h"

namespace quiver::index::testing {
namespace {

using multi::TokenCodes;
using multi::TokenSigns;

constexpr SectionFormat kSignsFormat{"test signs", "QVTEST02", "QVTESTN2"};

/// Signs in a file in memory, beside the codes that they are of.
struct SignsFile {
  SignsFile(const FieldColumn& rows, std::uint32_t bits, Executor* executor = nullptr)
      : codes_file(rows, bits), codes(codes_file.open()) {
    const Cancel cancel;
    SectionWriter writer(kSignsFormat, *directory().create_file("signs"));
    const auto written =
        TokenSigns::write(rows, codes, {executor, cancel, kMultiSeed, nullptr}, writer);
    EXPECT_TRUE(written) << written.error().to_string();
    EXPECT_TRUE(writer.finish(rows.n_rows));
  }
  [[nodiscard]] Directory& directory() const { return *codes_file.directory; }
  [[nodiscard]] Result<TokenSigns> try_open(const FieldColumn& rows) const {
    QV_TRY(const auto reader, SectionReader::open(kSignsFormat, directory(), "signs"));
    return TokenSigns::open(reader, rows, codes.codec());
  }
  [[nodiscard]] TokenSigns open() const {
    auto signs = try_open(codes_file.column);
    EXPECT_TRUE(signs) << signs.error().to_string();
    return *std::move(signs);
  }
  [[nodiscard]] std::vector<std::byte> bytes() const { return *directory().read_file("signs"); }

  CodesFile codes_file;
  TokenCodes codes;
};

std::vector<float> sign_scores(const SignsFile& file, const TokenSigns& signs,
                               const PlainVector& tokens) {
  multi::TokenQuery query;
  query.set(file.codes.codec(), tokens.values);
  const auto rows = all_rows(file.codes_file.column.n_rows);
  std::vector<float> scores(rows.size());
  const Cancel cancel;
  EXPECT_TRUE(signs.score(query, rows, cancel, scores.data()));
  return scores;
}

/// The number of the level of dimension `d`, as docs/formats/multi.md has codes.
unsigned level_of(const std::byte* token, std::uint32_t bits, std::size_t d) {
  const std::size_t group_bytes = std::size_t{4} * bits;
  const auto byte = std::to_integer<unsigned>(token[d / 32 * group_bytes + d % 32 % group_bytes]);
  return byte >> (d % 32 / group_bytes * bits) & ((1U << bits) - 1);
}

/// By the definition; in units of the longest query token.
float score_of(const SignsFile& file, const PlainVector& query, std::uint32_t row) {
  const auto& codec = file.codes.codec();
  const std::size_t dim = codec.facts().padded_dim;
  std::vector<float> rotated(dim);
  double longest = 0;
  for (std::size_t at = 0; at < query.values.size(); at += codec.facts().dim) {
    codec.rotation().apply(query.values.data() + at, rotated.data());
    longest = std::max(longest, kernels().convert.norm(rotated.data(), dim));
  }
  float sum = 0;
  for (std::size_t at = 0; at < query.values.size(); at += codec.facts().dim) {
    codec.rotation().apply(query.values.data() + at, rotated.data());
    std::size_t least = dim + 1;
    for (std::size_t t = 0; t < file.codes.n_tokens(row); ++t) {
      const std::byte* token = file.codes.of_row(row) + t * codec.token_bytes();
      std::size_t differing = 0;
      for (std::size_t d = 0; d < dim; ++d) {
        const bool is_high =
            level_of(token, codec.facts().bits, d) >= 1U << (codec.facts().bits - 1);
        differing += is_high == (rotated[d] >= 0) ? 0 : 1;
      }
      least = std::min(least, differing);
    }
    const auto length = static_cast<float>(kernels().convert.norm(rotated.data(), dim) / longest);
    sum += length * static_cast<float>(least);
  }
  return -sum;
}

TEST(TokenSigns, ScoresAreThoseOfTheHighestBitsOfCodes) {
  Random random(kMultiSeed);
  for (const std::uint32_t dim : {8U, 64U, 96U, 128U, 200U}) {
    Words words(dim, random);
    const FieldColumn column =
        words.column(multi_schema(dim, Metric::kDot), some_sizes(40, 30, random));
    for (const std::uint32_t bits : {8U, 4U, 2U}) {
      const SignsFile file(column, bits);
      const TokenSigns signs = file.open();
      const PlainVector query = words.tokens(1 + random() % 40);
      const auto scores = sign_scores(file, signs, query);
      for (std::uint32_t row = 0; row < column.n_rows; ++row) {
        ASSERT_EQ(scores[row], score_of(file, query, row))
            << "row " << row << ", " << dim << " dimensions, " << bits << " bits";
      }
    }
  }
}

TEST(TokenSigns, TellNearRowsFromOthers) {
  Random random(kMultiSeed);
  Words words(128, random);
  const FieldColumn column = words.column(multi_schema(128), some_sizes(500, 20, random));
  const SignsFile file(column, 8);
  const TokenSigns signs = file.open();
  std::size_t n_found = 0;
  for (int q = 0; q < 20; ++q) {
    const PlainVector query = words.tokens(10);
    const auto scores = sign_scores(file, signs, query);
    const auto exact = exact_scores(column, query);
    const auto best = std::max_element(exact.begin(), exact.end()) - exact.begin();
    const auto n_better = std::count_if(scores.begin(), scores.end(),
                                        [&](float score) { return score > scores[best]; });
    n_found += n_better < 10 ? 1 : 0;
  }
  EXPECT_GE(n_found, 19U) << "of 20 best rows among the best ten of 500 by signs";
}

TEST(TokenSigns, QueriesOfAnyLengthHaveTheSameScores) {
  Random random(kMultiSeed);
  Words words(64, random);
  const SignsFile file(words.column(multi_schema(64, Metric::kDot), some_sizes(30, 20, random)), 8);
  const TokenSigns signs = file.open();
  const PlainVector query = words.tokens(16);
  const auto scores = sign_scores(file, signs, query);
  for (const int exponent : {-100, 100, 120}) {
    PlainVector scaled = query;
    for (float& value : scaled.values) value = std::ldexp(value, exponent);
    EXPECT_EQ(sign_scores(file, signs, scaled), scores) << "2^" << exponent;
  }
}

TEST(TokenSigns, RowsWithoutTokensAreLast) {
  Random random(kMultiSeed);
  Words words(32, random);
  const SignsFile file(words.column(multi_schema(32), {3, 0, 5}), 8);
  const TokenSigns signs = file.open();
  const auto scores = sign_scores(file, signs, words.tokens(4));
  EXPECT_GT(scores[0], scores[1]);
  EXPECT_GT(scores[2], scores[1]);
  EXPECT_EQ(scores[1], std::numeric_limits<float>::lowest());
  EXPECT_EQ(sign_scores(file, signs, {})[0], std::numeric_limits<float>::lowest());
}

TEST(TokenSigns, TheSameBytesForAnyNumberOfThreads) {
  Random random(kMultiSeed);
  Words words(32, random);
  std::vector<std::size_t> sizes = some_sizes(300, 40, random);
  sizes[100] = 5000;
  sizes[200] = 0;
  const FieldColumn column = words.column(multi_schema(32), sizes);
  const auto alone = SignsFile(column, 4).bytes();
  for (const unsigned n_threads : {1U, 2U, 5U}) {
    Executor executor(n_threads, "test");
    EXPECT_TRUE(alone == SignsFile(column, 4, &executor).bytes()) << n_threads << " threads";
  }
}

TEST(TokenSigns, OfOtherRowsAreRefused) {
  Random random(kMultiSeed);
  Words words(12, random);
  const SignsFile file(words.column(multi_schema(12), {2, 3, 4}), 8);
  const auto signs = file.try_open(words.column(multi_schema(12), {2, 4, 4}));
  ASSERT_FALSE(signs);
  EXPECT_EQ(signs.error().code(), Code::kDataLoss);
}

TEST(TokenSigns, ASearchThatIsCancelledEnds) {
  Random random(kMultiSeed);
  Words words(32, random);
  const SignsFile file(words.column(multi_schema(32), {3, 4, 5}), 8);
  multi::TokenQuery query;
  query.set(file.codes.codec(), words.tokens(4).values);
  Cancel cancel;
  cancel.cancel();
  std::vector<float> scores(3);
  const auto scored = file.open().score(query, all_rows(3), cancel, scores.data());
  ASSERT_FALSE(scored);
  EXPECT_EQ(scored.error().code(), Code::kCancelled);
}

/// What version 1 wrote is written, and read, for ever.
TEST(TokenSigns, TheGoldenFileIsWritten) {
  std::uint32_t state = 1;
  const auto next = [&state] { return state = state * 1'664'525U + 1'013'904'223U, state >> 16; };
  std::vector<std::optional<PlainVector>> vectors;
  for (std::uint32_t row = 0; row < 20; ++row) {
    PlainVector vector;
    for (std::uint32_t i = 0; i < (1 + row % 5) * 8; ++i) {
      vector.values.push_back(static_cast<float>(next() % 64) / 64.0F - 0.5F);
    }
    vectors.emplace_back(std::move(vector));
  }
  const SignsFile file(make_column(multi_schema(8, Metric::kDot), vectors), 8);
  const auto real = open_real_directory("tests/index/golden");
  ASSERT_TRUE(real);
  if (std::getenv("QUIVER_WRITE_GOLDEN") != nullptr) {
    ASSERT_TRUE((*real)->replace_file("multi-v1-signs.qvx", file.bytes()));
  }
  const auto golden = (*real)->read_file("multi-v1-signs.qvx");
  ASSERT_TRUE(golden) << golden.error().to_string();
  EXPECT_TRUE(*golden == file.bytes());
}

}  // namespace
}  // namespace quiver::index::testing
