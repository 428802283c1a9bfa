#include <algorithm>
#include <bit>
#include <memory>

#include "tests/kernels/support.h"

namespace quiver::testing {
namespace {

constexpr unsigned kSeed = 20261122;

using SignsTest = KernelTest;
QV_EVERY_LEVEL(SignsTest);

struct Shape {
  std::size_t n_query;
  std::size_t n_words;
  std::size_t n_doc;
};

std::uint32_t least_of(const std::uint64_t* token, const std::uint64_t* doc, const Shape& shape) {
  auto least = static_cast<std::uint32_t>(64 * shape.n_words + 1);
  for (std::size_t i = 0; i < shape.n_doc; ++i) {
    std::uint32_t n = 0;
    for (std::size_t w = 0; w < shape.n_words; ++w) {
      n += static_cast<std::uint32_t>(std::popcount(token[w] ^ doc[i * shape.n_words + w]));
    }
    least = std::min(least, n);
  }
  return least;
}

std::unique_ptr<std::uint64_t[]> random_words(std::size_t n, std::mt19937_64& random) {
  std::unique_ptr<std::uint64_t[]> words(new std::uint64_t[n]);  // no byte more than there is
  std::generate_n(words.get(), n, [&] { return random() & random(); });
  return words;
}

void expect_least(const KernelTable& k, const Shape& shape, std::mt19937_64& random) {
  const auto query = random_words(shape.n_query * shape.n_words, random);
  const auto doc = random_words(shape.n_doc * shape.n_words, random);
  const std::unique_ptr<std::uint64_t[]> prepared(
      new std::uint64_t[SignKernels::prepared_words(shape.n_query, shape.n_words)]);
  k.signs.prepare(query.get(), shape.n_query, shape.n_words, prepared.get());
  const std::unique_ptr<std::uint32_t[]> least(new std::uint32_t[shape.n_query]);
  k.signs.least(prepared.get(), shape.n_query, shape.n_words, doc.get(), shape.n_doc, least.get());
  for (std::size_t i = 0; i < shape.n_query; ++i) {
    ASSERT_EQ(least[i], least_of(query.get() + i * shape.n_words, doc.get(), shape))
        << "token " << i << " of " << shape.n_query << ", " << shape.n_words << " words, "
        << shape.n_doc << " document tokens";
  }
}

TEST_P(SignsTest, CountsTheFewestBits) {
  std::mt19937_64 random(kSeed);
  for (std::size_t n_query = 1; n_query <= 70; ++n_query) {
    expect_least(k(), {n_query, 1 + n_query % 5, 1 + random() % 40}, random);
  }
  for (const std::size_t n_words : {16, 31, 64}) expect_least(k(), {9, n_words, 7}, random);
}

// All bits differ, in the largest number of dimensions.
TEST_P(SignsTest, CountsAllBits) {
  const Shape shape{3, 1024, 1};
  const std::vector<std::uint64_t> query(shape.n_query * shape.n_words, ~std::uint64_t{0});
  const std::vector<std::uint64_t> doc(shape.n_words, 0);
  std::vector<std::uint64_t> prepared(SignKernels::prepared_words(shape.n_query, shape.n_words));
  k().signs.prepare(query.data(), shape.n_query, shape.n_words, prepared.data());
  std::vector<std::uint32_t> least(shape.n_query);
  k().signs.least(prepared.data(), shape.n_query, shape.n_words, doc.data(), 1, least.data());
  EXPECT_EQ(least, std::vector<std::uint32_t>(shape.n_query, 65'536));
}

}  // namespace
}  // namespace quiver::testing
