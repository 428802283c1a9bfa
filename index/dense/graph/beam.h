// The nodes that a walk visits or expands next.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace quiver::index::dense {

/// Nodes that wait, by score, greatest first.
class Beam {
 public:
  void clear() { heap_.clear(); }
  [[nodiscard]] bool empty() const { return heap_.empty(); }
  /// `score`: a number.
  void add(float score, std::uint32_t node) {
    heap_.push_back(std::uint64_t{ordered(score)} << 32 | node);
    std::push_heap(heap_.begin(), heap_.end());
  }
  /// Score of the node that `take` takes.
  [[nodiscard]] float next_score() const {
    return score_of(static_cast<std::uint32_t>(heap_.front() >> 32));
  }
  /// Takes the node with the greatest score out.
  std::uint32_t take() {
    std::pop_heap(heap_.begin(), heap_.end());
    const auto node = static_cast<std::uint32_t>(heap_.back());
    heap_.pop_back();
    return node;
  }
  /// Calls `use(node)` for the node that is taken next if none is added.
  template <class Use>
  void for_next(Use&& use) const {
    if (!heap_.empty()) use(node_at(0));
  }
  /// Calls `use(node)` for the two nodes that are taken next if none is added.
  template <class Use>
  void for_next_two(Use&& use) const {
    for_next(use);
    if (heap_.size() == 2) use(node_at(1));
    if (heap_.size() > 2) use(node_at(heap_[1] > heap_[2] ? 1 : 2));
  }

 private:
  static constexpr std::uint32_t kSign = 1U << 31;

  /// Numbers in the order of scores.
  [[nodiscard]] static std::uint32_t ordered(float score) {
    const auto bits = std::bit_cast<std::uint32_t>(score);
    return (bits & kSign) != 0 ? ~bits : bits | kSign;
  }
  [[nodiscard]] static float score_of(std::uint32_t ordered) {
    return std::bit_cast<float>((ordered & kSign) != 0 ? ordered & ~kSign : ~ordered);
  }
  [[nodiscard]] std::uint32_t node_at(std::size_t place) const {
    return static_cast<std::uint32_t>(heap_[place]);
  }

  std::vector<std::uint64_t> heap_;  ///< scores above nodes
};

}  // namespace quiver::index::dense
