#include "app/import/plan/column_reader.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/app/import/support.h"

namespace quiver::app {
namespace {

TEST(ProblemOfTest, ValuesThatAreNotFinite) {
  VectorColumn column = dense_column();
  EXPECT_EQ(problem_of(column, 0), std::nullopt);
  column.batch.values[3] = NAN;
  EXPECT_EQ(problem_of(column, 0), std::nullopt);
  EXPECT_EQ(problem_of(column, 1), "value 1 is nan, wanted a finite one");
}

TEST(ProblemOfTest, SparseIndexesThatRepeat) {
  VectorColumn column = sparse_column();
  EXPECT_EQ(problem_of(column, 2), std::nullopt);
  column.batch.indices = {7, 9, 9};
  EXPECT_EQ(problem_of(column, 2), "found index 9 twice, wanted each once");
}

}  // namespace
}  // namespace quiver::app
