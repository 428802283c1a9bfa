#include "index/sparse/blocks/blocking.h"

#include <algorithm>
#include <numeric>

namespace quiver::index::sparse {
namespace {

/// SplitMix64 (Steele, Lea, Flood 2014): the same numbers everywhere.
class SplitMix64 {
 public:
  explicit SplitMix64(std::uint64_t seed) : state_(seed) {}
  std::uint64_t below(std::uint64_t n) {
    state_ += 0x9E3779B97F4A7C15;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
    return (z ^ (z >> 31)) % n;
  }

 private:
  std::uint64_t state_;
};

}  // namespace

Blocker::Blocker(const CodedRows& rows, const BlockParams& params)
    : rows_(rows), params_(params), begin_(rows.n_terms()), size_(rows.n_terms(), 0) {}

void Blocker::group(std::span<const Posting> list, std::uint64_t seed, Grouping& out) {
  out.rows.clear();
  out.first.assign(1, 0);
  if (list.empty()) return;
  if (params_.blocking == "fixed") return group_fixed(list, out);
  members_.clear();
  for (const Posting& posting : list) members_.push_back(posting.row);
  std::sort(members_.begin(), members_.end());
  choose_centroids(seed);
  index_centroids();
  assign_all();
  dissolve_small();
  forget_centroids();
  write_clusters(out);
}

void Blocker::group_fixed(std::span<const Posting> list, Grouping& out) const {
  const std::size_t least = (list.size() + kMaxBlocks - 1) / kMaxBlocks;
  const std::size_t size = std::max<std::size_t>(params_.block_size, least);
  for (std::size_t begin = 0; begin < list.size(); begin += size) {
    const std::size_t end = std::min(begin + size, list.size());
    for (std::size_t i = begin; i < end; ++i) out.rows.push_back(list[i].row);
    std::sort(out.rows.begin() + static_cast<std::ptrdiff_t>(begin), out.rows.end());
    out.first.push_back(static_cast<std::uint32_t>(end));
  }
}

void Blocker::choose_centroids(std::uint64_t seed) {
  const auto n = members_.size();
  const auto share = static_cast<std::size_t>(params_.centroid_fraction * static_cast<double>(n));
  const std::size_t n_centroids = std::clamp<std::size_t>(share, 1, kMaxBlocks / 2);
  centroids_ = members_;
  SplitMix64 random(seed);
  for (std::size_t i = 0; i < n_centroids && i + 1 < n; ++i) {
    std::swap(centroids_[i], centroids_[i + random.below(n - i)]);
  }
  centroids_.resize(std::min(n_centroids, n));
  std::sort(centroids_.begin(), centroids_.end());
}

void Blocker::index_centroids() {
  for (std::size_t c = 0; c < centroids_.size(); ++c) {
    if (c + 1 < centroids_.size()) rows_.prefetch(centroids_[c + 1]);
    for (const std::uint32_t term : rows_.row(centroids_[c]).terms) {
      if (size_[term]++ == 0) touched_.push_back(term);
    }
  }
  std::uint32_t total = 0;
  for (const std::uint32_t term : touched_) {
    begin_[term] = total;
    total += size_[term];
    size_[term] = 0;
  }
  entries_.resize(total);
  for (std::uint32_t c = 0; c < centroids_.size(); ++c) {
    const auto row = rows_.row(centroids_[c]);
    for (std::size_t i = 0; i < row.terms.size(); ++i) {
      const std::uint32_t term = row.terms[i];
      entries_[begin_[term] + size_[term]++] = {c, row.codes[i]};
    }
  }
}

void Blocker::forget_centroids() {
  for (const std::uint32_t term : touched_) size_[term] = 0;
  touched_.clear();
}

std::uint32_t Blocker::nearest(std::uint32_t row) {
  std::fill(products_.begin(), products_.end(), 0);
  const auto strongest = rows_.strongest(row);
  for (std::size_t i = 0; i < strongest.terms.size(); ++i) {
    const std::uint32_t term = strongest.terms[i];
    const std::uint32_t code = strongest.codes[i];
    const Entry* entry = entries_.data() + begin_[term];
    for (const Entry* end = entry + size_[term]; entry != end; ++entry) {
      products_[entry->centroid] += code * entry->code;
    }
  }
  std::uint32_t best = 0;
  while (closed_[best] != 0) ++best;
  for (std::uint32_t c = best + 1; c < products_.size(); ++c) {
    if (products_[c] > products_[best] && closed_[c] == 0) best = c;
  }
  return best;
}

void Blocker::assign_all() {
  products_.resize(centroids_.size());
  closed_.assign(centroids_.size(), 0);
  sizes_.assign(centroids_.size(), 0);
  clusters_.resize(members_.size());
  constexpr std::size_t kRowsAhead = 4;
  for (std::size_t i = 0; i < members_.size(); ++i) {
    if (i + kRowsAhead < members_.size()) rows_.prefetch_strongest(members_[i + kRowsAhead]);
    clusters_[i] = nearest(members_[i]);
    ++sizes_[clusters_[i]];
  }
}

void Blocker::dissolve_small() {
  const auto largest = std::max_element(sizes_.begin(), sizes_.end()) - sizes_.begin();
  for (std::size_t c = 0; c < sizes_.size(); ++c) {
    closed_[c] = sizes_[c] <= params_.min_cluster_size ? 1 : 0;
  }
  closed_[static_cast<std::size_t>(largest)] = 0;
  for (std::size_t i = 0; i < members_.size(); ++i) {
    if (closed_[clusters_[i]] == 0) continue;
    --sizes_[clusters_[i]];
    clusters_[i] = nearest(members_[i]);
    ++sizes_[clusters_[i]];
  }
}

std::size_t Blocker::max_block_size() const {
  // There are at most kMaxBlocks / 2 clusters, and as many cuts.
  const std::size_t least = members_.size() / (kMaxBlocks / 2) + 1;
  return std::max<std::size_t>(params_.max_block_size, least);
}

void Blocker::write_clusters(Grouping& out) {
  std::vector<std::uint32_t> next(sizes_.size() + 1, 0);
  std::partial_sum(sizes_.begin(), sizes_.end(), next.begin() + 1);
  out.rows.resize(members_.size());
  for (std::size_t i = 0; i < members_.size(); ++i) out.rows[next[clusters_[i]]++] = members_[i];
  std::uint32_t begin = 0;
  for (const std::uint32_t size : sizes_) {
    const auto n_parts =
        static_cast<std::uint32_t>((size + max_block_size() - 1) / max_block_size());
    for (std::uint32_t part = 1; part <= n_parts; ++part) {
      out.first.push_back(begin + static_cast<std::uint32_t>(std::uint64_t{size} * part / n_parts));
    }
    begin += size;
  }
}

}  // namespace quiver::index::sparse
