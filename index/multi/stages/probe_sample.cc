#include "index/multi/stages/probe_sample.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "encoders/transforms/random_bits.h"
#include "index/parallel.h"
#include "index/stored_rows.h"

namespace quiver::index::multi {
namespace {

constexpr std::size_t kWantedRows = 10;
constexpr std::uint32_t kNoRow = std::numeric_limits<std::uint32_t>::max();

}  // namespace

ProbeSample::ProbeSample(const FieldColumn& column, std::span<const std::vector<float>> asked,
                         std::uint64_t seed)
    : n_present_(column.n_present) {
  draw_rows(list_present_rows(column), seed);
  for (const auto& tokens : asked) queries_.push_back({kNoRow, tokens});
  if (queries_.empty()) {
    const TokenSource tokens(column);
    const std::size_t n = std::min(kMaxQueries, rows_.size());
    for (std::size_t q = 0; q < n; ++q) add_query(tokens, rows_[q], seed + q);
  }
  std::sort(rows_.begin(), rows_.end());
}

void ProbeSample::draw_rows(std::vector<std::uint32_t> present, std::uint64_t seed) {
  const std::size_t n = std::min(kMaxRows, present.size());
  for (std::size_t i = 0; i < n; ++i) {
    const std::size_t left = present.size() - i;
    std::swap(present[i], present[i + encoders::random_bits(seed, i) % left]);
  }
  present.resize(n);
  rows_ = std::move(present);
}

void ProbeSample::add_query(const TokenSource& tokens, std::uint32_t row, std::uint64_t seed) {
  const std::uint64_t n_tokens = tokens.n_tokens(row);
  const std::size_t n = std::min<std::uint64_t>(kQueryTokens, n_tokens);
  const std::uint64_t first = encoders::random_bits(seed, kMaxRows) % (n_tokens - n + 1);
  ProbeQuery query{row, std::vector<float>(n * tokens.dim())};
  for (std::size_t t = 0; t < n; ++t) {
    tokens.read(tokens.offsets()[row] + first + t, query.tokens.data() + t * tokens.dim());
  }
  queries_.push_back(std::move(query));
}

double ProbeSample::share() const {
  return static_cast<double>(rows_.size()) /
         static_cast<double>(std::max<std::size_t>(1, n_present_));
}

Result<> ProbeSample::find_best(const TokenCodes& codes, const BuildContext& context) {
  best_.resize(queries_.size());
  for_each(context, queries_.size(), [&](std::size_t q) {
    TokenQuery query;
    query.set(codes.codec(), queries_[q].tokens);
    std::vector<float> scores(rows_.size());
    if (!codes.score(query, rows_, context.cancel, scores.data()))
      return;  // the error is returned below
    best_[q] = best_of(scores, queries_[q].row);
  });
  return context.cancel.check();
}

/// Numbers of the best rows, without `own`.
std::vector<std::uint32_t> ProbeSample::best_of(const std::vector<float>& scores,
                                                std::uint32_t own) const {
  std::vector<std::uint32_t> order;
  for (std::uint32_t i = 0; i < rows_.size(); ++i) {
    if (rows_[i] != own) order.push_back(i);
  }
  const std::size_t n = std::min(kWantedRows, order.size());
  std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(n), order.end(),
                    [&](std::uint32_t a, std::uint32_t b) {
                      return scores[a] != scores[b] ? scores[a] > scores[b] : a < b;
                    });
  order.resize(n);
  return order;
}

std::vector<std::uint32_t> ProbeSample::places(const ScoreTable& scores) const {
  std::vector<std::uint32_t> places;
  for (std::size_t q = 0; q < queries_.size(); ++q) {
    for (const std::uint32_t i : best_[q]) {
      std::uint32_t place = 1;
      for (std::size_t j = 0; j < rows_.size(); ++j) {
        if (j == i || rows_[j] == queries_[q].row) continue;
        place += scores[q][j] < scores[q][i] ? 0 : 1;
      }
      places.push_back(place);
    }
  }
  std::sort(places.begin(), places.end());
  return places;
}

}  // namespace quiver::index::multi
