#include "payload/bm25/expansion.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace quiver::payload {
namespace {

bool continues_code_point(char byte) { return (static_cast<unsigned char>(byte) & 0xC0U) == 0x80U; }

/// Each code point as the bytes that encode it. What is not UTF-8 is compared as it is.
std::u32string code_points(std::string_view text) {
  std::u32string points;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if (points.empty() || !continues_code_point(text[i])) {
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

/// Calls `visit(term, number of its rows)` for each term that begins with `start`. The number is 0
/// in a growing column, which counts no rows.
template <class Visit>
void for_each_term(const ColumnView& column, std::string_view start, Visit visit) {
  for (std::uint32_t id = column.sealed ? column.first_term_from(start) : 0; id < column.n_terms();
       ++id) {
    const std::string_view term = column.term(id);
    if (!term.starts_with(start)) {
      if (column.sealed) return;
      continue;
    }
    visit(term, column.sealed ? column.postings(id).size() : 0);
  }
}

std::string_view first_code_point(std::string_view text) {
  std::size_t n = 1;
  while (n < text.size() && continues_code_point(text[n])) ++n;
  return text.substr(0, n);
}

struct Candidate {
  std::uint32_t distance = 0;
  std::uint64_t n_rows = 0;
};

/// What may stand in place of one token.
class Resembling {
 public:
  Resembling(std::string token, std::uint32_t max_distance, bool is_prefix)
      : token_(std::move(token)), points_(code_points(token_)), is_prefix_(is_prefix) {
    const auto n = static_cast<std::uint32_t>(points_.size());
    max_distance_ = std::min(max_distance, (std::max(1U, n) - 1) / 3);
  }

  void collect(const ColumnView& column) {
    if (token_.empty() || (max_distance_ == 0 && !is_prefix_)) return;
    const auto start = max_distance_ == 0 ? std::string_view(token_) : first_code_point(token_);
    for_each_term(column, start, [&](std::string_view term, std::uint64_t n_rows) {
      if (term == token_) return;
      const std::uint32_t distance = distance_to(term);
      if (distance > max_distance_) return;
      Candidate& candidate = candidates_[std::string(term)];
      candidate.distance = distance;
      candidate.n_rows += n_rows;
    });
  }

  /// The best, by distance, then by rows, then by text.
  [[nodiscard]] std::vector<std::pair<std::string, std::uint32_t>> best(std::size_t limit) const {
    std::vector<std::pair<std::string, Candidate>> all(candidates_.begin(), candidates_.end());
    std::stable_sort(all.begin(), all.end(), [](const auto& a, const auto& b) {
      return a.second.distance != b.second.distance ? a.second.distance < b.second.distance
                                                    : a.second.n_rows > b.second.n_rows;
    });
    if (all.size() > limit) all.resize(limit);
    std::vector<std::pair<std::string, std::uint32_t>> words;
    for (const auto& [word, candidate] : all) words.emplace_back(word, candidate.distance);
    return words;
  }
  [[nodiscard]] double share_at(std::uint32_t distance) const {
    return 1 - static_cast<double>(distance) / static_cast<double>(points_.size());
  }

 private:
  [[nodiscard]] std::uint32_t distance_to(std::string_view term) const {
    if (is_prefix_ && term.starts_with(token_)) return 0;
    // A code point has at most 4 bytes.
    if (term.size() > token_.size() + 4 * max_distance_) return max_distance_ + 1;
    return distance_of(points_, code_points(term), max_distance_);
  }

  const std::string token_;
  const std::u32string points_;
  const bool is_prefix_;
  std::uint32_t max_distance_;
  std::map<std::string, Candidate> candidates_;
};

}  // namespace

std::uint32_t edit_distance(std::string_view a, std::string_view b, std::uint32_t limit) {
  return distance_of(code_points(a), code_points(b), limit);
}

void expand(const Expansion& expansion, std::span<const ColumnView> columns, std::size_t last,
            QueryTokens& tokens) {
  const std::size_t n_tokens = tokens.stand_ins.size();
  for (std::size_t i = 0; i < n_tokens; ++i) {
    Resembling resembling(tokens.texts[i], expansion.max_distance,
                          expansion.last_is_prefix && i == last);
    for (const auto& column : columns) resembling.collect(column);
    for (auto& [word, distance] : resembling.best(expansion.max_words)) {
      const std::size_t known = tokens.find(word);
      if (known != QueryTokens::kNone) {  // its score counts once
        tokens.stand_ins[i].push_back(static_cast<std::uint32_t>(known));
        continue;
      }
      tokens.stand_ins[i].push_back(static_cast<std::uint32_t>(tokens.texts.size()));
      tokens.texts.push_back(std::move(word));
      tokens.shares.push_back(tokens.shares[i] * resembling.share_at(distance));
      tokens.origins.push_back(static_cast<std::uint32_t>(i));
    }
  }
}

}  // namespace quiver::payload
