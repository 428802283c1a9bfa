#include "app/import/http/body.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <span>
#include <string>
#include <vector>

#include "service/binary/ragged.h"
#include "tests/app/import/support.h"

namespace quiver::app {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::Field;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(BodyTest, Upsert) {
  RowBlock block = block_of(10, {1, 2, 3});
  block.columns = {dense_column(), sparse_column()};
  block.points[1].payload = R"({"a":1})";
  block.points.front().vectors = {{"", engine::MultiVector{2, 1, {8, 9}}}};
  std::string body = "what was there";
  write_upsert(block, block.points, body);
  EXPECT_EQ(body,
            R"({"points":[{"id":1,"vector":{"d":[1.0,2.0],"s":{"indices":[7],"values":[0.5]},)"
            R"("":[[8.0],[9.0]]}},{"id":2,"vector":{"d":[3.0,4.0]},"payload":{"a":1}},)"
            R"({"id":3,"vector":{"s":{"indices":[1,9],"values":[1.0,2.0]}}}]})");
}

/// A column of tokens that `type` holds exactly.
VectorColumn multi_column(std::string name, DType type) {
  VectorColumn column;
  column.name = std::move(name);
  column.kind = FieldKind::kMulti;
  column.dim = 2;
  column.type = type;
  column.batch.n_rows = 3;
  column.batch.offsets = {0, 1, 1, 3};
  column.batch.values = {1, 2, 3, 4, 5, 255};
  column.present = {1, 0, 1};
  return column;
}

FieldSchema multi_field(const VectorColumn& column) {
  return {column.name, FieldKind::kMulti, column.dim, DType::kF32, Metric::kDot, {}};
}

TEST(BodyTest, TokensGoBeforeTheJson) {
  RowBlock block = block_of(10, {1, 2, 3});
  EXPECT_THAT(token_fields(block), IsEmpty());
  for (const DType type : {DType::kF32, DType::kF16, DType::kU8}) {
    block.columns = {multi_column("m", type), dense_column(), multi_column("n", DType::kF32)};
    EXPECT_THAT(token_fields(block), ElementsAre("m", "n"));
    const std::vector<FieldSchema> fields = {multi_field(block.columns[0]),
                                             multi_field(block.columns[2])};
    std::string body = "what was there";
    write_upsert(block, std::span(block.points).subspan(1), body);
    ASSERT_TRUE(service::has_ragged_points(body));
    const auto upsert = service::decode_ragged_points(body, fields);
    ASSERT_TRUE(upsert) << upsert.error().text;
    ASSERT_EQ(upsert->points.size(), 2U);
    EXPECT_EQ(upsert->points[0].id, PointId::number(2));
    const auto named = [](const std::string& name, const engine::VectorValue& value) {
      return AllOf(Field(&engine::NamedVector::name, name),
                   Field(&engine::NamedVector::value, value));
    };
    EXPECT_THAT(upsert->points[0].vectors, ElementsAre(named("d", engine::DenseVector{3, 4})));
    const engine::MultiVector tokens{2, 2, {3, 4, 5, 255}};
    EXPECT_THAT(upsert->points[1].vectors, ElementsAre(named("m", tokens), named("n", tokens)));
  }
}

/// The server reports the error, as for any other vector.
TEST(BodyTest, AVectorThatIsThereWithoutTokensStays) {
  RowBlock block = block_of(10, {1, 2, 3});
  block.columns = {multi_column("m", DType::kF32)};
  block.columns[0].present = {1, 1, 1};
  std::string body;
  write_upsert(block, block.points, body);
  EXPECT_THAT(body, HasSubstr(R"({"id":2,"vector":{"m":[]}})"));
}

}  // namespace
}  // namespace quiver::app
