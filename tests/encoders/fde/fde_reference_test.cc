// The encodings of the MUVERA authors' library, computed independently: its random numbers (as in
// libstdc++), Gaussian planes, buckets in Gray order, count sketches. Grouping, filling and summing
// are our code, given its codes.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "encoders/fde/buckets.h"
#include "tests/encoders/set_support.h"

namespace quiver::testing {
namespace {

using Matrix = std::vector<std::vector<double>>;

class ReferenceRandom {
 public:
  explicit ReferenceRandom(std::uint32_t seed) : bits_(seed) {}

  std::uint32_t bits() { return static_cast<std::uint32_t>(bits_()); }

  /// Lemire 2019.
  std::uint32_t below(std::uint32_t n) {
    std::uint64_t product = std::uint64_t{bits()} * n;
    const std::uint32_t rejected = (0u - n) % n;
    while (static_cast<std::uint32_t>(product) < rejected) product = std::uint64_t{bits()} * n;
    return static_cast<std::uint32_t>(product >> 32);
  }

  double sign() {
    const double low = bits();
    const double high = bits();
    return (low + high * 0x1p32) * 0x1p-64 < 0.5 ? 1 : -1;
  }

  /// Marsaglia's polar method, two at a time.
  float normal() {
    if (has_saved_) {
      has_saved_ = false;
      return saved_;
    }
    float x = 0, y = 0, square = 0;
    do {
      x = 2 * unit() - 1;
      y = 2 * unit() - 1;
      square = x * x + y * y;
    } while (square > 1 || square == 0);
    const float factor = std::sqrt(-2 * std::log(square) / square);
    saved_ = x * factor;
    has_saved_ = true;
    return y * factor;
  }

 private:
  float unit() { return std::min(static_cast<float>(bits()) * 0x1p-32f, 0x1.fffffep-1f); }

  std::mt19937 bits_;
  float saved_ = 0;
  bool has_saved_ = false;
};

struct CountSketch {
  CountSketch(std::size_t n_in, std::uint32_t n_out, std::uint32_t seed) : out_dim(n_out) {
    ReferenceRandom random(seed);
    for (std::size_t i = 0; i < n_in; ++i) {
      places.push_back(random.below(n_out));
      signs.push_back(random.sign());
    }
  }
  std::vector<double> apply(const std::vector<double>& in) const {
    std::vector<double> out(out_dim, 0.0);
    for (std::size_t i = 0; i < in.size(); ++i) out[places[i]] += signs[i] * in[i];
    return out;
  }

  std::uint32_t out_dim;
  std::vector<std::uint32_t> places;
  std::vector<double> signs;
};

/// Plane 0 is the highest bit.
std::vector<std::uint16_t> reference_codes(const Tokens& tokens, std::uint32_t n_planes,
                                           std::uint32_t seed) {
  ReferenceRandom random(seed);
  std::vector<std::uint16_t> codes(tokens.n(), 0);
  for (std::uint32_t j = 0; j < n_planes; ++j) {
    std::vector<float> plane(tokens.dim);
    for (float& value : plane) value = random.normal();
    for (std::size_t i = 0; i < tokens.n(); ++i) {
      const bool is_set = product(plane.data(), tokens[i], tokens.dim) > 0;
      codes[i] = static_cast<std::uint16_t>(codes[i] * 2 + (is_set ? 1 : 0));
    }
  }
  return codes;
}

enum class Side { kDocument, kQuery };

/// Contents of our buckets, given the reference's codes: `[n_buckets, dim]`.
Matrix blocks_of(const Tokens& tokens, std::uint32_t n_planes, std::uint32_t seed, Side side) {
  const std::size_t n_buckets = std::size_t{1} << n_planes;
  encoders::fde::Buckets buckets;
  buckets.assign(reference_codes(tokens, n_planes, seed), n_buckets);
  if (side == Side::kDocument) buckets.fill();
  const std::size_t width = (tokens.dim + 15) / 16 * 16;
  std::vector<float> padded(tokens.n() * width, 0.0f), sum(width);
  for (std::size_t i = 0; i < tokens.n(); ++i) {
    std::copy_n(tokens[i], tokens.dim, padded.data() + i * width);
  }
  Matrix blocks(n_buckets, std::vector<double>(tokens.dim, 0.0));
  for (std::size_t b = 0; b < n_buckets; ++b) {
    const TokenRange range = buckets[b];
    if (range.n == 0) continue;
    float square = 0;
    kernels().sets.pool(padded.data(), width / 16, buckets.ids(), &range, 1, sum.data(), &square);
    for (std::size_t d = 0; d < tokens.dim; ++d) {
      blocks[b][d] = side == Side::kQuery ? sum[d] : double{sum[d]} / range.n;
    }
  }
  return blocks;
}

struct Reference {
  std::uint32_t repetitions;
  std::uint32_t planes;
  std::uint32_t projected_dim;  ///< 0: none
  std::uint32_t seed;

  std::vector<double> encode(const Tokens& tokens, Side side) const {
    std::vector<double> out;
    for (std::uint32_t r = 0; r < repetitions; ++r) {
      const Matrix blocks = blocks_of(tokens, planes, seed + r, side);
      for (std::size_t rank = 0; rank < blocks.size(); ++rank) {
        std::vector<double> block = blocks[rank ^ (rank >> 1)];
        if (projected_dim != 0) {
          block = CountSketch(tokens.dim, projected_dim, seed + r).apply(block);
        }
        out.insert(out.end(), block.begin(), block.end());
      }
    }
    return out;
  }
};

Tokens formula_tokens(std::size_t n, std::uint32_t dim, std::size_t a) {
  Tokens tokens{dim, {}};
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < dim; ++j) {
      const auto step = static_cast<int>((31 * i + 17 * j + 7 * a + i * j % 5) % 13);
      tokens.values.push_back(static_cast<float>(step - 6) / 8);
    }
  }
  return tokens;
}

TEST(FdeReference, DrawsTheNumbersOfTheLibrary) {
  ReferenceRandom bits(1), normals(1);
  for (std::uint32_t wanted : {1791095845u, 4282876139u, 3093770124u}) {
    EXPECT_EQ(bits.bits(), wanted);
  }
  for (float wanted : {0.30639967f, 0.15606569f, -0.42438623f, -0.56803977f, -0.20454668f}) {
    EXPECT_NEAR(normals.normal(), wanted, 1e-6);
  }
  const CountSketch sketch(8, 4, 1);
  EXPECT_EQ(sketch.places, (std::vector<std::uint32_t>{1, 3, 1, 0, 0, 2, 2, 1}));
  EXPECT_EQ(sketch.signs, (std::vector<double>{-1, 1, 1, 1, 1, -1, 1, -1}));
}

TEST(FdeReference, SmallVectorsAreThoseOfTheLibrary) {
  const Tokens document = formula_tokens(3, 4, 0), query = formula_tokens(2, 4, 3);
  const Reference reference{2, 2, 0, 1};
  const std::vector<double> wanted_document = {-.125, -.3125, .3125,  .625,  -.75,  -.25, .25, .75,
                                               -.125, .5,     -.5,    .125,  -.125, .5,   -.5, .125,
                                               .1875, .0625,  -.0625, .3125, -.75,  -.25, .25, .75,
                                               -.75,  -.25,   .25,    .75,   -.75,  -.25, .25, .75};
  const std::vector<double> wanted_query = {
      0,   0,   0,     0,    -.75, -.125, .5, -.5, 0,    0,     0,  0,   .25, .75, -.375, .125,
      .25, .75, -.375, .125, 0,    0,     0,  0,   -.75, -.125, .5, -.5, 0,   0,   0,     0};
  const auto of_document = reference.encode(document, Side::kDocument);
  const auto of_query = reference.encode(query, Side::kQuery);
  ASSERT_EQ(of_document.size(), 32u);
  for (std::size_t i = 0; i < 32; ++i) {
    EXPECT_NEAR(of_document[i], wanted_document[i], 1e-6) << i;
    EXPECT_NEAR(of_query[i], wanted_query[i], 1e-6) << i;
  }
  EXPECT_NEAR(dot(of_document, of_query), 1.390625, 1e-6);
}

TEST(FdeReference, LargeVectorsAreThoseOfTheLibrary) {
  const Reference reference{20, 5, 16, 42};
  const auto document = reference.encode(formula_tokens(40, 128, 0), Side::kDocument);
  const auto query = reference.encode(formula_tokens(32, 128, 3), Side::kQuery);
  ASSERT_EQ(document.size(), 10240u);
  double sum = 0;
  for (double value : document) sum += value;
  EXPECT_NEAR(sum, -55.781846, 0.055);
  EXPECT_NEAR(dot(document, document), 14901.467353, 14.9);
  EXPECT_EQ(query.size() - static_cast<std::size_t>(std::count(query.begin(), query.end(), 0.0)),
            5624u);
  EXPECT_NEAR(dot(document, query), 7551.732112, 7.5);

  const CountSketch last(10240, 2560, 42);
  const auto short_document = last.apply(document);
  EXPECT_NEAR(dot(short_document, last.apply(query)), 7324.126986, 7.3);
  const double first[] = {-0.375, 0.8375, 0.5625};
  for (std::size_t i = 0; i < 3; ++i) EXPECT_NEAR(short_document[i], first[i], 1e-3);
}

// The generators of repetitions differ by one in their seeds.
TEST(FdeReference, RepetitionsAreThoseOfTheNextSeed) {
  const Tokens tokens = formula_tokens(20, 16, 2);
  const auto two = Reference{2, 3, 8, 5}.encode(tokens, Side::kDocument);
  const auto next = Reference{1, 3, 8, 6}.encode(tokens, Side::kDocument);
  EXPECT_TRUE(std::equal(next.begin(), next.end(), two.begin() + 64));
}

}  // namespace
}  // namespace quiver::testing
