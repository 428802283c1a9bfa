#include "engine/query/stages/example_rows.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "index/exact/searcher.h"

namespace quiver::engine {
namespace {

/// Rows that are scored at a time, and similarities that are kept for them, if examples are many.
constexpr std::size_t kRowsAtOnce = 256;
constexpr std::size_t kSimilaritiesAtOnce = 65'536;

std::size_t rows_at_once(std::size_t n_examples) {
  return std::clamp<std::size_t>(kSimilaritiesAtOnce / std::max<std::size_t>(1, n_examples), 1,
                                 kRowsAtOnce);
}

/// A sparse row without a common index is neither like an example nor unlike it.
void make_finite(std::span<float> similarities) {
  constexpr float kGreatest = std::numeric_limits<float>::max();
  for (float& similarity : similarities) {
    similarity = std::isnan(similarity) ? 0.0F : std::clamp(similarity, -kGreatest, kGreatest);
  }
}

}  // namespace

ExampleRows::ExampleRows(const SearchEnvironment& environment, const ExampleSearch& search,
                         const Segment& segment)
    : environment_(environment),
      search_(search),
      segment_(segment),
      n_at_once_(rows_at_once(search.examples.size())),
      similarities_(search.examples.size() * n_at_once_),
      scores_(kRowsAtOnce) {}

Result<> ExampleRows::score(std::span<const std::uint32_t> rows, std::span<float> scores) {
  const auto& column = segment_.data->fields[search_.field];
  for (std::size_t first = 0; first < rows.size(); first += n_at_once_) {
    if (environment_.cancel.poll()) return environment_.cancel.check();
    const auto block = rows.subspan(first, std::min(n_at_once_, rows.size() - first));
    const auto similarities =
        std::span(similarities_).first(search_.examples.size() * block.size());
    QV_TRY(index::score_rows(search_.examples, column, block, environment_.cancel, similarities));
    make_finite(similarities);
    search_.score.combine({similarities, block.size()}, scores.subspan(first, block.size()));
    n_scored_ += similarities.size();
  }
  return {};
}

Result<> ExampleRows::offer(std::span<const std::uint32_t> rows, index::TopK& out) {
  for (std::size_t first = 0; first < rows.size(); first += kRowsAtOnce) {
    const auto block = rows.subspan(first, std::min(kRowsAtOnce, rows.size() - first));
    QV_TRY(score(block, scores_));
    for (std::size_t i = 0; i < block.size(); ++i) out.offer(scores_[i], block[i]);
  }
  return {};
}

Result<> ExampleRows::offer_allowed(const index::RowFilter& filter, std::uint32_t begin,
                                    std::uint32_t end, index::TopK& out) {
  // In id order no later row is better than a best possible one.
  const bool can_end_early = segment_.data->has_sorted_ids() && out.shared_floor() == nullptr;
  std::vector<std::uint32_t> rows;
  rows.reserve(kRowsAtOnce);
  for (std::uint32_t block = begin / 64; block < filter.n_blocks() && block * 64 < end; ++block) {
    for (std::uint64_t rest = filter.block(block); rest != 0; rest &= rest - 1) {
      rows.push_back(block * 64 + static_cast<std::uint32_t>(std::countr_zero(rest)));
    }
    if (rows.size() + 64 <= kRowsAtOnce) continue;
    QV_TRY(offer(rows, out));
    rows.clear();
    const bool is_full = out.size() == out.k();
    if (can_end_early && is_full && out.threshold() >= search_.score.best_possible()) return {};
  }
  return offer(rows, out);
}

}  // namespace quiver::engine
