#include "index/dense/lists/search/code_scan.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>

#include "base/bits.h"

namespace quiver::index::dense {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

/// Part of the wanted rows by which more may be kept before a look drops them: a drop takes as long
/// as a list.
constexpr std::size_t kSlackShare = 2;

/// Room for more rows than wanted: selections stay rare, and the memory stays in L1.
std::size_t room_for(std::size_t want) { return 3 * want + 64; }

/// The k-th greatest. Changes the order.
float select(std::span<float> scores, std::size_t k) {
  const auto kth = scores.begin() + static_cast<std::ptrdiff_t>(k - 1);
  std::nth_element(scores.begin(), kth, scores.end(), std::greater<>());
  return *kth;
}

/// Without positions. Scores of a damaged file that are no numbers count as the least.
CodeHits copy_of(std::span<const float> scores, ScanScratch& scratch) {
  scratch.order.assign(scores.begin(), scores.end());
  for (float& score : scratch.order) score = score >= -kInfinity ? score : -kInfinity;
  scratch.places.resize(scores.size());
  return {scratch.order.data(), scratch.places.data(), scores.size(), scores.size()};
}

}  // namespace

float kth_greatest(std::span<const float> scores, std::size_t k, ScanScratch& scratch) {
  CodeHits copy = copy_of(scores, scratch);
  kernels().codes.keep_best(copy, k);
  return copy.n < k ? -kInfinity : select(std::span(copy.scores, copy.n), k);
}

CodeScan::CodeScan(std::size_t want, ScanScratch& scratch)
    : want_(want), least_(want), scratch_(&scratch) {
  make_room();
}

void CodeScan::make_room() {
  const std::size_t room = room_for(want_);
  if (scratch_->scores.size() < room + CodeBlocks::kRows) {
    scratch_->scores.resize(room + CodeBlocks::kRows);
    scratch_->positions.resize(room + CodeBlocks::kRows);
  }
  hits_ = {scratch_->scores.data(), scratch_->positions.data(), room, hits_.n};
}

void CodeScan::keep_near(const NearRows& near) { near_ = near; }

bool CodeScan::has_all_near() const { return threshold_ <= kth(near_.k) - near_.range; }

std::size_t CodeScan::n_above(float bar) const {
  return static_cast<std::size_t>(std::count_if(hits_.scores, hits_.scores + hits_.n,
                                                [bar](float score) { return score >= bar; }));
}

/// The k-th best only rises, so it is among the few rows that are as good as it was.
float CodeScan::next_kth() {
  auto& best = scratch_->order;
  best.clear();
  if (last_kth_ > -kInfinity) {
    std::copy_if(hits_.scores, hits_.scores + hits_.n, std::back_inserter(best),
                 [this](float score) { return score >= last_kth_; });
  }
  last_kth_ = best.size() < near_.k ? kth(near_.k) : select(best, near_.k);
  return last_kth_;
}

/// Wants as many rows as are near the k-th best, and lets no more be dropped from now on.
void CodeScan::count_near() {
  if (near_.k == 0) return;
  const float kth_best = next_kth();
  float bar = kth_best - near_.range;
  std::size_t n = n_above(bar);
  if (n > least_) {
    bar = kth_best - near_.range_of_many;
    n = n_above(bar);
  }
  want_ = std::clamp(n, least_, near_.most);
  highest_threshold_ = n > near_.most ? kInfinity : std::nextafter(bar, -kInfinity);
  make_room();
}

void CodeScan::scan(const CodeTables& query, CodeBlocks blocks, float base,
                    const std::uint16_t* allowed, std::uint32_t first_position) {
  const auto& kernel = kernels().codes;
  while (true) {
    const std::size_t n =
        kernel.scan(query, blocks, base, threshold_, allowed, first_position, hits_);
    if (n == blocks.n) return;
    shrink();
    blocks.first += n * blocks.block_bytes();
    blocks.n -= n;
    first_position += static_cast<std::uint32_t>(n * CodeBlocks::kRows);
    if (allowed != nullptr) allowed += n;
  }
}

void CodeScan::offer(std::span<const float> scores, std::span<const std::uint32_t> positions) {
  for (std::size_t i = 0; i < scores.size(); ++i) {
    if (!(scores[i] > threshold_)) continue;
    if (hits_.n == hits_.room) shrink();
    hits_.scores[hits_.n] = scores[i];
    hits_.positions[hits_.n++] = positions[i];
  }
}

std::size_t CodeScan::count_masks(std::span<const std::uint16_t> allowed) {
  const auto n = static_cast<double>(allowed.size() * CodeBlocks::kRows);
  const auto n_rows = static_cast<double>(count_bits(allowed));
  n_masked_ += n;
  n_allowed_ += n_rows;
  count(n, n_rows);
  return allowed.size() -
         static_cast<std::size_t>(std::count(allowed.begin(), allowed.end(), std::uint16_t{0}));
}

void CodeScan::scan_and_drop(const CodeTables& query, CodeBlocks blocks, float base,
                             const RowFilter& filter, std::span<const std::uint32_t> rows,
                             std::uint32_t first_position) {
  const auto& kernel = kernels().codes;
  while (true) {
    const std::size_t n_before = hits_.n;
    const std::size_t n =
        kernel.scan(query, blocks, base, threshold_, nullptr, first_position, hits_);
    drop(n_before, filter, rows);
    if (n == blocks.n) return;
    if (hits_.n + CodeBlocks::kRows > hits_.room) shrink();
    blocks.first += n * blocks.block_bytes();
    blocks.n -= n;
    first_position += static_cast<std::uint32_t>(n * CodeBlocks::kRows);
  }
}

float CodeScan::narrow() {
  if (hits_.n > want_ + want_ / kSlackShare) shrink();
  CodeHits copy = copy_of({hits_.scores, hits_.n}, *scratch_);
  return kernels().codes.keep_best(copy, least_);
}

/// Drops the hits from `first` on that are not allowed.
void CodeScan::drop(std::size_t first, const RowFilter& filter,
                    std::span<const std::uint32_t> rows) {
  std::size_t n = first;
  for (std::size_t i = first; i < hits_.n; ++i) {
    hits_.scores[n] = hits_.scores[i];
    hits_.positions[n] = hits_.positions[i];
    const std::uint32_t row = rows[hits_.positions[i]];
    n += row < filter.n_rows() && filter.allows(row) ? 1 : 0;
  }
  n_found_ += static_cast<double>(hits_.n - first);
  n_kept_ += static_cast<double>(n - first);
  count(static_cast<double>(hits_.n - first), static_cast<double>(n - first));
  hits_.n = n;
}

void CodeScan::count(double n, double n_allowed) {
  if (n_early_ >= n_watched_) return;
  n_early_ += n;
  n_early_allowed_ += n_allowed;
}

float CodeScan::kth(std::size_t k) const {
  if (k == 0 || hits_.n < k) return -kInfinity;  // 0: no list was near enough to be scanned
  return kth_greatest({hits_.scores, hits_.n}, k, *scratch_);
}

const CodeHits& CodeScan::best() {
  if (hits_.n > want_) shrink();
  if (hits_.n > want_) cut();
  return hits_;
}

void CodeScan::shrink() {
  count_near();
  if (hits_.n > want_) drop_worst();
}

/// Keeps the best rows and raises the threshold to just below the last: ties at the threshold are
/// decided by position, in `cut`.
void CodeScan::drop_worst() {
  const float least = kernels().codes.keep_best(hits_, want_);
  const float threshold = std::min(std::nextafter(least, -kInfinity), highest_threshold_);
  threshold_ = std::max(threshold_, threshold);
  // Many equal estimates could fill the room for good.
  if (hits_.n + CodeBlocks::kRows > hits_.room) cut();
}

/// Keeps exactly `want_` hits; ties go to the lowest positions.
void CodeScan::cut() {
  const float last = kth(want_);
  auto& places = scratch_->places;
  places.clear();
  std::size_t n_above = 0;
  for (std::size_t i = 0; i < hits_.n; ++i) {
    if (hits_.scores[i] == last) places.push_back(hits_.positions[i]);
    n_above += hits_.scores[i] > last ? 1 : 0;
  }
  const auto last_place = places.begin() + static_cast<std::ptrdiff_t>(want_ - n_above - 1);
  std::nth_element(places.begin(), last_place, places.end());
  std::size_t n = 0;
  for (std::size_t i = 0; i < hits_.n; ++i) {
    const float score = hits_.scores[i];
    const std::uint32_t position = hits_.positions[i];
    hits_.scores[n] = score;
    hits_.positions[n] = position;
    n += score > last || (score == last && position <= *last_place) ? 1 : 0;
  }
  hits_.n = n;
}

}  // namespace quiver::index::dense
