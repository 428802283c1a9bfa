#include <gtest/gtest.h>

#include "index/sparse/blocks/blocking.h"
#include "index/sparse/blocks/blocks.h"
#include "index/sparse/blocks/pruning.h"
#include "index/sparse/blocks/summaries.h"
#include "index/sparse/rows/top_components.h"
#include "tests/index/sparse/blocks/blocks_build_support.h"
#include "tests/index/sparse/blocks/blocks_support.h"

namespace quiver::index::sparse {
namespace {

using namespace testing;

TEST(SeismicBuild, WrongParametersAreNamed) {
  const auto message = [](auto&& change) {
    BlockParams params;
    change(params);
    const auto status = check(params);
    EXPECT_FALSE(status);
    return status ? "" : status.error().message();
  };
  EXPECT_NE(message([](auto& p) { p.pruning = "none"; }).find("global, fixed, coi"),
            std::string::npos);
  EXPECT_NE(message([](auto& p) { p.blocking = ""; }).find("kmeans, fixed"), std::string::npos);
  EXPECT_NE(message([](auto& p) { p.summary_energy = 2; }).find("summary_energy"),
            std::string::npos);
  EXPECT_TRUE(check(BlockParams{}));
}

}  // namespace
}  // namespace quiver::index::sparse
