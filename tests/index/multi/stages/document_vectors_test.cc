#include <gtest/gtest.h>

#include "encoders/mean_encoder.h"
#include "index/multi/stages/document_vectors.h"
#include "tests/index/multi/multi_support.h"

namespace quiver::index::testing {
namespace {

TEST(DocumentVectors, AreAColumnOfOneVectorADocument) {
  Random random(34);
  Words words(32, random);
  const FieldColumn column = words.column(multi_schema(32), {4, 0, 7, 1});
  const auto directory = make_memory_directory();
  const Cancel cancel;
  std::uint64_t n_done = 0;
  const encoders::MeanEncoder encoder(32);
  const auto vectors = multi::encode_documents(
      column, encoder, {nullptr, cancel, 0, [&](std::uint64_t n) { n_done = n; }}, *directory,
      "vectors");
  ASSERT_TRUE(vectors) << vectors.error().to_string();
  EXPECT_EQ(n_done, 4U);
  EXPECT_EQ(vectors->n_rows, 4U);
  EXPECT_EQ(vectors->n_present, 3U);
  EXPECT_EQ(vectors->schema.dim, 32U);
  const MatrixView rows = vectors->dense().rows();
  const MatrixView tokens = column.multi().row(3);
  const double scale = stored_value(rows, 3, 0) / stored_value(tokens, 0, 0);
  for (std::uint32_t d = 0; d < 32; ++d) {
    EXPECT_EQ(stored_value(rows, 1, d), 0) << "absent rows are zero";
    EXPECT_NEAR(stored_value(rows, 3, d), scale * stored_value(tokens, 0, d), 2e-3 * scale);
  }
}

}  // namespace
}  // namespace quiver::index::testing
