#include "index/exact/type.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/index/support.h"

namespace quiver::index::testing {
namespace {

constexpr std::uint64_t kExactTypeSeed = 93;

TEST(ExactType, IsForEveryFieldAndWritesNothing) {
  SCOPED_TRACE("seed " + std::to_string(kExactTypeSeed));
  Random random(kExactTypeSeed);
  EXPECT_EQ(kFlat.name, "flat");
  for (const FieldSchema& field : all_schemas(5)) {
    SCOPED_TRACE(describe(field));
    ASSERT_TRUE(kFlat.supports(field));
    const auto column = random_column(field, {.n_rows = 70, .present_share = 0.8}, random);
    const auto directory = make_memory_directory();
    const Cancel cancel;
    const auto params = kFlat.parse_build({});
    ASSERT_TRUE(params);
    ASSERT_TRUE(kFlat.build(column, *params, {nullptr, cancel, 0, nullptr}, *directory));
    EXPECT_TRUE(directory->list()->empty());
    const auto searcher = kFlat.open(*directory, column);
    ASSERT_TRUE(searcher);
    const auto query = make_query(field, random_vector(field, {}, random));
    const Bitset present = present_rows(column);
    TopK top(10);
    WorkCounters work;
    ASSERT_TRUE((*searcher)->search(query, *kFlat.parse_search({}), RowFilter::of(present),
                                    {cancel}, top, work));
    expect_same_hits(top.take_sorted(), expected_hits(query, column, present, 10));
  }
}

TEST(ExactType, HasNoParameters) {
  EXPECT_TRUE(kFlat.describe_search().empty());
  const KeyValues some{{"effort", std::int64_t{100}}};
  for (const auto& parsed : {kFlat.parse_build(some), kFlat.parse_search(some)}) {
    ASSERT_FALSE(parsed);
    EXPECT_EQ(parsed.error().code(), Code::kInvalidArgument);
    EXPECT_NE(parsed.error().message().find("effort"), std::string::npos);
  }
}

}  // namespace
}  // namespace quiver::index::testing
