#include <algorithm>

#include "tests/kernels/support.h"

namespace quiver::testing {
namespace {

constexpr unsigned kSeed = 20240607;

using SetsTest = KernelTest;
QV_EVERY_LEVEL(SetsTest);

const KernelTable& generic() { return *available().back(); }

bool same(const float* a, const float* b, std::size_t n) {
  return std::memcmp(a, b, n * sizeof(float)) == 0;
}

/// The number of plane 16 word + p in dimension d.
int number(const SignPlanes& planes, std::size_t word, std::size_t p, std::size_t d) {
  const std::size_t line = word * planes.n_steps + d / 4;
  return planes.planes[line * 64 + p * 4 + d % 4] - 128;
}

struct Bytes {
  explicit Bytes(std::size_t n) : memory(new std::int8_t[n]) {}
  std::unique_ptr<std::int8_t[]> memory;  // no byte more than there is
};

/// One value in 16 is as far from 0 as it can be.
std::int8_t random_byte(std::mt19937& random) {
  const unsigned draw = static_cast<unsigned>(random());
  if (draw % 16 == 0) return draw & 16 ? 127 : -127;
  return static_cast<std::int8_t>(static_cast<int>(draw >> 8 & 255) - 128);
}

void expect_signs(const KernelTable& k, std::size_t n, std::uint32_t n_words, std::uint32_t n_steps,
                  std::mt19937& random) {
  const std::size_t dim = std::size_t{n_steps} * 4;
  std::vector<std::uint8_t> numbers(std::size_t{n_words} * n_steps * 64);
  for (auto& value : numbers) value = static_cast<std::uint8_t>(128 + random_byte(random));
  const SignPlanes planes{numbers.data(), n_words, n_steps};
  const Bytes tokens(n * dim);
  std::vector<std::int32_t> sums(n);
  for (std::size_t i = 0; i < n * dim; ++i) {
    tokens.memory[i] = i / dim == 1 ? 0 : random_byte(random);  // the second is zero
    sums[i / dim] += tokens.memory[i];
  }
  const std::unique_ptr<std::uint16_t[]> words(new std::uint16_t[n * n_words]);
  k.sets.sign_words(planes, tokens.memory.get(), sums.data(), n, words.get());
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t plane = 0; plane < std::size_t{n_words} * 16; ++plane) {
      std::int64_t product = 0;
      for (std::size_t d = 0; d < dim; ++d) {
        product += number(planes, plane / 16, plane % 16, d) * tokens.memory[i * dim + d];
      }
      ASSERT_EQ(words[i * n_words + plane / 16] >> (plane % 16) & 1, product > 0 ? 1 : 0)
          << "token " << i << " of " << n << ", plane " << plane << ", dim " << dim;
    }
  }
}

TEST_P(SetsTest, SignsAreThoseOfTheProducts) {
  std::mt19937 random(kSeed);
  for (std::size_t n = 1; n <= 18; ++n) expect_signs(k(), n, 1 + n % 8, 4, random);
  for (std::uint32_t n_words = 1; n_words <= 9; ++n_words) {
    expect_signs(k(), 5, n_words, 1 + n_words * 3, random);
  }
}

// Products of the largest numbers fit 32 bits in the largest number of dimensions.
TEST_P(SetsTest, SignsOfTheLargestProducts) {
  const std::uint32_t n_steps = 16384;
  std::vector<std::uint8_t> numbers(std::size_t{n_steps} * 64);
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = i / 4 % 2 != 0 ? 255 : 1;
  for (int value : {127, -127}) {
    const std::vector<std::int8_t> token(65536, static_cast<std::int8_t>(value));
    const std::int32_t sum = value * 65536;
    std::uint16_t word = 0;
    k().sets.sign_words({numbers.data(), 1, n_steps}, token.data(), &sum, 1, &word);
    EXPECT_EQ(word, value > 0 ? 0xAAAA : 0x5555);
  }
}

TEST_P(SetsTest, PoolAddsTheTokensOfRangesInOrder) {
  std::mt19937 random(kSeed);
  const std::size_t n_tokens = 40;
  for (std::size_t n_lines = 1; n_lines <= 21; ++n_lines) {
    const std::size_t width = n_lines * 16;
    const auto tokens = random_floats(n_tokens * width, random);
    std::vector<std::uint32_t> ids(60);
    for (auto& id : ids) id = static_cast<std::uint32_t>(random() % n_tokens);
    const TokenRange ranges[] = {{0, 1}, {1, 2}, {3, 40}, {59, 1}, {10, 7}};
    const std::unique_ptr<float[]> sums(new float[5 * width]);
    float squares[5];
    k().sets.pool(tokens.get(), n_lines, ids.data(), ranges, 5, sums.get(), squares);
    for (std::size_t r = 0; r < 5; ++r) {
      double length = 0;
      for (std::size_t i = 0; i < width; ++i) {
        float sum = tokens[ids[ranges[r].first] * width + i];
        for (std::uint32_t t = 1; t < ranges[r].n; ++t) {
          sum += tokens[ids[ranges[r].first + t] * width + i];
        }
        ASSERT_TRUE(same_bits(sums[r * width + i], sum)) << "range " << r << " lines " << n_lines;
        length += double{sum} * sum;
      }
      EXPECT_NEAR(squares[r], length, 1e-5 * length) << "range " << r << " lines " << n_lines;
    }
    std::vector<float> other(5 * width), other_squares(5);
    generic().sets.pool(tokens.get(), n_lines, ids.data(), ranges, 5, other.data(),
                        other_squares.data());
    EXPECT_TRUE(same(squares, other_squares.data(), 5)) << "lines " << n_lines;
  }
}

void expect_sketch(const KernelTable& k, std::size_t n_lines, std::size_t n_slots,
                   std::size_t n_rows, std::mt19937& random) {
  std::vector<std::uint32_t> slots(n_lines), places(n_rows);
  std::vector<std::uint8_t> lanes(n_lines * 16);
  std::vector<std::uint16_t> signs(n_lines);
  for (auto& slot : slots) slot = static_cast<std::uint32_t>(random() % n_slots);
  for (auto& lane : lanes) lane = static_cast<std::uint8_t>(random() % 16);
  for (auto& word : signs) word = static_cast<std::uint16_t>(random());
  for (std::uint32_t r = 0; r < n_rows; ++r) places[r] = static_cast<std::uint32_t>(n_rows - r);
  const auto in = random_floats(n_rows * n_lines * 16, random);
  const auto factors = random_floats(n_rows, random);
  const std::size_t n_out = (n_rows + 1) * n_slots * 16;
  const auto out = random_floats(n_out, random);
  std::vector<float> wanted(out.get(), out.get() + n_out);
  for (std::size_t i = 0; i < n_rows * n_lines * 16; ++i) {
    const std::size_t row = i / 16 / n_lines, line = i / 16 % n_lines, j = i % 16;
    const float value = in[i / 16 * 16 + lanes[line * 16 + j]] * factors[row];
    wanted[(places[row] * n_slots + slots[line]) * 16 + j] += signs[line] >> j & 1 ? -value : value;
  }
  const LineSketch sketch{slots.data(), lanes.data(), signs.data(), n_lines, n_slots};
  k.sets.sketch(sketch, in.get(), {places.data(), factors.get(), n_rows, out.get()});
  EXPECT_TRUE(same(out.get(), wanted.data(), n_out))
      << n_rows << " rows of " << n_lines << " lines to " << n_slots << " seed " << kSeed;
}

TEST_P(SetsTest, SketchPutsEachValueInItsPlace) {
  std::mt19937 random(kSeed);
  for (std::size_t n_slots : {std::size_t{1}, std::size_t{3}, std::size_t{40}}) {
    for (std::size_t n = 1; n <= 20; ++n) {
      expect_sketch(k(), n, n_slots, 3, random);
      expect_sketch(k(), 3, n_slots, n, random);
    }
  }
}

}  // namespace
}  // namespace quiver::testing
