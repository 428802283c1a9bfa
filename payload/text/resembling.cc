#include "payload/text/resembling.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace quiver::payload {
namespace {

bool is_continuation(char byte) { return (static_cast<unsigned char>(byte) & 0xC0U) == 0x80U; }

/// Each code point as the bytes that encode it. What is not UTF-8 is compared as it is.
std::u32string code_points(std::string_view text) {
  std::u32string points;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if (points.empty() || !is_continuation(text[i])) {
      points.push_back(byte);
    } else {
      points.back() = points.back() << 8 | byte;
    }
  }
  return points;
}

std::uint32_t distance_of(const std::u32string& a, const std::u32string& b, std::uint32_t limit) {
  const std::size_t n_more = a.size() > b.size() ? a.size() - b.size() : b.size() - a.size();
  if (n_more > limit) return limit + 1;
  std::vector<std::uint32_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = static_cast<std::uint32_t>(j);
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::uint32_t diagonal = row[0];
    row[0] = static_cast<std::uint32_t>(i);
    std::uint32_t least = row[0];
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::uint32_t changed = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({changed, row[j] + 1, row[j - 1] + 1});
      least = std::min(least, row[j]);
    }
    if (least > limit) return limit + 1;
  }
  return std::min(row[b.size()], limit + 1);
}

std::string_view first_code_point(std::string_view text) {
  std::size_t n = 1;
  while (n < text.size() && is_continuation(text[n])) ++n;
  return text.substr(0, n);
}

}  // namespace

std::uint32_t edit_distance(std::string_view a, std::string_view b, std::uint32_t limit) {
  return distance_of(code_points(a), code_points(b), limit);
}

Resembling::Resembling(std::string word, std::uint32_t max_distance, bool is_prefix)
    : word_(std::move(word)), points_(code_points(word_)), is_prefix_(is_prefix) {
  const auto n = static_cast<std::uint32_t>(points_.size());
  max_distance_ = std::min(max_distance, (std::max(1U, n) - 1) / 3);
}

std::string_view Resembling::start() const {
  return max_distance_ == 0 || word_.empty() ? std::string_view(word_) : first_code_point(word_);
}

std::optional<std::uint32_t> Resembling::distance_to(std::string_view other) const {
  if (other == word_ || (is_prefix_ && other.starts_with(word_))) return 0;
  if (max_distance_ == 0 || !other.starts_with(start())) return std::nullopt;
  // A code point has at most 4 bytes.
  if (other.size() > word_.size() + std::size_t{4} * max_distance_) return std::nullopt;
  const std::uint32_t distance = distance_of(points_, code_points(other), max_distance_);
  if (distance > max_distance_) return std::nullopt;
  return distance;
}

}  // namespace quiver::payload
