#include "payload/text/resembling.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>

namespace quiver::payload {
namespace {

/// By the definition, over bytes.
std::uint32_t slow_distance(const std::string& a, const std::string& b) {
  if (a.empty() || b.empty()) return static_cast<std::uint32_t>(a.size() + b.size());
  const std::string rest_a = a.substr(1), rest_b = b.substr(1);
  if (a[0] == b[0]) return slow_distance(rest_a, rest_b);
  return 1 + std::min({slow_distance(rest_a, b), slow_distance(a, rest_b),
                       slow_distance(rest_a, rest_b)});
}

TEST(EditDistance, EqualsTheDefinition) {
  std::mt19937 random(81);
  const auto word = [&] {
    std::string text(random() % 7, 'a');
    for (char& letter : text) letter = static_cast<char>('a' + random() % 3);
    return text;
  };
  for (int i = 0; i < 2000; ++i) {
    const std::string a = word(), b = word();
    const auto limit = static_cast<std::uint32_t>(random() % 4);
    ASSERT_EQ(edit_distance(a, b, limit), std::min(slow_distance(a, b), limit + 1))
        << a << " " << b;
  }
}

TEST(EditDistance, CountsCodePoints) {
  EXPECT_EQ(edit_distance("\xC3\xA9t\xC3\xA9", "ete", 2), 2U);
  EXPECT_EQ(edit_distance("\xE4\xB8\xAD\xE6\x96\x87", "\xE4\xB8\xAD", 2), 1U);
  EXPECT_EQ(edit_distance("\xFF\x80", "a", 2), 1U);  // no UTF-8
}

TEST(Resembling, AllowsDifferencesByLength) {
  const Resembling vector("vector", 2, false);
  EXPECT_EQ(vector.distance_to("vector"), 0U);
  EXPECT_EQ(vector.distance_to("vectors"), 1U);
  EXPECT_EQ(vector.distance_to("vectoors"), std::nullopt);  // six letters allow one difference
  EXPECT_EQ(vector.distance_to("rector"), std::nullopt);    // the first letter must be right
  EXPECT_EQ(vector.distance_to(""), std::nullopt);
  EXPECT_EQ(Resembling("vectors", 2, false).distance_to("vcetors"), 2U);
  EXPECT_TRUE(Resembling("cat", 2, false).is_plain());
  EXPECT_EQ(Resembling("vec", 0, true).distance_to("vectors"), 0U);
  EXPECT_EQ(Resembling("vec", 0, true).distance_to("ve"), std::nullopt);
}

}  // namespace
}  // namespace quiver::payload
