#include "app/import/plan/schema.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace quiver::app {
namespace {

using testing::HasSubstr;

TEST(ImportSchemaTest, FieldsOfACreationBody) {
  const auto fields = parse_fields(
      R"({"vectors":{"title":{"size":8,"distance":"Dot"}},"sparse_vectors":{"words":{}}})");
  ASSERT_TRUE(fields) << fields.error().message();
  ASSERT_EQ(fields->size(), 2U);
  EXPECT_FALSE(parse_fields("[]"));
}

TEST(ImportSchemaTest, WordsOfFlags) {
  ImportOptions options;
  options.metric = {"dot", "title=Cosine"};
  options.dtype = {"float16", "title=uint8"};
  EXPECT_TRUE(check_words(options));
  options.metric = {"l2"};
  EXPECT_THAT(check_words(options).error().message(), HasSubstr("--metric l2: wanted cosine"));
  options.metric = {};
  options.dtype = {"f16"};
  EXPECT_THAT(check_words(options).error().message(),
              HasSubstr("--dtype f16: wanted one of float32"));
}

TEST(ImportSchemaTest, AnExistingCollectionMustBeTheSame) {
  const std::vector<FieldSchema> fields = {{.name = "a", .dim = 8}, {.name = "b", .dim = 4}};
  EXPECT_TRUE(check_same(fields, {{.name = "b", .dim = 4}}, "c"));
  const auto other = check_same(fields, {{.name = "b", .dim = 5}}, "c");
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().code(), Code::kFailedPrecondition);
  EXPECT_THAT(other.error().message(), HasSubstr("dense \"b\" of 5 dimensions"));
  EXPECT_FALSE(check_same(fields, {{.name = "z", .dim = 8}}, "c"));
}

TEST(ImportSchemaTest, FlagsMustAgreeWithTheFields) {
  const std::vector<FieldSchema> fields = {{.name = "a", .dim = 8, .metric = Metric::kDot}};
  ImportOptions options;
  options.metric = {"dot"};
  EXPECT_TRUE(check_flags(fields, {}, options));
  options.metric = {"a=cosine"};
  EXPECT_FALSE(check_flags(fields, {}, options));
  options.metric = {"b=dot"};
  EXPECT_THAT(check_flags(fields, {}, options).error().message(), HasSubstr("no vectors \"b\""));
}

}  // namespace
}  // namespace quiver::app
