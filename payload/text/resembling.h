// Words that resemble a word of a query: for misspelt words, and for search while typing.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace quiver::payload {

/// Number of insertions, deletions and changes of code points between two texts in UTF-8;
/// `limit` + 1 if there are more than `limit`.
[[nodiscard]] std::uint32_t edit_distance(std::string_view a, std::string_view b,
                                          std::uint32_t limit);

/// The words that may stand for one word: those that differ by few code points, and those that
/// begin with it. The word's first code point must be right. A word of n code points allows at
/// most (n - 1) / 3 differences: short words resemble too many.
class Resembling {
 public:
  static constexpr std::uint32_t kMaxDistance = 2;

  Resembling(std::string word, std::uint32_t max_distance, bool is_prefix);

  [[nodiscard]] const std::string& word() const { return word_; }
  /// True if only the word itself stands for it.
  [[nodiscard]] bool is_plain() const { return max_distance_ == 0 && !is_prefix_; }
  /// The bytes with which every word begins that may stand for it.
  [[nodiscard]] std::string_view start() const;
  /// 0 for the word itself and what begins with it, if that counts; nullopt: `other` does not
  /// stand for the word.
  [[nodiscard]] std::optional<std::uint32_t> distance_to(std::string_view other) const;
  /// 1 less the share of code points that differ.
  [[nodiscard]] double share_at(std::uint32_t distance) const {
    return 1 - static_cast<double>(distance) / static_cast<double>(points_.size());
  }

 private:
  std::string word_;
  std::u32string points_;
  bool is_prefix_;
  std::uint32_t max_distance_;
};

}  // namespace quiver::payload
