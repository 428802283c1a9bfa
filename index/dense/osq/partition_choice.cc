#include "index/dense/osq/partition_choice.h"

#include <algorithm>
#include <bit>
#include <numeric>

#include "kernels/kernels.h"

namespace quiver::index::dense::osq {

namespace {

/// Most that the kernel takes.
constexpr std::size_t kBytesPerCount = 65'536;

/// std::popcount, which calls a library where no instruction is certain to exist.
std::uint32_t count_ones(std::uint64_t word) {
  word -= word >> 1 & 0x5555555555555555U;
  word = (word & 0x3333333333333333U) + (word >> 2 & 0x3333333333333333U);
  word = (word + (word >> 4)) & 0x0f0f0f0f0f0f0f0fU;
  return static_cast<std::uint32_t>(word * 0x0101010101010101U >> 56);
}

}  // namespace

void list_candidates(const Partition& partition, const std::uint64_t* allowed, std::uint32_t n,
                     Candidates& out) {
  if (partition.facts.n_rows == 0) n = 0;
  out.rows.resize(n);
  out.numbers.resize(n);
  std::uint32_t n_listed = 0;
  const std::uint32_t last = partition.facts.n_rows - 1;
  const std::span<const std::uint64_t> members = partition.members.span();
  for (std::uint32_t w = 0; w < members.size(); ++w) {
    const std::uint64_t word = members[w];
    for (std::uint64_t rest = allowed == nullptr ? word : word & allowed[w];
         rest != 0 && n_listed < n; rest &= rest - 1) {
      const std::uint64_t below = (rest & -rest) - 1;
      out.rows[n_listed] = w * 64 + static_cast<std::uint32_t>(std::countr_zero(rest));
      out.numbers[n_listed] = std::min(partition.ranks[w] + count_ones(word & below), last);
      ++n_listed;
    }
  }
  // Rows ascend, so those outside of the column are at the end.
  while (n_listed > 0 && out.rows[n_listed - 1] >= partition.n_column_rows) --n_listed;
  out.rows.resize(n_listed);
  out.numbers.resize(n_listed);
}

std::uint32_t count_candidates(const Partition& partition, const std::uint64_t* allowed) {
  if (allowed == nullptr) return partition.facts.n_rows;
  const auto members = std::as_bytes(partition.members.span());
  const auto* of_filter = reinterpret_cast<const std::uint8_t*>(allowed);
  std::uint32_t n = 0;
  for (std::size_t first = 0; first < members.size(); first += kBytesPerCount) {
    const auto n_bytes = std::min(kBytesPerCount, members.size() - first);
    n += kernels().binary.common.one(of_filter + first, static_cast<std::uint32_t>(n_bytes),
                                     members.data() + first);
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
