#include "tests/kernels/support.h"

namespace quiver::testing {
namespace {

constexpr unsigned kSeed = 20240611;

using RecordsTest = KernelTest;
QV_EVERY_LEVEL(RecordsTest);

template <class Term>
void check_records(const KernelTable& k, std::mt19937& random, std::size_t n) {
  constexpr std::uint32_t kTerms = 60'000;
  std::vector<float> table(kTerms + 1);
  for (auto& weight : table) weight = random() % 4 == 0 ? static_cast<float>(random() % 100) : 0;
  struct alignas(64) Line {
    Term terms[64 / sizeof(Term)];
  };
  std::vector<Line> lines(n * sizeof(Term) / 64 + 1);
  auto* terms = reinterpret_cast<Term*>(lines.data());
  std::vector<float> values(n);
  std::vector<std::uint8_t> codes(n);
  std::vector<std::uint16_t> halves(n);
  double wanted = 0;
  for (std::size_t i = 0; i < n; ++i) {
    // Some terms are above the last one of the table, as they may be in a damaged file.
    terms[i] = static_cast<Term>(random() % 8 == 0 ? random() : random() % (kTerms + 1));
    codes[i] = static_cast<std::uint8_t>(random());
    values[i] = codes[i];
    wanted += static_cast<double>(table[std::min<std::size_t>(terms[i], kTerms)]) * codes[i];
  }
  k.convert.f32_to_f16(values.data(), n, halves.data());
  const auto& score = k.records.score[sizeof(Term) / 4];
  const auto* first = reinterpret_cast<const std::byte*>(terms);
  const auto bytes = [](const auto& v) { return reinterpret_cast<const std::byte*>(v.data()); };
  // Whole numbers below 2^24: exact in every order.
  EXPECT_EQ(score[0](table.data(), kTerms, first, bytes(values), n), wanted);
  EXPECT_EQ(score[1](table.data(), kTerms, first, bytes(halves), n), wanted);
  EXPECT_EQ(score[2](table.data(), kTerms, first, bytes(codes), n), wanted);
}

TEST_P(RecordsTest, EqualTheSlowSum) {
  std::mt19937 random(kSeed);
  for (std::size_t n = 0; n <= 512; n += 16) {
    check_records<std::uint16_t>(k(), random, n);
    check_records<std::uint32_t>(k(), random, n);
  }
}

/// Terms ascending with many steps of one byte, some of two, and a first of either.
TEST_P(RecordsTest, OfDifferencesEqualTheSlowSum) {
  std::mt19937 random(kSeed);
  constexpr std::uint32_t kLast = (1U << 20) - 1;
  std::vector<float> table(kLast + 1);
  for (auto& weight : table) weight = random() % 4 == 0 ? static_cast<float>(random() % 100) : 0;
  for (std::size_t n = 0; n <= 512; n += 16) {
    for (const unsigned one_of : {1U, 3U, 1000U}) {
      struct alignas(2) Record {
        std::byte bytes[512 / 8 + 3 * 512 + 32];
      };
      Record record{};
      std::byte* gap = record.bytes + n / 8 + n;
      std::uint32_t term = 0;
      double wanted = 0;
      const std::uint32_t last = random() % 2 == 0 ? kLast : 20'000;
      for (std::size_t i = 0; i < n; ++i) {
        const std::uint32_t step = random() % one_of == 0 ? random() % 2000 : random() % 256;
        const auto code = static_cast<std::uint8_t>(random());
        term += step;
        wanted += static_cast<double>(table[std::min(term, last)]) * code;
        record.bytes[n / 8 + i] = static_cast<std::byte>(code);
        *gap++ = static_cast<std::byte>(step);
        if (step < 256) continue;
        *gap++ = static_cast<std::byte>(step >> 8);
        record.bytes[i / 8] |= static_cast<std::byte>(1U << i % 8);
      }
      // Whole numbers below 2^24: exact in every order.
      EXPECT_EQ(k().records.score_gaps(table.data(), last, record.bytes, n), wanted) << n;
    }
  }
}

}  // namespace
}  // namespace quiver::testing
