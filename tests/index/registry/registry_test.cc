#include <gtest/gtest.h>

#include "index/exact/searcher.h"
#include "tests/index/exact/exact_support.h"
#include "tests/index/support.h"

namespace quiver::index::testing {
namespace {

TEST(Registry, FlatIsFirstAndNamesAreUnique) {
  const auto types = index_types();
  ASSERT_FALSE(types.empty());
  EXPECT_EQ(types[0]->name, "flat");
  for (const IndexType* type : types) EXPECT_EQ(find_index_type(type->name), type);
  EXPECT_EQ(find_index_type("no such type"), nullptr);
}

/// Parameters that no index type knows.
struct ForeignParams {
  static constexpr std::string_view kWhat = "parameters of nobody";
};

FieldSchema schema_for(const IndexType& type) {
  for (const FieldSchema& schema : all_schemas(32)) {
    if (type.supports(schema) && (type.name == "flat" || schema.metric == Metric::kDot)) {
      return schema;
    }
  }
  return {};
}

TEST(Registry, ParametersOfAnotherTypeAreAnError) {
  Random random(51);
  const Cancel cancel;
  const AnyParams foreign(ForeignParams{});
  for (const IndexType* type : index_types()) {
    if (type->name == "flat") continue;  // has none, and stands in for types that are not built
    const FieldSchema schema = schema_for(*type);
    const FieldColumn column = random_column(schema, {.n_rows = 100}, random);
    const auto directory = make_memory_directory();
    const BuildContext context{nullptr, cancel, 0, nullptr};
    const auto built = type->build(column, foreign, context, *directory);
    ASSERT_FALSE(built) << type->name;
    EXPECT_EQ(built.error().code(), Code::kInternal);
    ASSERT_TRUE(type->build(column, {}, context, *directory)) << type->name;
    const auto searcher = type->open(*directory, column);
    ASSERT_TRUE(searcher) << type->name;
    const auto query = make_query(schema, random_vector(schema, {.n_rows = 1}, random));
    TopK top(3);
    WorkCounters work;
    const auto found =
        (*searcher)->search(query, foreign, RowFilter::all(100), {cancel}, top, work);
    if (schema.kind == FieldKind::kSparse && query.sparse().n == 0) continue;
    ASSERT_FALSE(found) << type->name;
    EXPECT_EQ(found.error().code(), Code::kInternal);
    const PreparedQuery* const queries[] = {&query};
    TopK* const results[] = {&top};
    EXPECT_FALSE(
        (*searcher)->search_batch(queries, foreign, RowFilter::all(100), {cancel}, results, work));
  }
}

TEST(Registry, EverySearchParameterIsDescribedAsItIsParsed) {
  for (const IndexType* type : index_types()) {
    KeyValues values;
    for (const ParamInfo& info : type->describe_search()) values[info.name] = info.default_value;
    EXPECT_TRUE(type->parse_search(values)) << type->name;
  }
}

}  // namespace
}  // namespace quiver::index::testing
