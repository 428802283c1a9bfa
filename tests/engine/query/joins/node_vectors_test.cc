// Vectors of nodes agree with products of whole matrices.
#include "engine/query/joins/node_vectors.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace quiver::engine::testing {
namespace {

constexpr std::uint32_t kNodes = 30;

KnnGraph random_graph(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  KnnGraph graph(kNodes, 4);
  for (std::uint32_t row = 0; row < kNodes; ++row) {
    std::vector<Neighbour> others;
    for (std::uint32_t i = 0; i < 1 + random() % 4; ++i) {
      others.push_back({(row + 1 + i * 7) % kNodes, 1});
    }
    graph.set(row, others);
  }
  return graph;
}

std::vector<PointId> ids() {
  std::vector<PointId> all;
  for (std::uint32_t i = 0; i < kNodes; ++i) all.push_back(PointId::number(100 + i));
  return all;
}

Result<std::vector<float>> vectors_with(const KnnGraph& graph, const std::vector<PointId>& points,
                                        const NodeVectorsJoin& request) {
  JoinProgress progress;
  auto vectors = node_vectors(links_of(graph), points, request, Cancel(), progress);
  EXPECT_EQ(progress.n_done, kNodes * request.weights.size());
  return vectors;
}

std::vector<float> vectors_of(const KnnGraph& graph, const NodeVectorsJoin& request) {
  return vectors_with(graph, ids(), request).value();
}

TEST(NodeVectors, AreWeightedSumsOfHops) {
  for (const std::uint64_t seed : {1, 2, 3}) {
    const auto graph = random_graph(seed);
    const std::uint32_t dim = 8;
    const auto hop = [&](std::vector<float> weights) {
      return vectors_of(graph, {4, dim, std::move(weights), seed});
    };
    const auto first = hop({1});
    const auto second = hop({0, 1});
    const auto both = hop({0.5F, 2});
    bool adjacent[kNodes][kNodes] = {};
    for (std::uint32_t a = 0; a < kNodes; ++a) {
      for (const Neighbour& b : graph.of(a)) {
        adjacent[a][b.position] = adjacent[b.position][a] = true;
      }
    }
    for (std::uint32_t a = 0; a < kNodes; ++a) {
      std::vector<double> sum(dim, 0);
      for (std::uint32_t b = 0; b < kNodes; ++b) {
        for (std::uint32_t d = 0; adjacent[a][b] && d < dim; ++d) sum[d] += first[b * dim + d];
      }
      double square = 0;
      for (const double value : sum) square += value * value;
      for (std::uint32_t d = 0; d < dim; ++d) {
        const double wanted = square > 0 ? sum[d] / std::sqrt(square) : 0;
        EXPECT_NEAR(second[a * dim + d], wanted, 1e-5);
        EXPECT_NEAR(both[a * dim + d], 0.5F * first[a * dim + d] + 2 * second[a * dim + d], 1e-5);
      }
    }
  }
}

TEST(NodeVectors, DependOnIdsAndTheSeed) {
  const auto graph = random_graph(4);
  const NodeVectorsJoin request{4, 16, {1, 1}, 9};
  EXPECT_EQ(vectors_of(graph, request), vectors_of(graph, request));
  EXPECT_NE(vectors_of(graph, request), vectors_of(graph, {4, 16, {1, 1}, 10}));
  auto others = ids();
  others[3] = PointId::number(7);
  EXPECT_NE(vectors_of(graph, request), vectors_with(graph, others, request).value());
}

}  // namespace
}  // namespace quiver::engine::testing
