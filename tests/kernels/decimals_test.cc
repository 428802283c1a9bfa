// Decimal text: every level agrees with the standard library on each number, and with the other
// levels on the end of the list.
#include <gtest/gtest.h>

#include <array>
#include <charconv>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "tests/kernels/support.h"

namespace quiver::testing {
namespace {

/// Text in a heap block that begins `kReadBefore` bytes before it and ends with it.
class Text {
 public:
  explicit Text(std::string_view text, char before = '[')
      : size_(text.size()), memory_(new char[kBefore + text.size()]) {
    std::memset(memory_.get(), before, kBefore);
    std::memcpy(memory_.get() + kBefore, text.data(), text.size());
  }
  const char* begin() const { return memory_.get() + kBefore; }
  const char* end() const { return begin() + size_; }

 private:
  static constexpr auto kBefore = static_cast<std::size_t>(DecimalKernels::kReadBefore);
  std::size_t size_;
  std::unique_ptr<char[]> memory_;
};

struct Found {
  std::vector<float> values;
  std::size_t n_bytes = 0;
};

Found read(const KernelTable& table, std::string_view string, std::size_t room = 4096) {
  const Text text(string);
  std::unique_ptr<float[]> values(new float[room]);
  const DecimalsRead found = table.decimals.read(text.begin(), text.end(), values.get(), room);
  return {{values.get(), values.get() + found.n},
          static_cast<std::size_t>(found.end - text.begin())};
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// Length of a decimal at the front, by the contract of `DecimalKernels::read`; 0 if there is none.
std::size_t length_of_decimal(std::string_view text) {
  std::size_t at = !text.empty() && text[0] == '-' ? 1 : 0;
  const std::size_t whole = at;
  while (at < text.size() && is_digit(text[at])) ++at;
  const std::size_t n_whole = at - whole;
  if (n_whole == 0 || n_whole > 2 || (n_whole == 2 && text[whole] == '0')) return 0;
  if (at >= text.size() || text[at] != '.') return 0;
  if (text.size() - at <= static_cast<std::size_t>(DecimalKernels::kReadAfterPoint)) return 0;
  const std::size_t fraction = ++at;
  while (at < text.size() && is_digit(text[at])) ++at;
  const std::size_t n_fraction = at - fraction;
  if (n_fraction == 0 || n_fraction > DecimalKernels::kMaxFraction) return 0;
  return text[at] == 'e' || text[at] == 'E' ? 0 : at;
}

float nearest(std::string_view text) {
  double value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return static_cast<float>(value);
}

/// All decimals must be read. If one is left, its first sixteen digits must not determine its
/// float.
void check(std::string_view text, const Found& found, std::size_t room = 4096) {
  std::size_t at = 0;
  std::size_t last = 0;
  for (const float value : found.values) {
    const std::size_t n = length_of_decimal(text.substr(at));
    ASSERT_NE(n, 0u) << text << " at " << at;
    ASSERT_TRUE(same_bits(value, nearest(text.substr(at, n)))) << text.substr(at, n);
    last = at + n;
    at = last + (last < text.size() && text[last] == ',' ? 1 : 0);
    at += at > last && at < text.size() && text[at] == ' ' ? 1 : 0;
  }
  ASSERT_EQ(found.n_bytes, last) << text;
  const bool is_over = found.values.size() == room || (last != 0 && at == last);
  const std::size_t next = is_over ? 0 : length_of_decimal(text.substr(at));
  if (next == 0) return;
  // Between two floats to within what sixteen digits and two roundings leave.
  const std::string_view left = text.substr(at, next);
  double value = 0;
  std::from_chars(left.data(), left.data() + left.size(), value);
  const double off = std::abs(value) * std::ldexp(1.0, -49) + 1e-16;
  ASSERT_NE(static_cast<float>(value - off), static_cast<float>(value + off)) << left;
}

std::string print(const char* format, auto... values) {
  std::array<char, 80> text{};
  std::snprintf(text.data(), text.size(), format, values...);
  return text.data();
}

std::string digits(std::mt19937_64& random, std::size_t n) {
  std::string text;
  for (std::size_t i = 0; i < n; ++i) text += static_cast<char>('0' + random() % 10);
  return text;
}

std::string plain(std::mt19937_64& random) {
  const double value = std::uniform_real_distribution<double>(-1, 1)(random);
  const auto narrow = static_cast<float>(value);
  switch (random() % 8) {
    case 0:
      return print("%.*f", static_cast<int>(1 + random() % 23), value);
    case 1:
      return print("%.*f", static_cast<int>(1 + random() % 20), value * 100);
    case 2:  // halfway between two floats, or a double beside it
      return print("%.17f",
                   std::nextafter((static_cast<double>(narrow) + std::nextafterf(narrow, 2.F)) / 2,
                                  static_cast<double>(random() % 3) - 1));
    case 3:
      return std::string(random() % 2, '-') + digits(random, 1) + "." +
             digits(random, 1 + random() % 23);
    case 4:
      return print("%.4f", value * 1e-3);
    default:
      return print("%.9f", static_cast<double>(narrow));
  }
}

/// Numbers of other forms, and texts that are no numbers.
std::string other(std::mt19937_64& random) {
  static const std::vector<std::string> kOthers = {"1e-05",
                                                   "-2.5e3",
                                                   "1.5E+2",
                                                   "7",
                                                   "-12",
                                                   "0",
                                                   "100.5",
                                                   "-100.25",
                                                   "00.5",
                                                   "01.5",
                                                   "-00.1",
                                                   ".5",
                                                   "1.",
                                                   "-.5",
                                                   "1..5",
                                                   "1.2.3",
                                                   "--1.5",
                                                   "-",
                                                   "",
                                                   "+1.5",
                                                   "1.5-",
                                                   "0.5.",
                                                   "null",
                                                   "0.1 2",
                                                   "\"0.1\"",
                                                   "0.1\n",
                                                   "\t0.1",
                                                   " 0.1",
                                                   "1.123456789012345678901234567890",
                                                   "0.1x",
                                                   "]",
                                                   "\xff",
                                                   "1e",
                                                   "0.0000000000000000000000000000001"};
  return kOthers[random() % kOthers.size()];
}

std::string list(std::mt19937_64& random, std::size_t n, std::size_t one_in) {
  std::string text;
  for (std::size_t i = 0; i < n; ++i) {
    if (i != 0) text += random() % 64 == 0 ? " , " : random() % 3 == 0 ? ", " : ",";
    text += random() % one_in == 0 ? other(random) : plain(random);
  }
  return text + (random() % 2 == 0 ? "]}" : "]                            ");
}

using DecimalsTest = KernelTest;
QV_EVERY_LEVEL(DecimalsTest);

TEST_P(DecimalsTest, AgreesWithTheLibraryOverPlainLists) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 4000; ++round) {
    const auto text = list(random, 1 + random() % 400, 1 << 30);
    check(text, read(k(), text));
  }
}

TEST_P(DecimalsTest, StopsBeforeWhatIsOfAnotherForm) {
  std::mt19937_64 random(2);
  for (int round = 0; round < 30'000; ++round) {
    const auto text = list(random, 1 + random() % 40, 2 + random() % 30);
    check(text, read(k(), text));
  }
}

/// Random bytes of those that matter; most texts are no list.
TEST_P(DecimalsTest, AgreesWithTheContractOverAnyBytes) {
  static constexpr std::string_view kBytes = "00123456789..,,  --e[]\n";
  std::mt19937_64 random(3);
  for (int round = 0; round < 30'000; ++round) {
    std::string text;
    for (std::size_t n = random() % 200; n != 0; --n) text += kBytes[random() % kBytes.size()];
    check(text, read(k(), text));
  }
}

/// More commas than a stretch of decimals has room for.
TEST_P(DecimalsTest, StopsBeforeWholeNumbersHoweverMany) {
  std::mt19937_64 random(7);
  for (const std::size_t n_decimals : {0U, 1U, 7U, 100U, 127U, 300U}) {
    for (const std::size_t n_whole : {1U, 40U, 200U, 5000U}) {
      std::string text = n_decimals == 0 ? "" : list(random, n_decimals, 1 << 30);
      if (!text.empty()) text.resize(text.find_last_of("0123456789") + 1);
      for (std::size_t i = 0; i < n_whole; ++i) {
        text += text.empty() ? "" : ",";
        text += static_cast<char>('0' + random() % 10);
      }
      text += "]}                                        ";
      check(text, read(k(), text));
    }
  }
}

/// A single byte changed in a plain list.
TEST_P(DecimalsTest, SeesEveryChangedByte) {
  static constexpr std::string_view kBytes = "0123456789.,- eE+]x\n";
  std::mt19937_64 random(4);
  for (int round = 0; round < 300; ++round) {
    std::string text = list(random, 1 + random() % 30, 1 << 30);
    for (std::size_t i = 0; i < text.size(); ++i) {
      const char was = text[i];
      text[i] = random() % 16 == 0 ? static_cast<char>(random()) : kBytes[random() % kBytes.size()];
      check(text, read(k(), text));
      text[i] = was;
    }
  }
}

TEST_P(DecimalsTest, ReadsAsManyAsThereIsRoomFor) {
  std::mt19937_64 random(5);
  for (std::size_t room = 1; room < 300; ++room) {
    const auto text = list(random, 200, 1 << 30);
    const auto found = read(k(), text, room);
    EXPECT_LE(found.values.size(), room);
    check(text, found, room);
  }
}

TEST_P(DecimalsTest, EveryLevelStopsAtTheSamePlace) {
  std::mt19937_64 random(6);
  for (int round = 0; round < 5000; ++round) {
    const auto text = list(random, 1 + random() % 100, 2 + random() % 200);
    const auto wanted = read(*available().back(), text);
    const auto found = read(k(), text);
    ASSERT_EQ(found.n_bytes, wanted.n_bytes) << text;
    ASSERT_EQ(found.values.size(), wanted.values.size()) << text;
  }
}

TEST_P(DecimalsTest, LongRunsOfOneByteAreNoLists) {
  for (const char c : {'0', '1', '.', ',', '-', ' '}) {
    const std::string text(5000, c);
    check(text, read(k(), text));
    check("0.5," + text, read(k(), "0.5," + text));
  }
  std::string points = "0";
  for (int i = 0; i < 500; ++i) points += ".1";
  check(points, read(k(), points));
  check("0.25," + points + ",0.5,", read(k(), "0.25," + points + ",0.5,"));
}

TEST_P(DecimalsTest, SignsOfZero) {
  const auto found = read(k(), "-0.0,0.0,-0.000,1.5,                                ");
  ASSERT_EQ(found.values.size(), 4u);
  EXPECT_TRUE(same_bits(found.values[0], -0.0F));
  EXPECT_TRUE(same_bits(found.values[1], 0.0F));
  EXPECT_TRUE(same_bits(found.values[2], -0.0F));
}

}  // namespace
}  // namespace quiver::testing
