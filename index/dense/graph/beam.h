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
  [[nodiscard]] std::size_t size() const { return heap_.size(); }
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

  std::vector<std::uint64_t> heap_;  ///< scores above nodes
};

}  // namespace quiver::index::dense
