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

constexpr std::uint32_t kWantedDocuments = 10;  ///< best documents that a stage must find
/// Documents encoded and scored together, except long ones.
constexpr std::size_t kDocumentsPerTask = 64;
/// Numbers of candidates in the table.
constexpr std::uint32_t kProbedCandidateCounts[] = {20, 50, 100, 200, 500};
/// Smallest number of recorded queries for the probe: fewer measure less than documents do.
constexpr std::size_t kMinRecordedQueries = 30;
/// A search compares this many times the candidates that suffice on the sample: its queries may
/// differ, and its vectors are coded.
constexpr double kCandidatesMargin = 2.5;
/// The same for candidates chosen by signs, which cost less.
constexpr double kSignsMargin = 4;

/// Recorded queries: some for fitting, others for the probe.
struct Asked {
  std::vector<std::vector<float>> fitted;
  std::vector<std::vector<float>> tried;
};

/// Splits recorded queries into those for fitting and those for the probe. If there are too few for
/// both, all are for fitting; if there are many, most are.
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

/// Scores of the sample by a stage.
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

/// Stages to try. Without documents nothing can be fitted, and few do not tell stages apart.
std::vector<StageKind> stages_to_try(const MultiBuildParams& params, std::uint32_t n_present,
                                     bool is_conclusive) {
  std::vector<StageKind> stages;
  for (const StageKind kind : {StageKind::kMean, StageKind::kFde, StageKind::kFeatures}) {
    const bool is_wanted = params.stage == "auto" ? is_conclusive : params.stage == to_string(kind);
    if (is_wanted && n_present != 0) stages.push_back(kind);
  }
  return stages.empty() ? std::vector{StageKind::kMean} : stages;
}

/// Number of candidates that holds this share of the best. `places`: ascending places of the best.
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

/// Largest numbers of rows that a search compares.
struct Numbers {
  std::uint32_t pool = 0;  ///< by signs; 0: no signs
  std::uint32_t candidates = MultiFacts().usual_candidates;
};

/// Cost of a row in ns, for a query of `kQueryTokens` tokens.
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

/// Cost of encoding the query, in ns.
double encoding_cost(const StageFacts& stage) {
  constexpr double kTokens = ProbeSample::kQueryTokens;
  if (stage.kind == StageKind::kFeatures) {
    return stage.n_features * (kTokens * cost::kFeatureNs + stage.dim * cost::kFeatureMapNs);
  }
  return kTokens * stage.repetitions * (stage.planes + 1.0) * stage.token_dim * cost::kFdeProductNs;
}

/// Cost of a search, in ns.
double search_cost(const StageFacts& stage, double scanned_bytes, const Numbers& numbers,
                   const RowCosts& costs) {
  return encoding_cost(stage) + scanned_bytes * cost::kVectorCodeByteNs +
         numbers.pool * costs.signs + numbers.candidates * costs.codes;
}

/// Measures stages and signs on a sample.
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
    if (sample_.is_conclusive()) QV_TRY(sample_.find_best(codes_, context_));
    if (sample_.is_conclusive() && signs_ != nullptr) QV_TRY(try_signs());
    if (sample_.is_conclusive()) describe_sample();
    const FieldShape shape{tokens_.dim(), tokens_.tokens_per_row(), column_.n_present};
    const auto stages = stages_to_try(params_, column_.n_present, sample_.is_conclusive());
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
  /// Number of candidates among all rows, from the number that suffices on the sample.
  [[nodiscard]] std::uint32_t of_all(double n_of_sample, double margin) const {
    const double n = margin * n_of_sample / std::sqrt(std::max(1e-9, sample_.share()));
    return static_cast<std::uint32_t>(std::clamp(n, 40.0, 5000.0));
  }

  /// A stage fitted to documents alone needs more candidates for real queries than the sample's
  /// queries show: those are documents, too.
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
        return;  // the error is returned below
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
    if (sample_.is_conclusive()) {
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

  /// `without`, or numbers with signs if they make a search cheaper.
  [[nodiscard]] Numbers with_signs(const StageFacts& facts, const Numbers& without) const {
    if (candidates_by_signs_ == 0 || candidates_by_signs_ >= without.candidates) return without;
    const Numbers with{without.candidates, candidates_by_signs_};
    return cost_of(facts, with) < cost_of(facts, without) ? with : without;
  }

  /// True for features that cannot win even at their best: fitting them takes longer than the rest
  /// of a small build. One vector per document needs 3 to 15 times as many candidates as signs of
  /// all tokens (docs/decisions/0022).
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
  std::uint32_t enough_by_signs_ =
      0;  ///< candidates by signs that suffice on the sample; 0: unknown
  std::uint32_t candidates_by_signs_ = 0;  ///< the same among all documents
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
