#include "gpu/emulated/dense_job.h"

#include <algorithm>

#include "gpu/tiles/margin.h"

namespace quiver::gpu::emulated {
DensePass::DensePass(const qv_dense& job, const StoredRows& rows)
    : job_(job),
      rows_(rows),
      n_tiles_((rows.rows.size() + tiles::kTileRows - 1) / tiles::kTileRows),
      queries_(job.n_queries) {
  std::uint32_t most = 0;
  for (std::uint32_t q = 0; q < job.n_queries; ++q) {
    const qv_query& query = job.queries[q];
    group_.length = std::max(group_.length, query.length);
    group_.error = std::max(group_.error, query.error);
    group_.square = std::max(group_.square, query.square);
    group_.half_over_scale = std::max(group_.half_over_scale, query.half_over_scale);
    most = std::max(most, query.k);
  }
  step_ = tiles::sample_step(static_cast<unsigned>(n_tiles_), most);
  for (const qv_row& row : rows.rows) margins_.push_back(tiles::margin(row, group_, job.rounding));
}

int DensePass::product(std::uint32_t query, std::uint64_t row) const {
  const std::int8_t* a = job_.codes + std::uint64_t{query} * rows_.stride;
  const std::int8_t* b = rows_.codes.data() + row * rows_.stride;
  int sum = 0;
  for (std::uint32_t i = 0; i < rows_.stride; ++i) sum += int{a[i]} * int{b[i]};
  return sum;
}

bool DensePass::step() {
  if (tile_ < n_tiles_) {
    phase_ == Phase::kSample ? sample_tile(tile_) : pass_tile(tile_);
    tile_ += phase_ == Phase::kSample ? step_ : 1;
    return false;
  }
  tile_ = 0;
  if (phase_ == Phase::kSample) {
    finish_sample();
    phase_ = Phase::kFirstPass;
    return false;
  }
  const bool again = finish_pass() && phase_ == Phase::kFirstPass;
  phase_ = Phase::kSecondPass;
  if (again) return false;
  for (std::uint32_t q = 0; q < job_.n_queries; ++q) write(q);
  return true;
}

void DensePass::sample_tile(std::uint64_t tile) {
  const std::uint64_t begin = tile * tiles::kTileRows;
  const std::uint64_t end = std::min<std::uint64_t>(begin + tiles::kTileRows, rows_.rows.size());
  for (std::uint32_t q = 0; q < job_.n_queries; ++q) {
    for (std::uint64_t slab = begin; slab < end; slab += tiles::kSlabRows) {
      float best = kNone;
      for (std::uint64_t row = slab; row < std::min<std::uint64_t>(slab + tiles::kSlabRows, end);
           ++row) {
        if (!is_allowed(q, row)) continue;
        const float lower =
            tiles::center(rows_.rows[row], job_.queries[q], product(q, row)) - margins_[row];
        if (lower > best) best = lower;
      }
      queries_[q].slabs.push_back(best);
    }
  }
}

void DensePass::finish_sample() {
  for (std::uint32_t q = 0; q < job_.n_queries; ++q) {
    queries_[q].bar = kth_largest(queries_[q].slabs, k_of(q));
  }
}

void DensePass::pass_tile(std::uint64_t tile) {
  const std::uint64_t begin = tile * tiles::kTileRows;
  const std::uint64_t end = std::min<std::uint64_t>(begin + tiles::kTileRows, rows_.rows.size());
  for (std::uint32_t q = 0; q < job_.n_queries; ++q) {
    Query& query = queries_[q];
    if (!query.is_wanted) continue;
    for (std::uint64_t row = begin; row < end; ++row) {
      if (!is_allowed(q, row)) continue;
      const float center = tiles::center(rows_.rows[row], job_.queries[q], product(q, row));
      if (!tiles::may_reach(center + margins_[row], query.bar)) continue;
      if (++query.n_found > tiles::room(k_of(q))) continue;
      query.found.push_back({static_cast<std::uint32_t>(row), center - margins_[row], center});
    }
  }
}

bool DensePass::finish_pass() {
  bool again = false;
  for (std::uint32_t q = 0; q < job_.n_queries; ++q) {
    Query& query = queries_[q];
    if (!query.is_wanted) continue;
    std::vector<float> lowers;
    for (const Found& found : query.found) lowers.push_back(found.lower);
    query.bar = std::max(query.bar, kth_largest(lowers, k_of(q)));
    query.is_wanted = query.n_found > tiles::room(k_of(q));
    if (!query.is_wanted || phase_ != Phase::kFirstPass) continue;
    again = true;
    query.found.clear();
    query.n_found = 0;
  }
  return again;
}

void DensePass::write(std::uint32_t q) {
  const Query& query = queries_[q];
  job_.n_rows[q] = QV_NOT_CERTIFIED;
  if (query.is_wanted) return;
  // The query's own numbers give a smaller margin than the group's.
  std::uint32_t* const out = job_.rows + std::uint64_t{q} * job_.capacity;
  const auto own = [&](const Found& found) {
    return tiles::margin(rows_.rows[found.row], job_.queries[q], job_.rounding);
  };
  std::vector<float> lowers;
  for (const Found& found : query.found) lowers.push_back(found.center - own(found));
  const float bar = std::max(query.bar, kth_largest(lowers, k_of(q)));
  std::uint32_t n = 0;
  for (const Found& found : query.found) {
    if (!tiles::may_reach(found.center + own(found), bar)) continue;
    if (n == job_.capacity) return;
    out[n++] = found.row;
  }
  job_.n_rows[q] = n;
}

}  // namespace quiver::gpu::emulated
