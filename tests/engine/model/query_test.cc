#include "engine/model/query.h"

#include <gtest/gtest.h>

namespace quiver::engine {
namespace {

TEST(QueryKinds, FusionsAreThoseOfSeveralLists) {
  EXPECT_TRUE(is_fusion(Rrf{}));
  EXPECT_TRUE(is_fusion(Dbsf{}));
  for (const QueryKind& kind :
       {QueryKind(NoQuery{}), QueryKind(Nearest{}), QueryKind(OrderBy{}), QueryKind(Sample{})}) {
    EXPECT_FALSE(is_fusion(kind)) << kind.index();
  }
}

TEST(VectorSelectorNone, IsNeitherAllNorNamed) {
  EXPECT_TRUE(VectorSelector{}.none());
  EXPECT_FALSE((VectorSelector{true, {}}.none()));
  EXPECT_FALSE((VectorSelector{false, {""}}.none())) << "the unnamed field";
}

TEST(SearchParamsEquality, ComparesEverything) {
  SearchParams params;
  EXPECT_EQ(params, SearchParams{});
  SearchParams weighted;
  weighted.token_weights = {1};
  EXPECT_NE(params, weighted);
  SearchParams steered;
  steered.hnsw_ef = 64;
  EXPECT_NE(params, steered);
}

}  // namespace
}  // namespace quiver::engine
