#include "service/grpc/messages/values.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <limits>
#include <random>
#include <string>

namespace quiver::service::rpc {
namespace {

std::string random_json(std::mt19937& random, int depth);

std::string random_text(std::mt19937& random) {
  constexpr std::string_view kPieces[] = {"a", "é", "東", "\\\"", "\\n", "\\u0001", " ", "z"};
  std::string text = "\"";
  for (unsigned i = random() % 6; i > 0; --i) text += kPieces[random() % std::size(kPieces)];
  return text + '"';
}

std::string random_list(std::mt19937& random, int depth) {
  std::string text = "[";
  for (unsigned i = random() % 4; i > 0; --i) {
    if (text.size() > 1) text += ',';
    text += random_json(random, depth - 1);
  }
  return text + ']';
}

/// Members in the order of their names.
std::string random_object(std::mt19937& random, int depth) {
  std::string text = "{";
  for (const char name : {'a', 'b', 'c', 'd'}) {
    if (random() % 2 == 0) continue;
    if (text.size() > 1) text += ',';
    text += fmt::format("\"{}\":{}", name, random_json(random, depth - 1));
  }
  return text + '}';
}

std::string random_json(std::mt19937& random, int depth) {
  switch (random() % (depth > 0 ? 8 : 6)) {
    case 0:
      return "null";
    case 1:
      return random() % 2 == 0 ? "true" : "false";
    case 2:
      return std::to_string(static_cast<std::int64_t>(random()) *
                            static_cast<std::int64_t>(random()) * (random() % 2 == 0 ? 1 : -1));
    case 3:
      return fmt::format("{}.5", static_cast<int>(random() % 1000) - 500);
    case 4:
      return "1.0";
    case 5:
      return random_text(random);
    case 6:
      return random_list(random, depth);
    default:
      return random_object(random, depth);
  }
}

TEST(GrpcValues, PayloadsComeBackAsTheyWere) {
  for (unsigned seed = 0; seed < 500; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    const std::string json = random_object(random, 4);
    std::string text = json;
    qdrant::Struct message;
    ASSERT_TRUE(add_members(text, *message.mutable_fields()));
    const auto back = to_json(message.fields(), Path());
    ASSERT_TRUE(back) << back.error().text;
    EXPECT_EQ(*back, json);
  }
}

TEST(GrpcValues, MembersAreWrittenInTheOrderOfTheirNames) {
  std::string text = R"({"b":1,"a":{"d":2,"c":3}})";
  qdrant::Struct message;
  ASSERT_TRUE(add_members(text, *message.mutable_fields()));
  EXPECT_EQ(to_json(message.fields(), Path()).value(), R"({"a":{"c":3,"d":2},"b":1})");
}

TEST(GrpcValues, NumbersBeyondTheirTypesAreFractionsOrErrors) {
  std::string text = R"({"n":18446744073709551615})";
  qdrant::Struct message;
  ASSERT_TRUE(add_members(text, *message.mutable_fields()));
  EXPECT_EQ(message.fields().at("n").double_value(), 18446744073709551616.0);
  (*message.mutable_fields())["n"].set_double_value(std::numeric_limits<double>::quiet_NaN());
  const auto refused = to_json(message.fields(), Path());
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().text.find("n: nan is no JSON number"), std::string::npos)
      << refused.error().text;
}

TEST(GrpcValues, AValueThatIsNotSetIsNull) {
  qdrant::Struct message;
  (*message.mutable_fields())["x"];
  EXPECT_EQ(to_json(message.fields(), Path()).value(), R"({"x":null})");
}

}  // namespace
}  // namespace quiver::service::rpc
