#include "index/dense/type.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "index/dense/params.h"
#include "tests/index/support.h"

namespace quiver::index::testing {
namespace {

constexpr std::uint64_t kDenseTypeSeed = 94;
const FieldSchema kTypeField{"", FieldKind::kDense, 12, DType::kF32, Metric::kDot, {}};

/// The bytes of all files of an index.
std::map<std::string, std::vector<std::byte>> files_of(const FieldColumn& column,
                                                       const Searcher* predecessor) {
  const auto directory = make_memory_directory();
  const Cancel cancel;
  BuildContext context{nullptr, cancel, kDenseTypeSeed, nullptr};
  context.predecessor = predecessor;
  const auto built = kIvf.build(column, *kIvf.parse_build({}), context, *directory);
  EXPECT_TRUE(built) << built.error().to_string();
  std::map<std::string, std::vector<std::byte>> files;
  const auto entries = *directory->list();
  for (const auto& entry : entries) files[entry.name] = *directory->read_file(entry.name);
  return files;
}

TEST(DenseType, IsForDenseFieldsButManhattan) {
  EXPECT_EQ(kIvf.name, "ivf");
  for (const FieldSchema& field : all_schemas(8)) {
    EXPECT_EQ(kIvf.supports(field),
              field.kind == FieldKind::kDense && field.metric != Metric::kManhattan)
        << describe(field);
  }
}

TEST(DenseType, ParametersAreReadAndWhatIsWrongIsNamed) {
  const auto search = kIvf.parse_search({{"ef", std::int64_t{77}}, {"gap", 0.5}});
  ASSERT_TRUE(search);
  const auto options = search->as<dense::DenseSearchParams>();
  ASSERT_TRUE(options);
  EXPECT_EQ((*options)->ef, 77U);
  EXPECT_EQ((*options)->gap, 0.5);
  const KeyValues wrong[] = {{{"graph", "sometimes"}},
                             {{"degree", std::int64_t{17}}},
                             {{"refine_bits", std::int64_t{3}}},
                             {{"no_such", std::int64_t{1}}}};
  for (const KeyValues& values : wrong) {
    const auto build = kIvf.parse_build(values);
    ASSERT_FALSE(build) << values.begin()->first;
    EXPECT_EQ(build.error().code(), Code::kInvalidArgument);
    EXPECT_NE(build.error().message().find(values.begin()->first), std::string::npos);
  }
}

TEST(DenseType, PredecessorsOfOtherTypesAreIgnored) {
  SCOPED_TRACE("seed " + std::to_string(kDenseTypeSeed));
  Random random(kDenseTypeSeed);
  const auto column = random_column(kTypeField, {.n_rows = 300}, random);
  const FlatSearcher other(column);
  EXPECT_TRUE(files_of(column, &other) == files_of(column, nullptr));
}

TEST(DenseType, AnEmptyDirectoryIsNoIndex) {
  Random random(kDenseTypeSeed);
  const auto column = random_column(kTypeField, {.n_rows = 20}, random);
  EXPECT_FALSE(kIvf.open(*make_memory_directory(), column));
}

}  // namespace
}  // namespace quiver::index::testing
