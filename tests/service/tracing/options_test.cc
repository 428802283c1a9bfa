#include "service/tracing/options.h"

#include <gtest/gtest.h>

#include <string>

namespace quiver::service::tracing {
namespace {

TEST(CollectorUrl, HasHostPortAndPath) {
  const auto usual = parse_collector("http://otel:4318/v1/traces");
  ASSERT_TRUE(usual);
  EXPECT_EQ(usual->server.host, "otel");
  EXPECT_EQ(usual->server.port, 4318);
  EXPECT_FALSE(usual->server.is_tls);
  EXPECT_EQ(usual->target, "/v1/traces");
  const auto vendor = parse_collector("https://api.example.com/in/traces?team=a");
  ASSERT_TRUE(vendor);
  EXPECT_TRUE(vendor->server.is_tls);
  EXPECT_EQ(vendor->server.port, 443);
  EXPECT_EQ(vendor->target, "/in/traces?team=a");
  const auto bare = parse_collector("http://[::1]:4318");
  ASSERT_TRUE(bare);
  EXPECT_EQ(bare->server.host, "::1");
  EXPECT_EQ(bare->target, "/v1/traces");
  EXPECT_EQ(parse_collector("http://otel/")->target, "/v1/traces");
  EXPECT_EQ(parse_collector("http://otel")->server.port, 80);
}

TEST(CollectorUrl, RefusesOthers) {
  for (const auto* url :
       {"", "otel:4318", "grpc://otel:4317", "http://", "http:///v1/traces", "http://otel:port/",
        "http://otel:70000", "http://user:word@otel/", "http://otel/a b", "http://otel/\r\nx: y",
        "http://otel?x", "http://otel/#x", "http://otel\x01"}) {
    EXPECT_FALSE(parse_collector(url)) << url;
  }
}

TEST(CollectorHeaders, AreNamesAndPercentEncodedValues) {
  const auto headers = parse_headers(" api-key = s%3D1%2c2 ,authorization=Basic%20YQ==,");
  ASSERT_TRUE(headers);
  EXPECT_EQ(*headers, (Headers{{"api-key", "s=1,2"}, {"authorization", "Basic YQ=="}}));
  EXPECT_TRUE(parse_headers("")->empty());
  EXPECT_EQ(parse_headers("empty=")->front().second, "");
}

TEST(CollectorHeaders, RefuseWhatIsNoHeader) {
  for (const auto* text : {"secret", "=secret", "a b=secret", "a:=secret", "a=secret%0d%0ab: c",
                           "a=secret%", "a=secret%2", "a=secret%zz", "a=secret\x01",
                           "a=secret%C3%A4", "Content-Length=1", "host=secret", "ok=1,secret"}) {
    const auto headers = parse_headers(text);
    ASSERT_FALSE(headers) << text;
    EXPECT_EQ(headers.error().message().find("secret"), std::string::npos) << text;
  }
  EXPECT_NE(parse_headers("ok=1,bad").error().message().find("header 2"), std::string::npos);
}

}  // namespace
}  // namespace quiver::service::tracing
