#include "service/http/exchange/uri.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace quiver::service {
namespace {

std::vector<std::string> segments(std::string_view target) {
  const auto split = split_target(target);
  EXPECT_TRUE(split) << target;
  if (!split) return {};
  return {split->segments.begin(), split->segments.begin() + static_cast<long>(split->n_segments)};
}

using Strings = std::vector<std::string>;

TEST(Target, Splits) {
  EXPECT_EQ(segments("/"), Strings{});
  EXPECT_EQ(segments("/a"), Strings{"a"});
  EXPECT_EQ(segments("/a/"), Strings{"a"});
  EXPECT_EQ(segments("/a//b"), (Strings{"a", "", "b"}));
  EXPECT_EQ(segments("//"), Strings{});
  EXPECT_EQ(segments("//a/b"), (Strings{"a", "b"}));
  EXPECT_EQ(segments("http://host:1/a/b?x"), (Strings{"a", "b"}));
  EXPECT_EQ(segments("http://host"), Strings{});
  EXPECT_EQ(segments("/a?b/c#d"), Strings{"a"});
  EXPECT_EQ(split_target("/a?b=1/c#d")->query, "b=1/c");
  EXPECT_FALSE(split_target(""));
  EXPECT_FALSE(split_target("*"));
  EXPECT_FALSE(split_target("a/b"));
  EXPECT_TRUE(split_target("/1/2/3/4/5/6/7/8/9")->too_long);
  EXPECT_FALSE(split_target("/1/2/3/4/5/6/7/8")->too_long);
}

TEST(PercentDecode, DecodesOrRefuses) {
  EXPECT_EQ(percent_decode("a%20b%2Fc"), "a b/c");
  EXPECT_EQ(percent_decode("a+b"), "a+b");
  EXPECT_EQ(percent_decode("%C3%a9"), "é");
  EXPECT_EQ(percent_decode("%00"), std::string(1, '\0'));
  for (const char* bad : {"%", "%2", "%2x", "%zz", "%ff", "%c3", "%c0%af", "%ed%a0%80",
                          "%f4%90%80%80", "%e0%80%80", "%80"}) {
    EXPECT_EQ(percent_decode(bad), std::nullopt) << bad;
  }
}

TEST(QueryParameter, FindsTheFirst) {
  EXPECT_EQ(query_parameter("wait=true&timeout=5", "timeout"), "5");
  EXPECT_EQ(query_parameter("a=1&a=2", "a"), "1");
  EXPECT_EQ(query_parameters("a=1&b=2&a=%33&a", "a"), (std::vector<std::string>{"1", "3", ""}));
  EXPECT_TRUE(query_parameters("ab=1", "a").empty());
  EXPECT_EQ(query_parameter("wait", "wait"), "");
  EXPECT_EQ(query_parameter("wait=", "wait"), "");
  EXPECT_EQ(query_parameter("xwait=1&waitx=1", "wait"), std::nullopt);
  EXPECT_EQ(query_parameter("", "wait"), std::nullopt);
  EXPECT_EQ(query_parameter("&&a=b%20c+d&", "a"), "b c d");
}

}  // namespace
}  // namespace quiver::service
