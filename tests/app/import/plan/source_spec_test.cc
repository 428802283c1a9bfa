#include "app/import/plan/source_spec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>

namespace quiver::app {
namespace {

using testing::HasSubstr;

TEST(SourceSpecTest, Forms) {
  const auto plain = parse_source("a/b.npy");
  ASSERT_TRUE(plain);
  EXPECT_EQ(plain->kind, FieldKind::kDense);
  EXPECT_EQ(plain->name, "");
  EXPECT_EQ(plain->source, "a/b.npy");
  const auto named = parse_source("sparse:title=DIR/x=y");
  ASSERT_TRUE(named);
  EXPECT_EQ(named->kind, FieldKind::kSparse);
  EXPECT_EQ(named->name, "title");
  EXPECT_EQ(named->source, "DIR/x=y");
  EXPECT_EQ(parse_source("multi:tokens=t")->kind, FieldKind::kMulti);
  EXPECT_EQ(parse_source("=a=b.npy")->source, "a=b.npy");
  EXPECT_EQ(parse_source("set.hdf5:train")->source, "set.hdf5:train");
  for (const char* wrong : {"", "name=", "dense:", "sparse:x", "sparse:=x"}) {
    EXPECT_FALSE(parse_source(wrong)) << wrong;
  }
}

TEST(SourceSpecTest, ValuesPerName) {
  const PerName metrics({"dot", "title=cosine"});
  EXPECT_EQ(metrics.find("title"), "cosine");
  EXPECT_EQ(metrics.find("other"), "dot");
  EXPECT_EQ(PerName({"a=dot"}).find("b"), std::nullopt);
  EXPECT_TRUE(metrics.check_names("--metric", {"title"}));
  const auto unknown = metrics.check_names("--metric", {"body"});
  ASSERT_FALSE(unknown);
  EXPECT_THAT(unknown.error().message(), HasSubstr("--metric title=cosine"));
}

TEST(SourceSpecTest, Factors) {
  EXPECT_EQ(*parse_factor("0.5"), 0.5);
  EXPECT_EQ(*parse_factor("1/127"), 1.0 / 127);
  for (const char* wrong : {"", "x", "1/", "/2", "1/0", "inf", "1/2/3"}) {
    EXPECT_FALSE(parse_factor(wrong)) << wrong;
  }
}

}  // namespace
}  // namespace quiver::app
