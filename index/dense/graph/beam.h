// The nodes that a walk visits next.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace quiver::index::dense {

/// Nodes by score, greatest first, at most `length` of them: a new one drops the last.
class Beam {
 public:
  void reset(std::size_t length) {
    length_ = length;
    next_ = 0;
    entries_.clear();
  }
  /// A new score must be greater than this.
  [[nodiscard]] float least() const {
    return entries_.size() < length_ ? -std::numeric_limits<float>::infinity()
                                     : entries_.back().score;
  }
  void add(float score, std::uint32_t node) {
    if (!(score > least())) return;
    const std::size_t place = place_of(score);
    if (entries_.size() == length_) entries_.pop_back();
    entries_.insert(entries_.begin() + static_cast<std::ptrdiff_t>(place), {score, node});
    next_ = std::min(next_, place);
  }
  /// The node with the greatest score that was not taken yet, which `take` takes. nullptr: none.
  [[nodiscard]] const std::uint32_t* peek() {
    while (next_ < entries_.size() && entries_[next_].is_taken) ++next_;
    return next_ == entries_.size() ? nullptr : &entries_[next_].node;
  }
  /// Calls `use(node)` for the `n` nodes that are taken next if none is added.
  template <class Use>
  void for_next(std::size_t n, Use&& use) const {
    for (std::size_t i = next_; n > 0 && i < entries_.size(); ++i) {
      if (entries_[i].is_taken) continue;
      use(entries_[i].node);
      --n;
    }
  }
  /// Takes the node that `peek` found.
  std::uint32_t take() {
    entries_[next_].is_taken = true;
    return entries_[next_].node;
  }

 private:
  struct Entry {
    float score = 0;
    std::uint32_t node = 0;
    bool is_taken = false;
  };

  /// Number of entries with a score of at least `score`. Branch-free: a branch would be
  /// mispredicted half of the time.
  [[nodiscard]] std::size_t place_of(float score) const {
    const Entry* first = entries_.data();
    std::size_t n = entries_.size();
    while (n > 1) {
      const std::size_t half = n / 2;
      first += first[half - 1].score >= score ? half : 0;
      n -= half;
    }
    first += n == 1 && first->score >= score ? 1 : 0;
    return static_cast<std::size_t>(first - entries_.data());
  }

  std::size_t length_ = 0;
  std::size_t next_ = 0;  ///< first entry that may not be taken
  std::vector<Entry> entries_;
};

}  // namespace quiver::index::dense
