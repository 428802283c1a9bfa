#include "index/multi/probe.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "encoders/random_bits.h"
#include "index/ivf/parallel.h"
#include "index/stored_rows.h"
#include "kernels/kernels.h"

namespace quiver::index::multi {
namespace {

constexpr std::size_t kRows = 8192;
constexpr std::size_t kQueries = 100;
constexpr std::size_t kQueryTokens = 16;
constexpr std::size_t kTop = 10;
/// Documents that are encoded and scored together.
constexpr std::size_t kBatch = 64;
/// The numbers of candidates of the table.
constexpr std::uint32_t kCandidates[] = {20, 50, 100, 200, 500};
/// Recorded queries, of which fewer tell less than documents do.
constexpr std::size_t kLeastAsked = 30;
constexpr std::uint32_t kNoRow = std::numeric_limits<std::uint32_t>::max();
/// Where too few documents are sampled, nothing can be told.
constexpr std::size_t kLeastRows = 200;
/// A search looks at more candidates than suffice on the sample: its queries may be others, and its
/// vectors are coded.
constexpr double kMargin = 2.5;

struct SampleQuery {
  std::uint32_t row = 0;  ///< whose tokens they are; kNoRow: of none
  std::vector<float> tokens;
  std::size_t n_tokens = 0;
};

/// Scores `[queries, rows]` of one stage or of MaxSim.
using ScoreTable = std::vector<std::vector<float>>;

/// Sampled rows and queries, and what is best for these.
class Sample {
 public:
  Sample(const FieldColumn& column, const QuerySample& asked, std::uint64_t seed)
      : column_(column) {
    std::vector<std::uint32_t> present;
    for (std::uint32_t row = 0; row < column.n_rows; ++row) {
      if (column.present[row] != 0) present.push_back(row);
    }
    draw(present, seed);
    n_present_ = present.size();
    if (asked.queries.size() < kLeastAsked) return;
    queries_.clear();
    for (const auto& tokens : asked.queries) {
      queries_.push_back({kNoRow, tokens, tokens.size() / column.schema.dim});
    }
  }

  [[nodiscard]] std::span<const std::uint32_t> rows() const { return rows_; }
  [[nodiscard]] std::span<const SampleQuery> queries() const { return queries_; }
  /// How many rows there are for each that was sampled.
  [[nodiscard]] double share() const {
    return static_cast<double>(rows_.size()) /
           static_cast<double>(std::max<std::size_t>(1, n_present_));
  }

  void find_best(const TokenCodes& codes, const BuildContext& context) {
    best_.resize(queries_.size());
    ivf::for_each(context, queries_.size(), [&](std::size_t q) {
      TokenQuery query;
      query.set(codes.codec(), queries_[q].tokens);
      std::vector<float> scores(rows_.size());
      if (!codes.score(query, rows_, context.cancel, scores.data())) return;
      best_[q] = top(scores, queries_[q].row);
    });
  }

  /// The place of each of the best rows of every query in the order of a stage's scores, ascending.
  [[nodiscard]] std::vector<std::uint32_t> places(const ScoreTable& scores) const {
    std::vector<std::uint32_t> places;
    for (std::size_t q = 0; q < queries_.size(); ++q) {
      for (const std::uint32_t i : best_[q]) {
        std::uint32_t n_better = 0;
        for (std::size_t j = 0; j < rows_.size(); ++j) {
          n_better += scores[q][j] > scores[q][i] && rows_[j] != queries_[q].row ? 1 : 0;
        }
        places.push_back(n_better + 1);
      }
    }
    std::sort(places.begin(), places.end());
    return places;
  }

 private:
  void draw(std::vector<std::uint32_t> present, std::uint64_t seed) {
    const std::size_t n = std::min(kRows, present.size());
    for (std::size_t i = 0; i < n; ++i) {
      const std::size_t left = present.size() - i;
      std::swap(present[i], present[i + encoders::random_bits(seed, i) % left]);
    }
    rows_.assign(present.begin(), present.begin() + static_cast<std::ptrdiff_t>(n));
    for (std::size_t q = 0; q < std::min(kQueries, n); ++q) add_query(rows_[q], seed + q);
    std::sort(rows_.begin(), rows_.end());
  }

  void add_query(std::uint32_t row, std::uint64_t seed) {
    const std::uint32_t dim = column_.schema.dim;
    std::vector<float> tokens;
    const std::size_t n_tokens = read_tokens(column_, row, tokens);
    const std::size_t n = std::min(kQueryTokens, n_tokens);
    const std::size_t first = encoders::random_bits(seed, kRows) % (n_tokens - n + 1);
    const auto begin = tokens.begin() + static_cast<std::ptrdiff_t>(first * dim);
    queries_.push_back({row, {begin, begin + static_cast<std::ptrdiff_t>(n * dim)}, n});
  }

  /// Numbers of the best rows but `own`.
  [[nodiscard]] std::vector<std::uint32_t> top(const std::vector<float>& scores,
                                               std::uint32_t own) const {
    std::vector<std::uint32_t> order;
    for (std::uint32_t i = 0; i < rows_.size(); ++i) {
      if (rows_[i] != own) order.push_back(i);
    }
    const std::size_t n = std::min(kTop, order.size());
    std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(n), order.end(),
                      [&](std::uint32_t a, std::uint32_t b) {
                        return scores[a] != scores[b] ? scores[a] > scores[b] : a < b;
                      });
    order.resize(n);
    return order;
  }

  const FieldColumn& column_;
  std::size_t n_present_ = 0;
  std::vector<std::uint32_t> rows_;
  std::vector<SampleQuery> queries_;
  std::vector<std::vector<std::uint32_t>> best_;
};

/// Recorded queries of the field's dimension; none if there are none.
QuerySample usable(const QuerySample* queries, std::uint32_t dim) {
  QuerySample sample{dim, {}};
  if (queries != nullptr && queries->dim == dim) sample.queries = queries->queries;
  std::erase_if(sample.queries, [](const auto& tokens) { return tokens.empty(); });
  return sample;
}

/// Queries to fit to, and up to `kQueries` others to try stages with.
std::pair<QuerySample, QuerySample> halves(const QuerySample& all) {
  QuerySample fitted{all.dim, {}};
  QuerySample tried{all.dim, {}};
  for (std::size_t i = 0; i < all.queries.size(); ++i) {
    const bool is_tried = i % 2 == 0 && tried.queries.size() < kQueries;
    (is_tried ? tried : fitted).queries.push_back(all.queries[i]);
  }
  return {std::move(fitted), std::move(tried)};
}

/// What a stage makes of the sample.
ScoreTable stage_scores(const FieldColumn& column, const Sample& sample,
                        const encoders::SetEncoder& encoder, const BuildContext& context) {
  const auto& kernel = kernels().dense(Similarity::kDot, DType::kF32);
  const std::size_t dim = encoder.dim();
  const auto queries = sample.queries();
  std::vector<float> vectors(queries.size() * dim);
  for (std::size_t q = 0; q < queries.size(); ++q) {
    encoder.encode_query({queries[q].tokens.data(), queries[q].n_tokens}, vectors.data() + q * dim);
  }
  ScoreTable scores(queries.size(), std::vector<float>(sample.rows().size()));
  ivf::for_each(context, (sample.rows().size() + kBatch - 1) / kBatch, [&](std::size_t batch) {
    const std::size_t first = batch * kBatch;
    const auto rows = sample.rows().subspan(first, std::min(kBatch, sample.rows().size() - first));
    std::vector<std::vector<float>> tokens(rows.size());
    std::vector<encoders::TokenSet> sets;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const std::size_t n = read_tokens(column, rows[i], tokens[i]);
      sets.push_back({tokens[i].data(), n});
    }
    std::vector<float> documents(rows.size() * dim);
    encoder.encode_documents(sets, documents.data());
    for (std::size_t q = 0; q < queries.size(); ++q) {
      kernel.many(vectors.data() + q * dim, static_cast<std::uint32_t>(dim),
                  reinterpret_cast<const std::byte*>(documents.data()), dim * sizeof(float),
                  rows.size(), scores[q].data() + first);
    }
  });
  return scores;
}

/// Nothing can be fitted to no document, and few do not tell one stage from another.
std::vector<StageKind> stages_to_try(const BuildParams& params, std::uint32_t n_present,
                                     bool is_telling) {
  std::vector<StageKind> stages;
  for (const StageKind kind : {StageKind::kMean, StageKind::kFde, StageKind::kFeatures}) {
    const bool is_wanted = params.stage == "auto" ? is_telling : params.stage == to_string(kind);
    if (is_wanted && n_present != 0) stages.push_back(kind);
  }
  return stages.empty() ? std::vector{StageKind::kMean} : stages;
}

/// Candidates that are enough for this share of the best.
std::uint32_t enough(std::span<const std::uint32_t> places, double share) {
  const auto n = static_cast<double>(places.size());
  const auto at = static_cast<std::size_t>(std::clamp(std::ceil(n * share) - 1, 0.0, n - 1));
  return places[at];
}

void add_rows(const StageFacts& stage, std::span<const std::uint32_t> places,
              std::vector<ProbeRow>& table) {
  for (const std::uint32_t n : kCandidates) {
    const auto found = std::upper_bound(places.begin(), places.end(), n) - places.begin();
    const float recall = static_cast<float>(found) / static_cast<float>(places.size());
    table.push_back({stage.kind, stage.dim, n, recall});
  }
}

/// Nanoseconds that a search takes, about: of a scan of all codes, of the query's vector, of
/// candidates' tokens.
double search_cost(const StageFacts& stage, double n_rows, double n_candidates,
                   double token_bytes) {
  constexpr double kScanned = 0.04;   // a byte of codes
  constexpr double kCandidate = 100;  // a candidate, to find it in memory and refine it
  constexpr double kTokenByte = 0.1;
  constexpr double kProduct = 0.02;
  const double products =
      stage.kind == StageKind::kFeatures ? stage.dim : stage.repetitions * (stage.planes + 1.0);
  return n_rows * stage.dim / 8 * kScanned +
         n_candidates * (kCandidate + token_bytes * kTokenByte) +
         kQueryTokens * products * stage.token_dim * kProduct;
}

}  // namespace

Result<Choice> choose_stage(const FieldColumn& column, const TokenCodes& tokens,
                            const BuildParams& params, const BuildContext& context) {
  const double per_row = static_cast<double>(column.multi().offsets.span().back()) /
                         std::max(1.0, 1.0 * column.n_present);
  const Shape shape{column.schema.dim, per_row, column.n_present};
  const double token_bytes = per_row * static_cast<double>(tokens.codec().token_bytes());
  const QuerySample asked = usable(context.queries, column.schema.dim);
  const auto [fitted, tried] = halves(asked);
  Sample sample(column, tried, context.seed);
  const bool is_telling = sample.rows().size() >= kLeastRows;
  if (is_telling) sample.find_best(tokens, context);
  QV_TRY(context.cancel.check());
  Choice choice;
  double least = 0;
  for (const StageKind kind : stages_to_try(params, column.n_present, is_telling)) {
    QV_TRY(context.cancel.check());
    const auto facts = stage_facts(kind, params, shape, context.seed);
    QV_TRY(auto stage, make_stage(facts, column, &fitted));
    double n_enough = choice.facts.usual_candidates;
    if (is_telling) {
      const auto places = sample.places(stage_scores(column, sample, *stage.encoder, context));
      add_rows(facts, places, choice.probe);
      n_enough =
          kMargin * enough(places, params.target) / std::sqrt(std::max(1e-9, sample.share()));
    }
    const double cost = search_cost(facts, column.n_present, n_enough, token_bytes);
    if (choice.stage.encoder != nullptr && cost >= least) continue;
    least = cost;
    choice.stage = std::move(stage);
    choice.facts.stage = facts;
    choice.facts.usual_candidates = static_cast<std::uint32_t>(std::clamp(n_enough, 40.0, 5000.0));
  }
  return choice;
}

}  // namespace quiver::index::multi
