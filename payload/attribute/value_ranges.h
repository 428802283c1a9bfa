// Values of one type, divided into ranges of neighbours while they arrive.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

namespace quiver::payload {

/// Nothing but its bounds is to be known of a range.
struct NoSummary {
  template <class T>
  explicit NoSummary(const T&) {}
  void join(const NoSummary&) {}
};

/// Each value belongs to one range, and each range has a number. A new value outside all ranges
/// gets a range of its own. When there are too many, neighbours are joined. `Summary` is made of a
/// value and joins those of all values of a range.
template <class T, class Summary = NoSummary>
class ValueRanges {
 public:
  struct Range {
    T high;
    Summary summary;
    std::uint32_t number = 0;
    std::uint32_t count = 0;
  };

  /// The number of the range of `value`.
  template <class U>
  std::uint32_t add(const U& value) {
    auto next = ranges_.upper_bound(value);
    if (next != ranges_.begin()) {
      auto before = std::prev(next);
      if (!(before->second.high < value)) {
        ++before->second.count;
        if (!are_single_values_) before->second.summary.join(Summary(value));
        return before->second.number;
      }
    }
    const auto number = static_cast<std::uint32_t>(ranges_.size());
    ranges_.emplace_hint(next, T(value), Range{T(value), Summary(value), number, 1});
    return number;
  }

  [[nodiscard]] std::size_t size() const { return ranges_.size(); }
  /// Least value of each range, ascending, with the range.
  [[nodiscard]] const std::map<T, Range, std::less<>>& ranges() const { return ranges_; }
  [[nodiscard]] bool are_single_values() const { return are_single_values_; }

  /// Joins neighbours until about `n_wanted` ranges of about equal counts are left, or none is too
  /// small to join. Returns the new number of each old one; numbers ascend with the values.
  [[nodiscard]] std::vector<std::uint32_t> coarsen(std::size_t n_wanted) {
    std::uint64_t total = 0;
    for (const auto& [low, range] : ranges_) total += range.count;
    const std::uint64_t share = n_wanted == 0 ? total : (total + n_wanted - 1) / n_wanted;
    std::vector<std::uint32_t> new_numbers(ranges_.size());
    std::map<T, Range, std::less<>> joined;
    auto last = joined.end();
    for (auto& [low, range] : ranges_) {
      const bool joins = last != joined.end() && last->second.count + range.count <= share;
      if (joins) {
        last->second.high = std::move(range.high);
        last->second.summary.join(range.summary);
        last->second.count += range.count;
        are_single_values_ = false;
      } else {
        const auto number = static_cast<std::uint32_t>(joined.size());
        last = joined.emplace_hint(
            joined.end(), low, Range{std::move(range.high), range.summary, number, range.count});
      }
      new_numbers[range.number] = last->second.number;
    }
    ranges_ = std::move(joined);
    return new_numbers;
  }

  /// Numbers the ranges by ascending values. Returns the new number of each old one.
  [[nodiscard]] std::vector<std::uint32_t> number_in_order() {
    std::vector<std::uint32_t> new_numbers(ranges_.size());
    std::uint32_t next = 0;
    for (auto& [low, range] : ranges_) {
      new_numbers[range.number] = next;
      range.number = next++;
    }
    return new_numbers;
  }

 private:
  std::map<T, Range, std::less<>> ranges_;
  bool are_single_values_ = true;
};

}  // namespace quiver::payload
