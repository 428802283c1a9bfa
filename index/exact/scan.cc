#include "index/exact/scan.h"

namespace quiver::index {

std::vector<ScanRange> cut_into_pieces(std::uint32_t n_rows, std::size_t bytes_per_row) {
  const std::size_t rows = std::max<std::size_t>(kBlockRows, kPieceBytes / bytes_per_row);
  const auto step =
      static_cast<std::uint32_t>(std::min<std::size_t>(rows / kBlockRows * kBlockRows, 1U << 30));
  std::vector<ScanRange> pieces;
  for (std::uint32_t first = 0; first < n_rows; first += step) {
    pieces.push_back({first, first + std::min(step, n_rows - first)});
    if (n_rows - first <= step) break;
  }
  return pieces;
}

PieceHits::PieceHits(std::span<TopK* const> results, std::span<std::atomic<float>> own_floors) {
  heaps_.reserve(results.size());
  for (std::size_t j = 0; j < results.size(); ++j) {
    std::atomic<float>* shared = results[j]->shared_floor();
    heaps_.emplace_back(results[j]->k(), results[j]->ids(),
                        shared != nullptr ? shared : &own_floors[j]);
    pointers_.push_back(&heaps_.back());
  }
}

void Gathered::add(PieceHits& hits, const WorkCounters& work_done, Result<> result) {
  MutexLock lock(mutex_);
  for (std::size_t j = 0; j < results_.size(); ++j) {
    for (const Hit& hit : hits.heaps()[j].take_sorted()) results_[j]->offer(hit.score, hit.row);
  }
  work_ += work_done;
  if (!result && status_) status_ = std::move(result);
}

}  // namespace quiver::index
