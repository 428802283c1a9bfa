#include "index/topk.h"

#include <algorithm>
#include <utility>

namespace quiver::index {

void TopK::push(Hit hit) {
  const auto order = [this](const Hit& a, const Hit& b) { return better(a, b); };
  if (heap_.size() < k_) {
    heap_.push_back(hit);
    std::push_heap(heap_.begin(), heap_.end(), order);
  } else if (better(hit, heap_.front())) {
    std::pop_heap(heap_.begin(), heap_.end(), order);
    heap_.back() = hit;
    std::push_heap(heap_.begin(), heap_.end(), order);
  } else {
    return;
  }
  if (shared_floor_ != nullptr && heap_.size() == k_) raise_shared_floor();
}

void TopK::raise_shared_floor() {
  const float own = heap_.front().score;
  float seen = shared_floor_->load(std::memory_order_relaxed);
  while (own > seen &&
         !shared_floor_->compare_exchange_weak(seen, own, std::memory_order_relaxed)) {
  }
}

std::vector<Hit> TopK::take_sorted() {
  std::sort(heap_.begin(), heap_.end(),
            [this](const Hit& a, const Hit& b) { return better(a, b); });
  return std::exchange(heap_, {});
}

}  // namespace quiver::index
