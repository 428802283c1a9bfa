#include "engine/write/bulk_intent.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace quiver::engine {
namespace {

TEST(BulkIntent, ReadsBackAsWritten) {
  for (const PointId id : {PointId::number(7), PointId::number(~std::uint64_t{0}),
                           PointId::uuid(0x0123456789abcdef, 0xfedcba9876543210)}) {
    const BulkIntent intent{3, 14, 2, id, Seq{15}, Seq{926}};
    const auto read = decode_intent(encode_intent(intent));
    ASSERT_TRUE(read) << read.error().to_string();
    EXPECT_EQ(*read, intent);
  }
  EXPECT_EQ(row_file_names({1, 14, 2, {}, {}, {}}),
            (std::vector<std::string>{"14-0.rows", "14-1.rows"}));
}

TEST(BulkIntent, DamagedIsDataLoss) {
  const std::string good = encode_intent({3, 14, 2, PointId::number(7), Seq{15}, Seq{926}});
  for (std::size_t n = 0; n < good.size(); ++n) {
    const auto read = decode_intent(good.substr(0, n));
    ASSERT_FALSE(read);
    EXPECT_EQ(read.error().code(), Code::kDataLoss);
  }
  for (const char* text : {"{}", "[]", R"({"version":2,"load":1})"}) {
    EXPECT_FALSE(decode_intent(text)) << text;
  }
}

}  // namespace
}  // namespace quiver::engine
