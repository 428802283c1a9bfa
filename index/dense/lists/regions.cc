#include "index/dense/lists/regions.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace quiver::index::dense {
namespace {

/// Fewer lists are estimated as fast without regions.
constexpr std::uint32_t kMinListsForRegions = 3000;
constexpr std::uint32_t kListsPerRegion = 32;

/// Numbers the clusters in `order`.
void reorder(std::span<const std::uint32_t> order, Clusters& clusters) {
  const std::uint32_t dim = clusters.dim;
  std::vector<std::uint32_t> number(order.size());
  std::vector<float> centroids;
  centroids.reserve(clusters.centroids.size());
  for (std::uint32_t i = 0; i < order.size(); ++i) {
    number[order[i]] = i;
    const auto from = clusters.centroids.begin() + std::ptrdiff_t{order[i]} * dim;
    centroids.insert(centroids.end(), from, from + dim);
  }
  clusters.centroids = std::move(centroids);
  for (std::uint32_t& list : clusters.list_of) list = number[list];
}

}  // namespace

Result<Regions> group_lists(const BuildContext& context, Clusters& clusters) {
  const std::uint32_t n_lists = clusters.n();
  if (n_lists < kMinListsForRegions) return Regions();
  const auto read = [&clusters](std::uint32_t list, float* out) {
    std::copy_n(&clusters.centroids[std::size_t{list} * clusters.dim], clusters.dim, out);
  };
  const ClusterOptions options{.n_clusters = n_lists / kListsPerRegion, .seed = context.seed};
  const BuildContext silent{context.executor, context.cancel, context.seed, nullptr};
  QV_TRY(const auto groups, cluster(read, n_lists, clusters.dim, options, silent));
  const Members members(groups.list_of, groups.n());
  Regions regions;
  regions.first_list.push_back(0);
  for (std::size_t i = 0; i < members.n_lists(); ++i) {
    const auto n = static_cast<std::uint32_t>(members.of(i).size());
    regions.first_list.push_back(regions.first_list.back() + n);
  }
  reorder(members.rows, clusters);
  return regions;
}

void measure_regions(std::span<const float> centroids, std::span<const float> list_reaches,
                     Similarity similarity, Regions& regions) {
  if (regions.n() == 0) return;
  const std::size_t dim = centroids.size() / list_reaches.size();
  for (std::size_t i = 0; i < regions.n(); ++i) {
    const std::uint32_t first = regions.first_list[i];
    const std::uint32_t end = regions.first_list[i + 1];
    const double n = std::max(1U, end - first);
    const auto of_lists = centroids.subspan(first * dim, (end - first) * dim);
    const auto mean = mean_of_centroids(of_lists, dim);
    regions.centroids.insert(regions.centroids.end(), mean.begin(), mean.end());
    double squares = 0;  // of the distances of the lists' centroids
    for (std::size_t at = 0; at < of_lists.size(); ++at) {
      const double difference = double{of_lists[at]} - mean[at % dim];
      squares += difference * difference;
    }
    const auto reaches = list_reaches.subspan(first, end - first);
    const double reach = std::accumulate(reaches.begin(), reaches.end(), 0.0);
    const bool is_distance = similarity == Similarity::kNegL2Squared;
    regions.reaches.push_back(is_distance ? 0 : static_cast<float>((reach + squares / 2) / n));
  }
}

}  // namespace quiver::index::dense
