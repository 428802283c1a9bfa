// Clusters agree with a recursion that follows the definition.
#include "engine/query/joins/clusters.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <random>
#include <tuple>

namespace quiver::engine::testing {
namespace {

struct CloudGraph {
  KnnGraph graph;
  std::vector<std::vector<double>> distances;
};

/// Points of a plane in clouds, and their k-NN graph under Euclid.
CloudGraph clouds(std::size_t n, std::uint64_t k, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<float> normal;
  std::vector<std::pair<float, float>> points;
  for (std::size_t i = 0; i < n; ++i) {
    const auto cloud = static_cast<float>(i % 4);
    const float spread = i % 9 == 0 ? 3.0F : 0.3F + cloud / 4;
    points.emplace_back(5 * cloud + spread * normal(random), spread * normal(random));
  }
  CloudGraph made{KnnGraph(n, k), {}};
  made.distances.assign(n, std::vector<double>(n));
  for (std::uint32_t i = 0; i < n; ++i) {
    std::vector<Neighbour> others;
    for (std::uint32_t j = 0; j < n; ++j) {
      const float x = points[i].first - points[j].first;
      const float y = points[i].second - points[j].second;
      made.distances[i][j] = std::sqrt(x * x + y * y);
      if (i != j) others.push_back({j, -(x * x + y * y)});
    }
    std::sort(others.begin(), others.end(),
              [](const Neighbour& a, const Neighbour& b) { return is_better(a, b); });
    others.resize(k);
    made.graph.set(i, others);
  }
  return made;
}

using Rows = std::vector<std::uint32_t>;
struct Edge {
  double distance = 0;
  std::uint32_t a = 0, b = 0;
  bool operator<(const Edge& other) const {
    return std::tie(distance, a, b) < std::tie(other.distance, other.a, other.b);
  }
};

/// HDBSCAN as a recursion over what stays connected when the longest edges are taken away.
class Definition {
 public:
  Definition(const CloudGraph& made, std::uint64_t min_size, std::uint64_t min_samples,
             ClusterSelection selection)
      : min_size_(min_size), selection_(selection), of_row_(made.graph.n_rows(), JoinTable::kNone) {
    const auto core = [&](std::uint32_t row) {
      return std::sqrt(double{-made.graph.of(row)[min_samples - 1].score});
    };
    for (std::uint32_t i = 0; i < made.graph.n_rows(); ++i) {
      for (const Neighbour& to : made.graph.of(i)) {
        const double reach = std::max({made.distances[i][to.position], core(i), core(to.position)});
        edges_.push_back({static_cast<double>(static_cast<float>(reach)), std::min(i, to.position),
                          std::max(i, to.position)});
      }
    }
    std::sort(edges_.begin(), edges_.end());
  }

  std::vector<std::uint32_t> run() {
    Rows all(of_row_.size());
    for (std::uint32_t i = 0; i < all.size(); ++i) all[i] = i;
    std::vector<Rows> trees;
    for (auto& part : parts(all, edges_.size())) {
      if (part.size() >= min_size_) trees.push_back(part);
    }
    for (const Rows& tree : trees) {
      std::vector<Rows> chosen;
      best(tree, edges_.size(), std::nullopt, trees.size() > 1, chosen);
      for (const Rows& cluster : chosen) chosen_.push_back(cluster);
    }
    std::sort(chosen_.begin(), chosen_.end());  // by first row
    for (std::uint32_t number = 0; number < chosen_.size(); ++number) {
      for (const std::uint32_t row : chosen_[number]) of_row_[row] = number;
    }
    return of_row_;
  }

 private:
  /// Connected parts of `rows` by the first `n` edges.
  [[nodiscard]] std::vector<Rows> parts(const Rows& rows, std::size_t n) const {
    std::map<std::uint32_t, std::uint32_t> part;
    for (const std::uint32_t row : rows) part[row] = row;
    for (bool changes = true; changes;) {
      changes = false;
      for (std::size_t i = 0; i < n; ++i) {
        const auto a = part.find(edges_[i].a);
        const auto b = part.find(edges_[i].b);
        if (a == part.end() || b == part.end() || a->second == b->second) continue;
        a->second = b->second = std::min(a->second, b->second);
        changes = true;
      }
    }
    std::map<std::uint32_t, Rows> all;
    for (const auto& [row, of] : part) all[of].push_back(row);
    std::vector<Rows> list;
    for (auto& [of, some] : all) list.push_back(some);
    return list;
  }

  /// The greatest stability of clusters within `cluster`, which `n` edges connect.
  double best(const Rows& cluster, std::size_t n, std::optional<double> birth, bool may_be_one,
              std::vector<Rows>& chosen) const {
    double own = 0;
    Rows rest = cluster;
    while (true) {
      while (parts(rest, n).size() == 1 && n > 0) --n;
      const double density = 1 / edges_[n].distance;
      if (!birth) birth = density;
      const auto two = parts(rest, n);
      EXPECT_EQ(two.size(), 2U);
      const bool first = two[0].size() >= min_size_;
      const bool second = two[1].size() >= min_size_;
      if (first != second) {
        own += (density - *birth) * static_cast<double>(two[first ? 1 : 0].size());
        rest = two[first ? 0 : 1];
        continue;
      }
      own += (density - *birth) * static_cast<double>(rest.size());
      double below = 0;
      std::vector<Rows> below_chosen;
      if (first) {
        for (const Rows& part : two) below += best(part, n, density, true, below_chosen);
      }
      const bool is_leaf = !first;
      const bool is_best = selection_ == ClusterSelection::kLeaves ? is_leaf : own >= below;
      if (may_be_one && is_best) {
        chosen.push_back(cluster);
        return own;
      }
      chosen.insert(chosen.end(), below_chosen.begin(), below_chosen.end());
      return below;
    }
  }

  const std::uint64_t min_size_;
  const ClusterSelection selection_;
  std::vector<Edge> edges_;
  std::vector<Rows> chosen_;
  std::vector<std::uint32_t> of_row_;
};

TEST(Clusters, AreThoseOfTheDefinition) {
  std::size_t n_found = 0;
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    for (const std::uint64_t k : {3, 6, 12}) {
      SCOPED_TRACE("seed " + std::to_string(seed) + " k " + std::to_string(k));
      const auto made = clouds(60, k, seed);
      ClustersJoin request{k, 4, 3};
      request.selection = seed % 2 == 0 ? ClusterSelection::kStable : ClusterSelection::kLeaves;
      const auto found = find_clusters(made.graph, Metric::kEuclid, request, Cancel()).value();
      EXPECT_EQ(found.numbers, Definition(made, 4, 3, request.selection).run());
      for (std::size_t row = 0; row < found.numbers.size(); ++row) {
        const bool is_noise = found.numbers[row] == JoinTable::kNone;
        EXPECT_TRUE(is_noise ? found.strengths[row] == 0
                             : found.strengths[row] > 0 && found.strengths[row] <= 1);
        n_found += is_noise ? 0 : 1;
      }
    }
  }
  EXPECT_GT(n_found, 500U);
}

TEST(Clusters, EqualPointsAreFinite) {
  KnnGraph graph(12, 3);
  for (std::uint32_t row = 0; row < 12; ++row) {
    std::vector<Neighbour> others;
    for (std::uint32_t i = 1; i <= 3; ++i) {
      others.push_back({row / 4 * 4 + (row + i) % 4, row < 4 ? 1.0F : 0.5F});
    }
    graph.set(row, others);
  }
  for (const Metric metric : {Metric::kDot, Metric::kCosine}) {
    const auto found = find_clusters(graph, metric, {3, 3, 0}, Cancel()).value();
    const std::vector<std::uint32_t> wanted = {0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2};
    EXPECT_EQ(found.numbers, wanted);
    for (const float strength : found.strengths) EXPECT_EQ(strength, 1);
  }
}

}  // namespace
}  // namespace quiver::engine::testing
