#include "index/dense/osq/partition_choice.h"

#include <algorithm>
#include <bit>
#include <numeric>

namespace quiver::index::dense::osq {

void Candidates::clear() {
  rows.clear();
  numbers.clear();
}

void list_candidates(const Partition& partition, const std::uint64_t* allowed, Candidates& out) {
  out.clear();
  const std::span<const std::uint64_t> members = partition.members.span();
  std::uint32_t first = 0;
  for (std::uint32_t w = 0; w < members.size(); ++w) {
    const std::uint64_t word = members[w];
    for (std::uint64_t rest = allowed == nullptr ? word : word & allowed[w]; rest != 0;
         rest &= rest - 1) {
      const std::uint64_t below = (rest & -rest) - 1;
      out.rows.push_back(w * 64 + static_cast<std::uint32_t>(std::countr_zero(rest)));
      out.numbers.push_back(first + static_cast<std::uint32_t>(std::popcount(word & below)));
    }
    first += static_cast<std::uint32_t>(std::popcount(word));
  }
}

std::uint32_t count_candidates(const Partition& partition, const std::uint64_t* allowed) {
  if (allowed == nullptr) return partition.facts.n_rows;
  const std::span<const std::uint64_t> members = partition.members.span();
  std::uint32_t n = 0;
  for (std::size_t w = 0; w < members.size(); ++w) {
    n += static_cast<std::uint32_t>(std::popcount(members[w] & allowed[w]));
  }
  return n;
}

std::vector<std::uint32_t> choose_partitions(const OpenFile& file, const ScaledQuery& query,
                                             const std::vector<std::uint32_t>& counts,
                                             std::uint64_t n_wanted, double distance_factor) {
  std::vector<double> distances;
  for (const Partition& partition : file.partitions) {
    distances.push_back(query.distance(partition));
  }
  std::vector<std::uint32_t> order(distances.size());
  std::iota(order.begin(), order.end(), 0U);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return distances[a] < distances[b]; });
  const double limit = order.empty() ? 0 : distance_factor * distances[order.front()];
  std::vector<std::uint32_t> chosen;
  std::uint64_t n = 0;
  for (const std::uint32_t p : order) {
    if (distances[p] > limit && n >= n_wanted) break;
    if (counts[p] == 0) continue;
    chosen.push_back(p);
    n += counts[p];
  }
  return chosen;
}

}  // namespace quiver::index::dense::osq
