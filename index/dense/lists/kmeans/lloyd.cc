#include "index/dense/lists/kmeans/lloyd.h"

#include <algorithm>
#include <numeric>

namespace quiver::index::dense {
namespace {

/// `Members` of the lists, restricted to the rows `some`.
Members members_among(std::span<const std::uint32_t> some, const std::uint32_t* list_of,
                      std::size_t n_lists) {
  std::vector<std::uint32_t> lists(some.size());
  for (std::size_t i = 0; i < some.size(); ++i) lists[i] = list_of[some[i]];
  Members members(lists, n_lists);
  for (std::uint32_t& row : members.rows) row = some[row];
  return members;
}

std::vector<std::uint32_t> part_of(std::span<const std::uint32_t> members, std::size_t n,
                                   std::uint64_t seed) {
  std::vector<std::uint32_t> part =
      spread(static_cast<std::uint32_t>(n), static_cast<std::uint32_t>(members.size()), seed);
  for (std::uint32_t& i : part) i = members[i];
  return part;
}

std::vector<float> first_means(const ByteView& rows, std::span<const std::uint32_t> members,
                               const LloydOptions& options) {
  std::vector<float> means;
  for (const std::uint32_t row : part_of(members, options.n_clusters, options.seed)) {
    for (std::size_t d = 0; d < rows.dim; ++d) means.push_back(value_of(rows.at(row)[d]));
  }
  return means;
}

}  // namespace

std::vector<std::uint32_t> all_of(std::size_t n) {
  std::vector<std::uint32_t> rows(n);
  std::iota(rows.begin(), rows.end(), 0);
  return rows;
}

void assign_all(const ByteView& rows, std::span<const std::uint32_t> members,
                const Centres& centres, const BuildContext& context, std::uint32_t* list_of) {
  constexpr std::size_t kBlockRows = 2048;
  for_each(context, (members.size() + kBlockRows - 1) / kBlockRows, [&](std::size_t block) {
    if (context.cancel.poll()) return;
    const std::size_t first = block * kBlockRows;
    const std::size_t n = std::min(kBlockRows, members.size() - first);
    CentreSearch(centres).nearest(rows, members.subspan(first, n), {}, list_of);
  });
}

void Mover::move(const Members& members, Small small, const BuildContext& context,
                 std::vector<float>& means) {
  for_each(context, members.n_lists(), [&](std::size_t c) {
    if (!members.of(c).empty()) mean_of(rows_, members.of(c), means.data() + c * rows_.dim);
  });
  if (small == Small::kKeep) return;
  std::vector<std::size_t> sizes;
  for (std::size_t c = 0; c < members.n_lists(); ++c) sizes.push_back(members.of(c).size());
  for (std::size_t c = 0; c < members.n_lists(); ++c) {
    if (4 * members.of(c).size() * members.n_lists() > members.rows.size()) continue;
    const auto largest =
        static_cast<std::size_t>(std::max_element(sizes.begin(), sizes.end()) - sizes.begin());
    sizes[largest] /= 2;
    if (largest == c || members.of(largest).empty()) continue;
    halve(members.of(largest), means.data() + largest * rows_.dim, means.data() + c * rows_.dim);
  }
}

/// Moves both centres a little off the mean, to opposite sides along the direction to one of the
/// rows. The next round assigns about half of the rows to each. A row itself as a centre would be
/// far from all others.
void Mover::halve(std::span<const std::uint32_t> members, float* mean, float* other) {
  constexpr float kStep = 0.2f;
  const std::uint8_t* row = rows_.at(members[random_() % members.size()]);
  for (std::size_t d = 0; d < rows_.dim; ++d) {
    const float step = kStep * (value_of(row[d]) - mean[d]);
    other[d] = mean[d] + step;
    mean[d] -= step;
  }
}

std::vector<float> lloyd(const ByteView& rows, std::span<const std::uint32_t> members,
                         const LloydOptions& options, const BuildContext& context,
                         std::uint32_t* list_of) {
  // The first rounds, with centres far from their final places, use few rows.
  constexpr std::size_t kRowsAtFirst = 12;
  std::vector<float> means = first_means(rows, members, options);
  Mover mover(rows, options.seed + 1);
  for (std::uint32_t round = 0; round < options.rounds && !context.cancel.poll(); ++round) {
    const bool is_last = round + 1 == options.rounds;
    const std::size_t n_used = options.n_clusters * (kRowsAtFirst << std::min(round, 16U));
    std::vector<std::uint32_t> part;
    if (!is_last && n_used < members.size()) part = part_of(members, n_used, options.seed + round);
    const std::span<const std::uint32_t> used = part.empty() ? members : part;
    assign_all(rows, used, Centres(means, rows.dim), context, list_of);
    mover.move(members_among(used, list_of, options.n_clusters),
               is_last ? Mover::Small::kKeep : Mover::Small::kRestart, context, means);
    if (context.progress) context.progress(round + 1);
  }
  return means;
}

}  // namespace quiver::index::dense
