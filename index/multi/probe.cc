#include "index/multi/probe.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include "index/multi/probe_sample.h"
#include "index/parallel.h"
#include "kernels/kernels.h"

namespace quiver::index::multi {
namespace {

/// Documents that are encoded and scored together, but for long ones.
constexpr std::size_t kBatch = 64;
/// The numbers of candidates of the table.
constexpr std::uint32_t kCandidates[] = {20, 50, 100, 200, 500};
/// Recorded queries to try stages with, of which fewer tell less than documents do.
constexpr std::size_t kLeastTried = 30;
/// A search looks at more candidates than suffice on the sample: its queries may be others, and its
/// vectors are coded.
constexpr double kMargin = 2.5;

/// Recorded queries: some to fit to, others to try stages with.
struct Asked {
  std::vector<std::vector<float>> fitted;
  std::vector<std::vector<float>> tried;
};

/// All are fitted to where they are too few for both. Of many, more are fitted to.
Asked asked_of(const QuerySample* queries, std::uint32_t dim) {
  Asked asked;
  if (queries == nullptr || queries->dim != dim) return asked;
  for (const auto& tokens : queries->queries) {
    if (tokens.empty()) continue;
    const bool is_tried =
        asked.fitted.size() > asked.tried.size() && asked.tried.size() < ProbeSample::kMostQueries;
    (is_tried ? asked.tried : asked.fitted).push_back(tokens);
  }
  if (asked.tried.size() < kLeastTried) {
    std::move(asked.tried.begin(), asked.tried.end(), std::back_inserter(asked.fitted));
    asked.tried.clear();
  }
  return asked;
}

/// What a stage makes of the sample.
ScoreTable stage_scores(const TokenSource& tokens, const ProbeSample& sample,
                        const encoders::SetEncoder& encoder, const BuildContext& context) {
  const auto& kernel = kernels().dense(Similarity::kDot, DType::kF32);
  const std::size_t dim = encoder.dim();
  const auto queries = sample.queries();
  std::vector<float> vectors(queries.size() * dim);
  for (std::size_t q = 0; q < queries.size(); ++q) {
    const auto& values = queries[q].tokens;
    encoder.encode_query({values.data(), values.size() / tokens.dim()}, vectors.data() + q * dim);
  }
  ScoreTable scores(queries.size(), std::vector<float>(sample.rows().size()));
  for_each(context, (sample.rows().size() + kBatch - 1) / kBatch, [&](std::size_t batch) {
    std::size_t first = batch * kBatch;
    const auto some = sample.rows().subspan(first, std::min(kBatch, sample.rows().size() - first));
    std::vector<float> documents;
    for_some_rows(tokens, some, [&](std::span<const std::uint32_t> rows) {
      if (context.cancel.poll()) return;
      documents.resize(rows.size() * dim);
      encoder.encode_documents(TokenSets(tokens, rows).sets(), documents.data());
      for (std::size_t q = 0; q < queries.size(); ++q) {
        kernel.many(vectors.data() + q * dim, static_cast<std::uint32_t>(dim),
                    reinterpret_cast<const std::byte*>(documents.data()), dim * sizeof(float),
                    rows.size(), scores[q].data() + first);
      }
      first += rows.size();
    });
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
         ProbeSample::kQueryTokens * products * stage.token_dim * kProduct;
}

}  // namespace

Result<Choice> choose_stage(const FieldColumn& column, const TokenCodes& codes,
                            const BuildParams& params, const BuildContext& context) {
  const TokenSource tokens(column);
  const double per_row = tokens.tokens_per_row();
  const Shape shape{tokens.dim(), per_row, column.n_present};
  const double token_bytes = per_row * static_cast<double>(codes.codec().token_bytes());
  const Asked asked = asked_of(context.queries, tokens.dim());
  ProbeSample sample(column, asked.tried, context.seed);
  if (sample.is_telling()) QV_TRY(sample.find_best(codes, context));
  Choice choice;
  double least = 0;
  for (const StageKind kind : stages_to_try(params, column.n_present, sample.is_telling())) {
    const auto facts = stage_facts(kind, params, shape, context.seed);
    QV_TRY(auto stage, make_stage(facts, column, asked.fitted, context.cancel));
    double n_enough = choice.facts.usual_candidates;
    if (sample.is_telling()) {
      const auto places = sample.places(stage_scores(tokens, sample, *stage.encoder, context));
      QV_TRY(context.cancel.check());
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
