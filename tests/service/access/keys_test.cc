#include "service/access/keys.h"

#include <gtest/gtest.h>

#include <string>

#include "service/access/base64url.h"
#include "service/access/token.h"

namespace quiver::service::access {
namespace {

using Level = Principal::Level;

Credentials key(std::string_view text) {
  Credentials credentials;
  credentials.api_key = text;
  return credentials;
}

Credentials bearer(std::string_view text) {
  Credentials credentials;
  credentials.authorization = text;
  return credentials;
}

std::string token_of(std::string_view secret, std::string_view payload) {
  const std::string text = encode_base64url(R"({"alg":"HS256"})") + "." + encode_base64url(payload);
  return text + "." + encode_base64url(hmac_sha256(secret, text));
}

Keys make_keys(bool jwt_rbac = false) {
  KeyOptions options;
  options.api_key = "secret";
  options.alt_api_key = "other";
  options.read_only_api_key = "a, comma";
  options.jwt_rbac = jwt_rbac;
  return Keys(options);
}

void expect_refused(const Result<Principal>& principal, Code code, std::string_view text) {
  ASSERT_FALSE(principal);
  EXPECT_EQ(principal.error().code(), code);
  EXPECT_EQ(principal.error().message(), text);
}

TEST(Keys, GiveRights) {
  const Keys keys = make_keys();
  EXPECT_EQ(keys.principal_of(key("secret"), 0)->level(), Level::kManage);
  EXPECT_EQ(keys.principal_of(key("other"), 0)->level(), Level::kManage);
  EXPECT_EQ(keys.principal_of(key("a, comma"), 0)->level(), Level::kGlobalRead);
  EXPECT_EQ(keys.principal_of(bearer("Bearer secret"), 0)->level(), Level::kManage);
  for (const auto* wrong : {"wrong", "", "secret2", "secre", "Secret"}) {
    expect_refused(keys.principal_of(key(wrong), 0), Code::kUnauthenticated,
                   "Invalid API key or JWT");
  }
  for (const auto& none : {Credentials(), bearer("secret"), bearer("bearer secret")}) {
    expect_refused(keys.principal_of(none, 0), Code::kUnauthenticated,
                   "Must provide an API key or an Authorization bearer token");
  }
}

TEST(Keys, WithoutAnyEverybodyMayDoEverything) {
  EXPECT_EQ(Keys(KeyOptions()).principal_of(Credentials(), 0)->level(), Level::kManage);
  EXPECT_EQ(Keys(KeyOptions()).principal_of(key("x"), 0)->level(), Level::kManage);
  EXPECT_FALSE(Keys(KeyOptions()).are_needed());
  KeyOptions only_reader;
  only_reader.read_only_api_key = "r";
  expect_refused(Keys(only_reader).principal_of(key(""), 0), Code::kUnauthenticated,
                 "Invalid API key or JWT");
}

TEST(Keys, SignTokens) {
  const Keys keys = make_keys(true);
  for (const auto* secret : {"secret", "other"}) {
    const std::string token = token_of(secret, R"({"access":"r"})");
    EXPECT_EQ(keys.principal_of(key(token), 0)->level(), Level::kGlobalRead);
    EXPECT_EQ(keys.principal_of(bearer("Bearer " + token), 0)->level(), Level::kGlobalRead);
    expect_refused(make_keys(false).principal_of(key(token), 0), Code::kUnauthenticated,
                   "Invalid API key or JWT");
  }
  expect_refused(keys.principal_of(key(token_of("a, comma", "{}")), 0), Code::kPermissionDenied,
                 "InvalidSignature");
  expect_refused(keys.principal_of(key(token_of("secret", R"({"exp":1})")), 100),
                 Code::kPermissionDenied, "ExpiredSignature");
  expect_refused(keys.principal_of(key("not.a.token"), 0), Code::kUnauthenticated,
                 "Invalid API key or JWT");
}

TEST(Keys, AnEmptySecretSignsNothing) {
  KeyOptions options;
  options.api_key = "secret";
  options.jwt_rbac = true;
  expect_refused(Keys(options).principal_of(key(token_of("", "{}")), 0), Code::kPermissionDenied,
                 "InvalidSignature");
  options.api_key.clear();
  options.read_only_api_key = "r";
  expect_refused(Keys(options).principal_of(key(token_of("", "{}")), 0), Code::kUnauthenticated,
                 "Invalid API key or JWT");
}

}  // namespace
}  // namespace quiver::service::access
