#include "service/access/token.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <random>
#include <string>
#include <variant>

#include "service/access/base64url.h"

namespace quiver::service::access {
namespace {

using Level = Principal::Level;

constexpr std::string_view kSecret = "my_top_secret_key";
constexpr std::int64_t kNowS = 1'800'000'000;

std::string signed_by(std::string_view secret, std::string_view header, std::string_view payload) {
  const std::string text = encode_base64url(header) + "." + encode_base64url(payload);
  return text + "." + encode_base64url(hmac_sha256(secret, text));
}

std::string token(std::string_view payload) {
  return signed_by(kSecret, R"({"alg":"HS256","typ":"JWT"})", payload);
}

/// The fault of a text; nullopt if it is taken.
std::optional<TokenFault> fault_of(std::string_view text) {
  const auto read = read_token(text, kSecret, kNowS);
  const auto* fault = std::get_if<TokenFault>(&read);
  return fault == nullptr ? std::nullopt : std::optional(*fault);
}

Principal principal_of(std::string_view payload) {
  const auto read = read_token(token(payload), kSecret, kNowS);
  const auto* principal = std::get_if<Principal>(&read);
  EXPECT_NE(principal, nullptr) << payload;
  return principal == nullptr ? Principal() : *principal;
}

TEST(Base64Url, GivesTheBytesBack) {
  std::mt19937 random(1);
  for (std::size_t n = 0; n < 100; ++n) {
    std::string bytes(n, '\0');
    for (char& byte : bytes) byte = static_cast<char>(random());
    EXPECT_EQ(decode_base64url(encode_base64url(bytes)), bytes);
  }
  EXPECT_EQ(encode_base64url("\xfb\xff"), "-_8");
}

TEST(Base64Url, IsStrict) {
  for (const auto* text :
       {"A", "AAAAA", "AA==", "AA=", "A+AA", "A/AA", "AA A", "AB", "AAB", "A.AA"}) {
    EXPECT_EQ(decode_base64url(text), std::nullopt) << text;
  }
}

TEST(Hmac, IsThatOfTheStandard) {  // RFC 4231, test case 2
  const std::string code = hmac_sha256("Jefe", "what do ya want for nothing?");
  EXPECT_EQ(encode_base64url(code), "W9zBRr9gdU5qBCQmCJV1x1oAPwidJzmDnexYuWTsOEM");
}

TEST(Token, OfAnotherProgramIsTaken) {  // made by PyJWT 2.15
  EXPECT_EQ(fault_of("eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJhY2Nlc3MiOiJyIn0."
                     "XaNsDDIKDMEgUjZsiNd5ZNwyGVOYXiQPPGoqNxuJmE0"),
            std::nullopt);
  EXPECT_EQ(fault_of("eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9."
                     "eyJhY2Nlc3MiOlt7ImNvbGxlY3Rpb24iOiJjIiwiYWNjZXNzIjoicncifV0sImV4cCI6MTkwMDAw"
                     "MDAwMH0.yxG-_GV36ftDDR2yCUKTgnbng7JdZGPPX5w15dVXrik"),
            std::nullopt);
}

TEST(Token, GivesWhatItsClaimsSay) {
  EXPECT_EQ(principal_of("{}").level(), Level::kManage);
  EXPECT_EQ(principal_of(R"({"access":"m"})").level(), Level::kManage);
  EXPECT_EQ(principal_of(R"({"access":"r"})").level(), Level::kGlobalRead);
  EXPECT_EQ(principal_of(R"({"exp":null,"iat":5,"nbf":"x"})").level(), Level::kManage);
  const auto limited =
      principal_of(R"({"access":[{"collection":"a","access":"r"},{"collection":"b","access":"rw"},)"
                   R"({"collection":"c","access":"prw","payload":null}],"sub":"me"})");
  EXPECT_EQ(limited.level(), Level::kCollections);
  EXPECT_EQ(limited.kind(), KeyKind::kToken);
  EXPECT_EQ(limited.subject(), "me");
  EXPECT_TRUE(limited.check(Access::kRead, "a"));
  EXPECT_FALSE(limited.check(Access::kWrite, "a"));
  EXPECT_TRUE(limited.check(Access::kWriteExtras, "b"));
  EXPECT_TRUE(limited.check(Access::kWrite, "c"));
  EXPECT_FALSE(limited.check(Access::kWriteExtras, "c"));
  EXPECT_FALSE(limited.check(Access::kRead, "d"));
  EXPECT_EQ(principal_of(R"({"access":[]})").level(), Level::kCollections);
  EXPECT_EQ(principal_of(R"({"sub":"me","subject":"you"})").subject(), "you");
}

TEST(Token, MayNeedAValueToExist) {
  const auto caller =
      principal_of(R"({"value_exists":{"collection":"c","matches":[{"key":"a.b","value":"x"},)"
                   R"({"key":"n","value":-3},{"key":"t","value":true}]}})");
  ASSERT_NE(caller.value_exists(), nullptr);
  EXPECT_EQ(caller.value_exists()->collection, "c");
  ASSERT_EQ(caller.value_exists()->matches.size(), 3U);
  EXPECT_EQ(std::get<std::string>(caller.value_exists()->matches[0].value), "x");
  EXPECT_EQ(std::get<std::int64_t>(caller.value_exists()->matches[1].value), -3);
  EXPECT_TRUE(std::get<bool>(caller.value_exists()->matches[2].value));
}

TEST(Token, ExpiresAfterTheLeeway) {
  const auto expiring = [](std::int64_t at) {
    return token("{\"exp\":" + std::to_string(at) + "}");
  };
  EXPECT_EQ(fault_of(expiring(kNowS)), std::nullopt);
  EXPECT_EQ(fault_of(expiring(kNowS - kExpiryLeewayS)), std::nullopt);
  EXPECT_EQ(fault_of(expiring(kNowS - kExpiryLeewayS - 1)), TokenFault::kExpired);
  EXPECT_EQ(fault_of(token(R"({"exp":0})")), TokenFault::kExpired);
  EXPECT_EQ(fault_of(token(R"({"exp":18446744073709551615})")), std::nullopt);
}

TEST(Token, WithClaimsOfAWrongTypeIsNone) {
  for (const auto* payload :
       {R"({"exp":"1"})",
        R"({"exp":1.5})",
        R"({"exp":-1})",
        R"({"sub":5})",
        R"({"access":null})",
        R"({"access":"rw"})",
        R"({"access":{}})",
        R"({"access":["c"]})",
        R"({"access":[{"collection":"c"}]})",
        R"({"access":[{"access":"r"}]})",
        R"({"access":[{"collection":"c","access":"m"}]})",
        R"({"access":"r","access":"m"})",
        R"({"access":[{"collection":"c","access":"r","access":"rw"}]})",
        R"({"value_exists":5})",
        R"({"value_exists":{"collection":"c"}})",
        R"({"value_exists":{"matches":[]}})",
        R"({"value_exists":{"collection":"c","matches":[{"key":"a"}]}})",
        R"({"value_exists":{"collection":"c","matches":[{"key":"a","value":1.5}]}})",
        R"({"value_exists":{"collection":"c","matches":[{"key":"a","value":null}]}})",
        "[]",
        "5",
        "",
        "{",
        R"({"a":1}x)"}) {
    EXPECT_EQ(fault_of(token(payload)), TokenFault::kNotAToken) << payload;
  }
}

TEST(Token, NamesEachCollectionOnce) {
  EXPECT_EQ(
      fault_of(token(
          R"({"access":[{"collection":"c","access":"r"},{"collection":"c","access":"rw"}]})")),
      TokenFault::kBadAccess);
  EXPECT_EQ(fault_of(token(R"({"access":[{"collection":"c","access":"r","payload":{"a":1}}]})")),
            TokenFault::kBadAccess);
}

TEST(Token, NeedsTheOneAlgorithm) {
  for (const auto* header :
       {R"({"alg":"none"})", R"({"alg":"None"})", R"({"alg":"HS512"})", R"({"alg":"RS256"})",
        R"({"alg":"hs256"})", R"({"typ":"JWT"})", R"({"alg":null})", R"({"alg":["HS256"]})",
        R"({"alg":"none","alg":"HS256"})", R"({"alg":"HS256","alg":"none"})",
        R"({"alg":"HS256","crit":["exp"]})", "", "[]", "x"}) {
    EXPECT_EQ(fault_of(signed_by(kSecret, header, "{}")), TokenFault::kNotAToken) << header;
  }
  const std::string bare = encode_base64url(R"({"alg":"none"})") + "." + encode_base64url("{}");
  EXPECT_EQ(fault_of(bare + "."), TokenFault::kNotAToken);
  EXPECT_EQ(fault_of(bare), TokenFault::kNotAToken);
}

TEST(Token, HasThreePartsOfABoundedSize) {
  const std::string good = token("{}");
  ASSERT_EQ(fault_of(good), std::nullopt);
  for (const std::string& text :
       {std::string(), std::string("."), std::string(".."), std::string("..."), good + ".",
        "." + good, good + "." + good, good + "=", " " + good, good + "\n",
        good.substr(0, good.rfind('.')), std::string(1 << 20, 'a')}) {
    EXPECT_EQ(fault_of(text), TokenFault::kNotAToken) << text.substr(0, 200);
  }
  EXPECT_EQ(fault_of(good.substr(0, good.rfind('.') + 1)), TokenFault::kBadSignature);
  const std::string long_text = token("{\"a\":\"" + std::string(kMaxTokenBytes, 'x') + "\"}");
  EXPECT_EQ(fault_of(long_text), TokenFault::kNotAToken);
}

TEST(Token, IsSignedWithTheSecret) {
  const std::string_view header = R"({"alg":"HS256"})";
  EXPECT_EQ(fault_of(signed_by("another", header, "{}")), TokenFault::kBadSignature);
  EXPECT_EQ(fault_of(signed_by("", header, "{}")), TokenFault::kBadSignature);
}

/// Changes one or a few places of a token: letters, dots, parts, lengths.
std::string mutated(std::string text, std::mt19937& random) {
  constexpr std::string_view kLetters =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.=+/ \n";
  const auto below = [&](std::size_t n) { return random() % n; };
  for (std::size_t i = 0, n = 1 + below(3); i < n && !text.empty(); ++i) {
    const std::size_t at = below(text.size());
    switch (below(5)) {
      case 0:
        text[at] = kLetters[below(kLetters.size())];
        break;
      case 1:
        text.erase(at, 1 + below(4));
        break;
      case 2:
        text.insert(at, 1, kLetters[below(kLetters.size())]);
        break;
      case 3:
        std::swap(text[at], text[below(text.size())]);
        break;
      default:
        text[at] = static_cast<char>(text[at] ^ (1 << below(8)));
    }
  }
  return text;
}

/// `make test-all` sets QUIVER_LONG_TESTS and changes a million.
TEST(Token, IsNotTakenOnceItIsChanged) {
  const int n = std::getenv("QUIVER_LONG_TESTS") != nullptr ? 1'000'000 : 100'000;
  constexpr unsigned kSeed = 20260731;
  SCOPED_TRACE("seed " + std::to_string(kSeed));
  std::mt19937 random(kSeed);
  const std::string tokens[] = {token("{}"), token(R"({"access":"r","exp":1900000000,"sub":"a"})"),
                                token(R"({"access":[{"collection":"c","access":"prw"}]})")};
  for (int i = 0; i < n; ++i) {
    const std::string& original = tokens[static_cast<std::size_t>(i) % 3];
    const std::string text = mutated(original, random);
    if (text == original) continue;
    ASSERT_NE(fault_of(text), std::nullopt) << text << "\nfrom " << original;
  }
}

}  // namespace
}  // namespace quiver::service::access
