// Query vectors read past the tree: the same floats and the same errors as through it.
#include "service/json/decode/query_vector.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <random>

#include "service/json/decode/decode.h"

namespace quiver::service::json {
namespace {

using engine::DenseVector;
using engine::MultiVector;
using engine::VectorValue;

const VectorValue& value_of(const engine::Query& query) {
  return std::get<VectorValue>(std::get<engine::Nearest>(query.kind).vector);
}

const DenseVector& floats_of(const engine::Query& query) {
  return std::get<DenseVector>(value_of(query));
}

/// Reads the vector by the tree, as batches are read.
Decoded<VectorValue> by_tree(const std::string& array) {
  std::string body = R"({"searches":[{"query":)" + array + "}]}";
  QV_TRY(const auto queries, decode_query_batch(body));
  return value_of(queries.at(0));
}

std::vector<std::uint32_t> bits(const std::vector<float>& values) {
  std::vector<std::uint32_t> all;
  for (const float value : values) all.push_back(std::bit_cast<std::uint32_t>(value));
  return all;
}

std::string random_number(std::mt19937_64& random) {
  const auto any_float = std::bit_cast<float>(static_cast<std::uint32_t>(random()));
  const double value = std::isfinite(any_float) ? any_float : 1.5;
  const double small = std::uniform_real_distribution<double>(-1, 1)(random);
  switch (random() % 9) {
    case 0:
      return fmt::format("{}", static_cast<float>(small));
    case 1:
      return fmt::format("{}", small);
    case 2:
      return fmt::format("{:e}", value);
    case 3:
      return fmt::format("{:.{}f}", small, 1 + random() % 30);
    case 4:
      return fmt::format("{}", static_cast<std::int64_t>(random()));
    case 5:
      return fmt::format("{:.17g}", small * 1e-5);
    case 6:  // halfway between two floats, or one double away from it
      return fmt::format("{:.17g}",
                         std::nextafter((static_cast<double>(static_cast<float>(small)) +
                                         std::nextafterf(static_cast<float>(small), 2.F)) /
                                            2,
                                        static_cast<double>(random() % 3) - 1));
    case 7:
      return fmt::format("{:.25g}", small * 1e10);
    default:
      return fmt::format("{}E+{}", random() % 1000, random() % 30);
  }
}

std::string random_array(std::mt19937_64& random, std::size_t n, auto&& item) {
  std::string array = random() % 2 == 0 ? "[" : "[ ";
  for (std::size_t i = 0; i < n; ++i) {
    if (i != 0) array += random() % 4 == 0 ? " ,\n\t" : ",";
    array += item();
  }
  return array + (random() % 2 == 0 ? "]" : " ]");
}

/// Reads the vector without the tree.
VectorValue taken(const std::string& array) {
  std::string body = R"({"query":)" + array + "}";
  auto vector = take_query_vector(body, "query", "nearest");
  EXPECT_TRUE(vector) << array;
  EXPECT_EQ(body, R"({"query":[0]})") << array;
  return vector.value_or(VectorValue());
}

TEST(QueryVector, AgreesWithTheTreeBitForBit) {
  std::mt19937_64 random(11);
  for (int round = 0; round < 400; ++round) {
    const auto array =
        random_array(random, 1 + random() % 300, [&] { return random_number(random); });
    const auto expected = by_tree(array);
    ASSERT_TRUE(expected) << array;
    ASSERT_EQ(bits(std::get<DenseVector>(taken(array))), bits(std::get<DenseVector>(*expected)))
        << array;
  }
}

TEST(QueryVector, AgreesWithTheTreeOverRows) {
  std::mt19937_64 random(12);
  for (int round = 0; round < 200; ++round) {
    const std::size_t dim = 1 + random() % 20;
    const auto array = random_array(random, 1 + random() % 20, [&] {
      return random_array(random, dim, [&] { return random_number(random); });
    });
    const auto expected = by_tree(array);
    ASSERT_TRUE(expected) << array;
    const auto& wanted = std::get<MultiVector>(*expected);
    const auto vector = taken(array);
    const auto& found = std::get<MultiVector>(vector);
    ASSERT_EQ(found.n_tokens, wanted.n_tokens) << array;
    ASSERT_EQ(found.dim, wanted.dim) << array;
    ASSERT_EQ(bits(found.values), bits(wanted.values)) << array;
  }
}

/// Fractions of every length and integers of several, with long and short texts around them.
TEST(QueryVector, AgreesWithTheTreeAtEveryLength) {
  std::mt19937_64 random(13);
  const std::string digits = "1234567890987654321012345678901234567890";
  for (const char* whole : {"0", "-0", "7", "-99", "100", "12345678901234567890"}) {
    for (std::size_t n = 1; n <= digits.size(); ++n) {
      for (const std::size_t n_zeros : {std::size_t{0}, n / 2, n}) {
        const std::string fraction =
            std::string(n_zeros, '0') + digits.substr(n_zeros, n - n_zeros);
        const std::string number = std::string(whole) + "." + fraction;
        for (const std::string& array :
             {"[" + number + "]", "[1," + number + "," + std::string(random() % 30, ' ') + "2]"}) {
          const auto expected = by_tree(array);
          ASSERT_TRUE(expected) << array;
          ASSERT_EQ(bits(std::get<DenseVector>(taken(array))),
                    bits(std::get<DenseVector>(*expected)))
              << array;
        }
      }
    }
  }
}

TEST(QueryVector, LeavesWhatIsNotPlainToTheTree) {
  for (const char* text : {"[]",
                           "[",
                           "[1",
                           "[1,",
                           "[1,]",
                           "[,1]",
                           "[1 2]",
                           "[01]",
                           "[1.]",
                           "[.5]",
                           "[-]",
                           "[+1]",
                           "[1e]",
                           "[1e+]",
                           "[1e999]",
                           "[1e39]",
                           "[-4e38]",
                           "[null]",
                           "[[[1]]]",
                           "[\"1\"]",
                           "[NaN]",
                           "[Infinity]",
                           "[1e99999999999]",
                           "[0x10]",
                           "[true]",
                           "[1,\"a\"]",
                           "[--1]",
                           "[[]]",
                           "[[1],[]]",
                           "[01.5]",
                           "[1.5.2]",
                           "[1.5x]",
                           "[-.5]",
                           "[1.5e]",
                           "[00.5]",
                           "[1.]",
                           "[1.5 2.5]",
                           "[1.x5]",
                           "[1.\xb5]",
                           "[1.5\xff]",
                           "[[1],]",
                           "[[1],2]",
                           "[1,[2]]",
                           "[[1],[1,2]]",
                           "[[1,2],[1]]",
                           "[[1]",
                           "[[1],[1]",
                           "[[1] [1]]",
                           "[[1],[null]]"}) {
    for (const std::size_t n_after : {0, 100}) {  // with room to read many bytes at once
      std::string body = std::string(R"({"query":)") + text + std::string(n_after, ' ');
      const std::string before = body;
      EXPECT_FALSE(take_query_vector(body, "query", "nearest")) << text;
      EXPECT_EQ(body, before);
    }
  }
}

TEST(QueryVector, TakesTheVectorOutOfTheBody) {
  struct Case {
    const char *before, *after;
  };
  for (const auto& [before, after] : std::initializer_list<Case>{
           {R"({"query":[1,2],"limit":3})", R"({"query":[0],"limit":3})"},
           {R"( {"limit":3, "query" : [1, 2] } )", R"( {"limit":3, "query" : [0] } )"},
           {R"({"a":{"query":[7]},"query":{"nearest":[1,2]}})",
            R"({"a":{"query":[7]},"query":{"nearest":[0]}})"},
           {R"({"a":"}\"{","query":[1,2]})", R"({"a":"}\"{","query":[0]})"}}) {
    std::string body = before;
    const auto vector = take_query_vector(body, "query", "nearest");
    ASSERT_TRUE(vector) << before;
    EXPECT_EQ(*vector, VectorValue(DenseVector{1, 2})) << before;
    EXPECT_EQ(body, after);
  }
  for (const char* text :
       {"", "[]", "{", "{}", R"({"query":[]})", R"({"query":[1)", R"({"query":5,"query":[1]})",
        R"({"qu\u0065ry":5,"query":[1]})", R"({"query":{"a":1}})", R"({"query")", R"({"query)",
        R"({"query":{"nearest":{"indices":[1]}}})", R"({"prefetch":[{"query":[1,2]}]})"}) {
    std::string body = text;
    EXPECT_FALSE(take_query_vector(body, "query", "nearest")) << text;
    EXPECT_EQ(body, text);
  }
}

TEST(QueryVector, StandsBehindPrefetchesThatAreSmaller) {
  const std::string few =
      R"({"prefetch":[{"query":[)" + std::string(5000, '1') + R"(]}],"query":[)";
  std::string found = few + std::string(9000, ' ') + "3]}";
  const auto vector = take_query_vector(found, "query", "nearest");
  ASSERT_TRUE(vector);
  EXPECT_EQ(*vector, VectorValue(DenseVector{3}));
  std::string not_found = few + "3]}";
  EXPECT_FALSE(take_query_vector(not_found, "query", "nearest"));
}

TEST(QueryVector, IsWhatQueriesAreReadWith) {
  std::string query = R"({"query":{"nearest":[1.5,-2]},"limit":3,"using":"a"})";
  const auto decoded = decode_query(query);
  ASSERT_TRUE(decoded);
  EXPECT_EQ(floats_of(*decoded), (DenseVector{1.5F, -2.F}));
  EXPECT_EQ(decoded->limit, 3U);
  EXPECT_EQ(decoded->using_field, "a");
  std::string search = R"({"vector":{"name":"b","nearest":[3],"vector":[1,2]},"limit":4})";
  const auto named = decode_search(search);
  ASSERT_TRUE(named);
  EXPECT_EQ(floats_of(*named), (DenseVector{1.F, 2.F}));
  EXPECT_EQ(named->using_field, "b");
  std::string multi = R"({"query":{"nearest":[[1.5,-2],[0.25,3]]},"using":"c"})";
  const auto tokens = decode_query(multi);
  ASSERT_TRUE(tokens);
  EXPECT_EQ(value_of(*tokens), VectorValue(MultiVector{2, 2, {1.5F, -2, 0.25F, 3}}));
}

}  // namespace
}  // namespace quiver::service::json
