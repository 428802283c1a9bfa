#include "bench/load/bodies.h"

#include <gtest/gtest.h>

#include <vector>

namespace quiver::bench {
namespace {

dataset::Vectors vectors_of(FieldKind kind, std::uint32_t dim, std::vector<float> values,
                            std::vector<std::uint64_t> offsets = {},
                            std::vector<std::uint32_t> indices = {}) {
  dataset::Vectors vectors;
  vectors.shape.kind = kind;
  vectors.shape.dim = dim;
  vectors.batch.n_rows = offsets.empty() ? values.size() / dim : offsets.size() - 1;
  vectors.batch.values = std::move(values);
  vectors.batch.offsets = std::move(offsets);
  vectors.batch.indices = std::move(indices);
  return vectors;
}

TEST(BodiesTest, Query) {
  LoadOptions options;
  const auto dense = vectors_of(FieldKind::kDense, 2, {9, 9, 0.5, -1});
  EXPECT_EQ(query_body(options, dense, 1), R"({"query":[0.5,-1.0],"limit":10})");
  options.vector_name = "v";
  options.params = R"({"exact":true})";
  options.filter = R"({"must":[]})";
  options.with_payload = true;
  options.k = 3;
  EXPECT_EQ(query_body(options, dense, 1),
            R"({"query":[0.5,-1.0],"limit":3,"using":"v","params":{"exact":true},)"
            R"("filter":{"must":[]},"with_payload":true})");
}

TEST(BodiesTest, QueriesOfOtherKinds) {
  const auto sparse =
      vectors_of(FieldKind::kSparse, 0, {9, 0.5, 1.5}, {0, 1, 3, 3}, {4, 7, 4000000000});
  EXPECT_EQ(query_body({}, sparse, 1),
            R"({"query":{"indices":[7,4000000000],"values":[0.5,1.5]},"limit":10})");
  EXPECT_EQ(query_body({}, sparse, 2), R"({"query":{"indices":[],"values":[]},"limit":10})");
  const auto multi = vectors_of(FieldKind::kMulti, 2, {9, 9, 1, 2, 3, 4}, {0, 1, 3});
  EXPECT_EQ(query_body({}, multi, 1), R"({"query":[[1.0,2.0],[3.0,4.0]],"limit":10})");
}

TEST(BodiesTest, Upsert) {
  const std::vector<float> vector = {0.5};
  UpsertBody body("");
  body.add(1, vector, R"({"a":1})");
  body.add(2, vector, "");
  EXPECT_EQ(body.finish(),
            R"({"points":[{"id":1,"vector":[0.5],"payload":{"a":1}},{"id":2,"vector":[0.5]}]})");
  EXPECT_EQ(body.finish(), R"({"points":[]})");
  UpsertBody named("n\"x");
  named.add(7, vector, "");
  EXPECT_EQ(named.finish(), R"({"points":[{"id":7,"vector":{"n\"x":[0.5]}}]})");
}

}  // namespace
}  // namespace quiver::bench
