#include "gpu/emulated/sum_job.h"

#include "gpu/emulated/select.h"

namespace quiver::gpu::emulated {
namespace {

constexpr std::uint32_t kLevels = 16;

}  // namespace

/// A run that does not end within the part adds nothing, and neither does a row beyond the range.
void SumPass::add_run(const qv_sum_term& term, std::uint32_t range) {
  const std::uint32_t n_ranges = (job_.n_rows + QV_RANGE_ROWS - 1) / QV_RANGE_ROWS;
  const std::uint64_t first =
      std::uint64_t{kLevels} * runs_.places[std::uint64_t{term.term} * n_ranges + range];
  if (first + kLevels > runs_.values.size()) return;
  const std::uint16_t* const n_from = runs_.values.data() + first;
  const std::uint32_t n = n_from[term.first_level];
  if (first + kLevels + n > runs_.values.size()) return;
  std::uint16_t* const sums = sums_.data() + std::uint64_t{range} * QV_RANGE_ROWS;
  for (std::uint32_t i = 0; i < n; ++i) {
    std::uint32_t level = term.first_level;
    while (level + 1 < kLevels && i < n_from[level + 1]) ++level;
    const std::uint16_t row = n_from[kLevels + i];
    if (row < QV_RANGE_ROWS) sums[row] = static_cast<std::uint16_t>(sums[row] + term.adds[level]);
  }
}

bool SumPass::step() {
  if (next_ == job_.n_queries) return true;
  const qv_sum_query& query = job_.queries[next_];
  const std::uint32_t n_ranges = (job_.n_rows + QV_RANGE_ROWS - 1) / QV_RANGE_ROWS;
  sums_.assign(std::uint64_t{n_ranges} * QV_RANGE_ROWS, 0);
  for (std::uint32_t i = 0; i < query.n_terms; ++i) {
    for (std::uint32_t range = 0; range < n_ranges; ++range) {
      add_run(job_.terms[query.first_term + i], range);
    }
  }
  write(next_);
  return ++next_ == job_.n_queries;
}

void SumPass::write(std::uint32_t query) {
  std::vector<std::uint32_t> rows;
  std::vector<float> sums;
  for (std::uint32_t row = 0; row < job_.n_rows; ++row) {
    if (sums_[row] == 0) continue;
    if (!allows(job_.masks, job_.queries[query].mask, job_.n_rows, row)) continue;
    rows.push_back(row);
    sums.push_back(sums_[row]);
  }
  auto sorted = sums;
  const float bar = kth_largest(sorted, job_.queries[query].k);
  const std::uint64_t first = std::uint64_t{query} * job_.capacity;
  std::uint32_t n = 0;
  job_.n_found[query] = QV_NOT_CERTIFIED;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (sums[i] < bar) continue;
    if (n == job_.capacity) return;
    job_.rows[first + n] = rows[i];
    job_.sums[first + n++] = static_cast<std::uint32_t>(sums[i]);
  }
  job_.n_found[query] = n;
}

}  // namespace quiver::gpu::emulated
