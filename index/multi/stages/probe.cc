#include "index/multi/stages/probe.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include "index/cost.h"
#include "index/multi/stages/probe_sample.h"
#include "index/parallel.h"
#include "kernels/kernels.h"

namespace quiver::index::multi {
namespace {

constexpr std::uint32_t kWantedDocuments = 10;  ///< that are to be found
/// Documents that are encoded and scored together, but for long ones.
constexpr std::size_t kDocumentsPerTask = 64;
/// The numbers of candidates of the table.
constexpr std::uint32_t kProbedCandidateCounts[] = {20, 50, 100, 200, 500};
/// Recorded queries to try stages with, of which fewer tell less than documents do.
constexpr std::size_t kMinRecordedQueries = 30;
/// A search looks at more candidates than suffice on the sample: its queries may be others, and its
/// vectors are coded.
constexpr double kCandidatesMargin = 2.5;
/// Those that signs leave cost less to be sure of.
constexpr double kSignsMargin = 4;

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
        asked.fitted.size() > asked.tried.size() && asked.tried.size() < ProbeSample::kMaxQueries;
    (is_tried ? asked.tried : asked.fitted).push_back(tokens);
  }
  if (asked.tried.size() < kMinRecordedQueries) {
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
  for_each(context, (sample.rows().size() + kDocumentsPerTask - 1) / kDocumentsPerTask,
           [&](std::size_t batch) {
             std::size_t first = batch * kDocumentsPerTask;
             const auto some = sample.rows().subspan(
                 first, std::min(kDocumentsPerTask, sample.rows().size() - first));
             std::vector<float> documents;
             for_some_rows(tokens, some, [&](std::span<const std::uint32_t> rows) {
               if (context.cancel.poll()) return;
               documents.resize(rows.size() * dim);
               encoder.encode_documents(TokenSets(tokens, rows).sets(), documents.data());
               for (std::size_t q = 0; q < queries.size(); ++q) {
                 kernel.many(vectors.data() + q * dim, static_cast<std::uint32_t>(dim),
                             reinterpret_cast<const std::byte*>(documents.data()),
                             dim * sizeof(float), rows.size(), scores[q].data() + first);
               }
               first += rows.size();
             });
           });
  return scores;
}

/// Nothing can be fitted to no document, and few do not tell one stage from another.
std::vector<StageKind> stages_to_try(const MultiBuildParams& params, std::uint32_t n_present,
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
  for (const std::uint32_t n : kProbedCandidateCounts) {
    const auto found = std::upper_bound(places.begin(), places.end(), n) - places.begin();
    const float recall = static_cast<float>(found) / static_cast<float>(places.size());
    table.push_back({stage.kind, stage.dim, n, recall});
  }
}

/// Rows that a search compares at most, of each kind.
struct Numbers {
  std::uint32_t pool = 0;  ///< by signs; 0: there are none
  std::uint32_t candidates = MultiFacts().usual_candidates;
};

/// What a row takes, in nanoseconds, about, for a query of `kQueryTokens`.
struct RowCosts {
  double signs = 0;
  double codes = 0;
};

RowCosts row_costs(const TokenCodes& codes, const TokenSigns* signs, double tokens_per_row) {
  RowCosts costs;
  costs.codes = cost::kDocumentSeekNs + tokens_per_row *
                                            static_cast<double>(codes.codec().token_bytes()) *
                                            cost::kTokenCodeByteNs;
  if (signs != nullptr) {
    costs.signs = cost::kDocumentSeekNs +
                  tokens_per_row * static_cast<double>(signs->token_bytes()) * cost::kSignByteNs;
  }
  return costs;
}

/// Nanoseconds that the query's vector takes, about.
double encoding_cost(const StageFacts& stage) {
  constexpr double kTokens = ProbeSample::kQueryTokens;
  if (stage.kind == StageKind::kFeatures) {
    return stage.n_features * (kTokens * cost::kFeatureNs + stage.dim * cost::kFeatureMapNs);
  }
  return kTokens * stage.repetitions * (stage.planes + 1.0) * stage.token_dim * cost::kFdeProductNs;
}

/// Nanoseconds that a search takes, about.
double search_cost(const StageFacts& stage, double scanned_bytes, const Numbers& numbers,
                   const RowCosts& costs) {
  return encoding_cost(stage) + scanned_bytes * cost::kVectorCodeByteNs +
         numbers.pool * costs.signs + numbers.candidates * costs.codes;
}

/// Tries stages, and signs, on a sample.
class Prober {
 public:
  Prober(const FieldColumn& column, const TokenCodes& codes, const TokenSigns* signs,
         const MultiBuildParams& params, const BuildContext& context)
      : column_(column),
        tokens_(column),
        codes_(codes),
        signs_(signs),
        params_(params),
        context_(context),
        asked_(asked_of(context.queries, tokens_.dim())),
        sample_(column, asked_.tried, context.seed),
        costs_(row_costs(codes, signs, tokens_.tokens_per_row())) {}

  Result<Choice> choose() {
    if (sample_.is_telling()) QV_TRY(sample_.find_best(codes_, context_));
    if (sample_.is_telling() && signs_ != nullptr) QV_TRY(try_signs());
    if (sample_.is_telling()) describe_sample();
    const FieldShape shape{tokens_.dim(), tokens_.tokens_per_row(), column_.n_present};
    const auto stages = stages_to_try(params_, column_.n_present, sample_.is_telling());
    for (std::size_t i = 0; i < stages.size(); ++i) {
      report(i + 1, stages.size() + 1);
      const StageKind kind = stages[i];
      const auto facts = stage_facts(kind, params_, shape, context_.seed);
      if (is_hopeless(facts)) {
        choice_.probed.left_out |= 1U << static_cast<std::uint32_t>(kind);
        continue;
      }
      QV_TRY(try_stage(facts));
    }
    return std::move(choice_);
  }

 private:
  /// How many rows of all are enough, where so many of the sample are.
  [[nodiscard]] std::uint32_t of_all(double n_of_sample, double margin) const {
    const double n = margin * n_of_sample / std::sqrt(std::max(1e-9, sample_.share()));
    return static_cast<std::uint32_t>(std::clamp(n, 40.0, 5000.0));
  }

  /// Queries are less like what a stage was fitted to if that were documents alone, and the
  /// sample's queries are documents' too.
  [[nodiscard]] double margin_of(StageKind kind) const {
    const bool is_foreign = kind == StageKind::kFeatures && asked_.fitted.empty();
    return is_foreign ? 2 * kCandidatesMargin : kCandidatesMargin;
  }

  void report(std::size_t n_done, std::size_t n_parts) const {
    if (context_.progress) context_.progress(column_.n_rows * n_done / n_parts);
  }

  void describe_sample() {
    choice_.probed.n_documents = static_cast<std::uint32_t>(sample_.rows().size());
    choice_.probed.n_queries = static_cast<std::uint32_t>(sample_.queries().size());
    choice_.probed.are_recorded = asked_.tried.empty() ? 0 : 1;
  }

  Result<> try_signs() {
    const auto queries = sample_.queries();
    ScoreTable scores(queries.size(), std::vector<float>(sample_.rows().size()));
    for_each(context_, queries.size(), [&](std::size_t q) {
      TokenQuery query;
      query.set(codes_.codec(), queries[q].tokens);
      if (!signs_->score(query, sample_.rows(), context_.cancel, scores[q].data()))
        return;  // told below
    });
    QV_TRY(context_.cancel.check());
    const auto places = sample_.places(scores);
    StageFacts facts;
    facts.kind = kBySigns;
    facts.dim = codes_.codec().facts().padded_dim;
    add_rows(facts, places, choice_.probe);
    enough_by_signs_ = enough(places, params_.target);
    candidates_by_signs_ = of_all(enough_by_signs_, kSignsMargin);
    return {};
  }

  Result<> try_stage(const StageFacts& facts) {
    QV_TRY(auto stage, make_stage(facts, column_, asked_.fitted, context_.cancel));
    Numbers numbers;
    if (sample_.is_telling()) {
      const auto places = sample_.places(stage_scores(tokens_, sample_, *stage.encoder, context_));
      QV_TRY(context_.cancel.check());
      add_rows(facts, places, choice_.probe);
      numbers.candidates = of_all(enough(places, params_.target), margin_of(facts.kind));
    }
    numbers = with_signs(facts, numbers);
    if (choice_.stage.encoder != nullptr && cost_of(facts, numbers) >= least_cost_) return {};
    least_cost_ = cost_of(facts, numbers);
    choice_.stage = std::move(stage);
    choice_.facts.stage = facts;
    choice_.facts.usual_candidates = numbers.candidates;
    choice_.facts.usual_pool = numbers.pool;
    return {};
  }

  /// Signs, where they make a search cheaper.
  [[nodiscard]] Numbers with_signs(const StageFacts& facts, const Numbers& without) const {
    if (candidates_by_signs_ == 0 || candidates_by_signs_ >= without.candidates) return without;
    const Numbers with{without.candidates, candidates_by_signs_};
    return cost_of(facts, with) < cost_of(facts, without) ? with : without;
  }

  /// True for features that would not win if they did as well as can be thought: fitting them takes
  /// longer than all the rest of building a small index. One vector a document takes more
  /// candidates to find the best than signs of all its tokens do: three to fifteen times as many
  /// (docs/decisions/0022).
  [[nodiscard]] bool is_hopeless(const StageFacts& facts) const {
    constexpr std::uint32_t kFeatureCandidatesPerSignCandidate = 3;
    if (facts.kind != StageKind::kFeatures || choice_.stage.encoder == nullptr) return false;
    Numbers least;
    least.candidates =
        of_all(std::max(kWantedDocuments, kFeatureCandidatesPerSignCandidate * enough_by_signs_),
               margin_of(facts.kind));
    return cost_of(facts, with_signs(facts, least)) >= least_cost_;
  }

  [[nodiscard]] double cost_of(const StageFacts& facts, const Numbers& numbers) const {
    const double vector_bytes = facts.dim * scanned_bits(params_, facts.dim) / 8.0;
    return search_cost(facts, column_.n_present * vector_bytes, numbers, costs_);
  }

  const FieldColumn& column_;
  TokenSource tokens_;
  const TokenCodes& codes_;
  const TokenSigns* signs_;
  const MultiBuildParams& params_;
  const BuildContext& context_;
  Asked asked_;
  ProbeSample sample_;
  RowCosts costs_;
  std::uint32_t enough_by_signs_ = 0;  ///< of the sample; 0: no signs, or nothing is known of them
  std::uint32_t candidates_by_signs_ = 0;  ///< the same of all documents
  double least_cost_ = 0;
  Choice choice_;
};

}  // namespace

Result<Choice> choose_stage(const FieldColumn& column, const TokenCodes& codes,
                            const TokenSigns* signs, const MultiBuildParams& params,
                            const BuildContext& context) {
  return Prober(column, codes, signs, params, context).choose();
}

}  // namespace quiver::index::multi
