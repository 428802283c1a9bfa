#include "engine/query/joins/clusters.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <tuple>

#include "engine/query/joins/row_groups.h"
#include "engine/query/joins/scores.h"

namespace quiver::engine {
namespace {

constexpr std::uint32_t kNoise = JoinTable::kNone;
/// Distances below this part of the largest count as that much: densities stay finite.
constexpr float kLeastPart = 1e-6F;

struct Edge {
  float distance = 0;  ///< mutual reachability
  std::uint32_t a = 0;
  std::uint32_t b = 0;
};

/// The distance of a pair and the core distances of its rows, none of them negative.
class Reachability {
 public:
  Reachability(const KnnGraph& graph, Metric metric, std::uint64_t min_samples)
      : metric_(metric), core_(graph.n_rows(), 0) {
    // Dot products have no upper bound: the distance 0 is that of the most similar pair.
    if (metric == Metric::kDot) nearest_ = std::numeric_limits<float>::max();
    for (std::uint32_t row = 0; row < graph.n_rows(); ++row) {
      const auto others = graph.of(row);
      if (others.empty()) continue;
      const auto n = std::min<std::size_t>(min_samples, others.size());
      core_[row] = distance_of(metric, others[n - 1].score);
      nearest_ = std::min(nearest_, distance_of(metric, others[0].score));
    }
    for (float& distance : core_) distance -= nearest_;
  }
  [[nodiscard]] float of(std::uint32_t row, const Neighbour& to) const {
    const float distance = distance_of(metric_, to.score) - nearest_;
    return std::max({distance, core_[row], core_[to.position]});
  }

 private:
  const Metric metric_;
  float nearest_ = 0;
  std::vector<float> core_;
};

std::vector<Edge> edges_of(const KnnGraph& graph, const Reachability& reachability) {
  std::vector<Edge> edges;
  for (std::uint32_t row = 0; row < graph.n_rows(); ++row) {
    for (const Neighbour& to : graph.of(row)) {
      const auto back = graph.of(to.position);
      const bool is_mutual =
          std::ranges::any_of(back, [&](const Neighbour& entry) { return entry.position == row; });
      if (is_mutual && to.position < row) continue;  // added from there
      edges.push_back(
          {reachability.of(row, to), std::min(row, to.position), std::max(row, to.position)});
    }
  }
  std::sort(edges.begin(), edges.end(), [](const Edge& x, const Edge& y) {
    return std::tie(x.distance, x.a, x.b) < std::tie(y.distance, y.a, y.b);
  });
  return edges;
}

/// Node i < n_rows is a row; later ones join two nodes with smaller numbers.
struct Tree {
  struct Joint {
    std::uint32_t left = 0;
    std::uint32_t right = 0;
    float distance = 0;
  };
  std::uint32_t n_rows = 0;
  std::vector<Joint> joints;
  std::vector<std::uint32_t> sizes;    ///< rows of each node
  std::vector<std::uint32_t> parents;  ///< of each node; kNoise: a root

  [[nodiscard]] std::uint32_t n_nodes() const { return static_cast<std::uint32_t>(sizes.size()); }
};

/// Kruskal's algorithm: `edges` ascend by distance.
Tree single_linkage(std::size_t n_rows, const std::vector<Edge>& edges) {
  Tree tree;
  tree.n_rows = static_cast<std::uint32_t>(n_rows);
  tree.sizes.assign(n_rows, 1);
  tree.parents.assign(n_rows, kNoise);
  RowGroups groups(n_rows);
  std::vector<std::uint32_t> node_of(n_rows);  // of the group that a row stands for
  std::iota(node_of.begin(), node_of.end(), 0U);
  for (const Edge& edge : edges) {
    const std::uint32_t a = groups.of(edge.a);
    const std::uint32_t b = groups.of(edge.b);
    if (a == b) continue;
    const std::uint32_t left = node_of[a];
    const std::uint32_t right = node_of[b];
    const std::uint32_t node = tree.n_nodes();
    tree.joints.push_back({left, right, edge.distance});
    tree.parents[left] = tree.parents[right] = node;
    const std::uint32_t size = tree.sizes[left] + tree.sizes[right];
    tree.sizes.push_back(size);
    tree.parents.push_back(kNoise);
    const bool a_wins = tree.sizes[left] >= tree.sizes[right];  // flat paths
    groups.join(a_wins ? a : b, a_wins ? b : a);
    node_of[a_wins ? a : b] = node;
  }
  return tree;
}

/// A node of the condensed tree: what is left of a cluster while single rows and small groups
/// leave it. Density: 1 / distance.
struct Cluster {
  std::uint32_t parent = kNoise;  ///< the cluster that it split off from, with a smaller number
  double birth = 0;               ///< density
  double stability = 0;     ///< sum over rows of the densities through which they belong to it
  double last_density = 0;  ///< at which the last rows leave
  bool is_selectable = true;
  bool is_selected = false;
};

class Condensed {
 public:
  Condensed(const Tree& tree, std::uint64_t min_size)
      : tree_(tree),
        min_size_(min_size),
        cluster_of_(tree.n_nodes(), kNoise),
        left_at_(tree.n_nodes(), 0) {
    for (const auto& joint : tree.joints) largest_ = std::max(largest_, joint.distance);
  }

  void condense();
  void select_stable();
  void select_leaves();
  [[nodiscard]] Clusters clusters() const;

 private:
  [[nodiscard]] double density(const Tree::Joint& joint) const {
    return 1.0 /
           std::max({joint.distance, largest_ * kLeastPart, std::numeric_limits<float>::min()});
  }
  std::uint32_t add_cluster(std::uint32_t parent, double birth) {
    clusters_.push_back({parent, birth});
    return static_cast<std::uint32_t>(clusters_.size() - 1);
  }
  void begin_trees();
  void split(std::uint32_t node);
  void leave(std::uint32_t node, std::uint32_t cluster, double at);

  const Tree& tree_;
  const std::uint64_t min_size_;
  float largest_ = 0;
  std::vector<Cluster> clusters_;
  std::vector<std::uint32_t> cluster_of_;  ///< of each node; a row: the last it belonged to
  std::vector<double> left_at_;            ///< density at which each node below a cluster left it
};

/// A tree exists at least until its last joint; how much longer the graph does not say.
void Condensed::begin_trees() {
  for (std::uint32_t node = tree_.n_rows; node < tree_.n_nodes(); ++node) {
    if (tree_.parents[node] != kNoise || tree_.sizes[node] < min_size_) continue;
    cluster_of_[node] = add_cluster(kNoise, density(tree_.joints[node - tree_.n_rows]));
  }
  if (clusters_.size() == 1) clusters_[0].is_selectable = false;
}

void Condensed::leave(std::uint32_t node, std::uint32_t cluster, double at) {
  Cluster& from = clusters_[cluster];
  from.stability += (at - from.birth) * tree_.sizes[node];
  from.last_density = std::max(from.last_density, at);
  cluster_of_[node] = cluster;
  left_at_[node] = at;
}

void Condensed::split(std::uint32_t node) {
  const auto& joint = tree_.joints[node - tree_.n_rows];
  const std::uint32_t cluster = cluster_of_[node];
  const std::uint32_t children[] = {joint.left, joint.right};
  if (cluster == kNoise) return;  // a small tree
  if (left_at_[node] > 0) {       // its rows left together
    for (const std::uint32_t child : children) {
      cluster_of_[child] = cluster;
      left_at_[child] = left_at_[node];
    }
    return;
  }
  const double at = density(joint);
  const bool splits = tree_.sizes[joint.left] >= min_size_ && tree_.sizes[joint.right] >= min_size_;
  for (const std::uint32_t child : children) {
    if (splits) {
      leave(child, cluster, at);
      cluster_of_[child] = add_cluster(cluster, at);
      left_at_[child] = 0;
    } else if (tree_.sizes[child] >= min_size_) {
      cluster_of_[child] = cluster;
    } else {
      leave(child, cluster, at);
    }
  }
}

/// From the roots to the rows: a node has a larger number than those below it.
void Condensed::condense() {
  begin_trees();
  for (std::uint32_t node = tree_.n_nodes(); node > tree_.n_rows; --node) split(node - 1);
}

/// The most stable clusters of which none contains another ("excess of mass"). Of those marked the
/// outermost count.
void Condensed::select_stable() {
  std::vector<double> below(clusters_.size(), 0);  // best sum of stabilities of what split off
  for (std::size_t i = clusters_.size(); i > 0; --i) {
    Cluster& cluster = clusters_[i - 1];
    cluster.is_selected = cluster.is_selectable && cluster.stability >= below[i - 1];
    const double best = cluster.is_selected ? cluster.stability : below[i - 1];
    if (cluster.parent != kNoise) below[cluster.parent] += best;
  }
}

/// Those from which no other splits off.
void Condensed::select_leaves() {
  for (Cluster& cluster : clusters_) cluster.is_selected = cluster.is_selectable;
  for (const Cluster& cluster : clusters_) {
    if (cluster.parent != kNoise) clusters_[cluster.parent].is_selected = false;
  }
}

Clusters Condensed::clusters() const {
  // The selected cluster that contains each.
  std::vector<std::uint32_t> selected(clusters_.size(), kNoise);
  for (std::uint32_t i = 0; i < clusters_.size(); ++i) {
    const std::uint32_t parent = clusters_[i].parent;
    if (parent != kNoise) selected[i] = selected[parent];
    if (clusters_[i].is_selected && selected[i] == kNoise) selected[i] = i;
  }
  Clusters found;
  std::vector<std::uint32_t> numbers(clusters_.size(), kNoise);
  std::uint32_t n_numbered = 0;
  for (std::uint32_t row = 0; row < tree_.n_rows; ++row) {
    const std::uint32_t last = cluster_of_[row];
    const std::uint32_t cluster = last == kNoise ? kNoise : selected[last];
    if (cluster == kNoise) {
      found.numbers.push_back(kNoise);
      found.strengths.push_back(0);
      continue;
    }
    if (numbers[cluster] == kNoise) numbers[cluster] = n_numbered++;
    found.numbers.push_back(numbers[cluster]);
    const double most = clusters_[cluster].last_density;
    found.strengths.push_back(static_cast<float>(std::min(left_at_[row], most) / most));
  }
  return found;
}

}  // namespace

Result<Clusters> find_clusters(const KnnGraph& graph, Metric metric, const ClustersJoin& request,
                               const Cancel& cancel) {
  const std::uint64_t min_samples =
      std::min(request.k, request.min_samples != 0 ? request.min_samples : request.min_size);
  const auto edges = edges_of(graph, Reachability(graph, metric, min_samples));
  QV_TRY(cancel.check());
  const Tree tree = single_linkage(graph.n_rows(), edges);
  Condensed condensed(tree, request.min_size);
  condensed.condense();
  const bool wants_leaves = request.selection == ClusterSelection::kLeaves;
  wants_leaves ? condensed.select_leaves() : condensed.select_stable();
  return condensed.clusters();
}

}  // namespace quiver::engine
