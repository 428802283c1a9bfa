#include "app/import/reading/payload_line.h"

#include <gtest/gtest.h>

namespace quiver::app {
namespace {

TEST(PayloadLineTest, KeysAndIds) {
  EXPECT_EQ(read_payload(R"({ "a": 1, "b": 2.0 })", {})->payload, R"({"a":1,"b":2.0})");
  EXPECT_EQ(read_payload("null", {})->payload, "");
  EXPECT_EQ(read_payload("{}", {})->payload, "");
  const PayloadRules rules{{"b", "c"}, "a"};
  const auto chosen = read_payload(R"({"a":7,"b":[1],"d":1,"c":null})", rules);
  ASSERT_TRUE(chosen) << chosen.error().message();
  EXPECT_EQ(chosen->payload, R"({"b":[1],"c":null})");
  EXPECT_EQ(chosen->id, PointId::number(7));
  const auto uuid = read_payload(R"({"a":"5c56c793-69f3-4fbf-87e6-c4bf54c28c26"})", rules);
  EXPECT_EQ(uuid->id->to_string(), "5c56c793-69f3-4fbf-87e6-c4bf54c28c26");
  EXPECT_EQ(read_payload(R"({"a":18446744073709551615})", rules)->id, PointId::number(UINT64_MAX));
  for (const char* wrong :
       {R"({"a":-1})", R"({"a":1.5})", R"({"a":"x"})", R"({"b":1})", "[]", "{", "", "null"}) {
    EXPECT_FALSE(read_payload(wrong, rules)) << wrong;
  }
}

}  // namespace
}  // namespace quiver::app
