#include "index/multi/stages/stage.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "encoders/fde/fde_encoder.h"
#include "encoders/features/features_encoder.h"
#include "encoders/mean_encoder.h"
#include "index/multi/tokens/token_source.h"
#include "index/stored_rows.h"

namespace quiver::index::multi {
namespace {

using encoders::FdeEncoder;
using encoders::FdeParams;
using encoders::FeaturesEncoder;
using encoders::FeaturesParams;
using encoders::MeanEncoder;
using encoders::RandomFeatures;

constexpr std::uint32_t kDefaultFeatures = 2048;
/// More planes find more, but scanning the larger vectors costs more than that saves:
/// docs/decisions/0020.
constexpr std::uint32_t kMaxPlanes = 3;
/// Sampled tokens per feature, for the fit.
constexpr std::uint64_t kSampleTokensPerFeature = 4;
/// Features per dimension that is kept: a quarter finds nearly as much as all.
constexpr std::uint32_t kFeaturesPerDim = 4;
/// Documents per dimension that choose the dimensions to keep.
constexpr std::uint64_t kRowsPerDim = 8;

FdeParams fde_params(const StageFacts& facts) {
  FdeParams params;
  params.repetitions = facts.repetitions;
  params.planes = facts.planes;
  params.projected_dim = facts.projection;
  params.renormalize = facts.renormalisation;
  params.final_dim = facts.final_dim;
  params.seed = facts.seed;
  return params;
}

FeaturesParams features_params(const StageFacts& facts) {
  FeaturesParams params;
  params.n_features = facts.n_features;
  params.n_dims = facts.dim == facts.n_features ? 0 : facts.dim;
  return params;
}

void set_fde(const MultiBuildParams& params, double tokens_per_row, StageFacts& facts) {
  const FdeParams usual = encoders::fde_params_for(facts.token_dim, tokens_per_row);
  facts.version = FdeEncoder::kVersion;
  facts.repetitions = params.repetitions != 0 ? params.repetitions : usual.repetitions;
  facts.planes = params.planes != 0 ? params.planes : std::min(usual.planes, kMaxPlanes);
  facts.projection = params.projection != 0 ? params.projection : usual.projected_dim;
  if (facts.projection > facts.token_dim) facts.projection = 0;
  facts.renormalisation = static_cast<float>(params.renormalisation);
  facts.final_dim = params.final_dim;
  const std::uint32_t block = facts.projection != 0 ? facts.projection : facts.token_dim;
  const std::uint32_t whole = facts.repetitions * (1U << facts.planes) * block;
  facts.dim = facts.final_dim != 0 ? facts.final_dim : whole;
}

/// The number of features that the documents suffice for.
std::uint32_t features_for(std::uint32_t wanted, std::uint32_t n_rows) {
  if (wanted != 0) return wanted;
  std::uint32_t n = kDefaultFeatures;
  while (n > 128 && n / kFeaturesPerDim * kRowsPerDim > n_rows) n /= 2;
  return n;
}

/// Dimensions to keep; all, if documents are too few to choose.
std::uint32_t dims_for(std::uint32_t n_features, std::uint32_t n_rows) {
  const std::uint32_t dims = std::max(32U, n_features / kFeaturesPerDim / 32 * 32);
  return dims * kRowsPerDim <= n_rows ? dims : n_features;
}

/// A sample of tokens: at most half from queries, the rest from documents.
std::vector<float> sample_tokens(const TokenSource& tokens, const StageFacts& facts,
                                 std::span<const std::vector<float>> queries) {
  const std::uint64_t n_wanted = kSampleTokensPerFeature * facts.n_features;
  const std::size_t n_most = n_wanted / 2 * facts.token_dim;
  std::vector<float> sample;
  for (const auto& query : queries) {
    if (sample.size() + query.size() > n_most) break;
    sample.insert(sample.end(), query.begin(), query.end());
  }
  const auto numbers = encoders::sample_numbers(
      tokens.n_tokens(), n_wanted - sample.size() / facts.token_dim, facts.seed);
  for (const std::uint64_t number : numbers) {
    sample.resize(sample.size() + facts.token_dim);
    tokens.read(number, sample.data() + sample.size() - facts.token_dim);
  }
  return sample;
}

/// Documents that choose the dimensions to keep. Borrows `tokens`.
encoders::FitDocuments sample_documents(const FieldColumn& column, const TokenSource& tokens,
                                        const StageFacts& facts) {
  const auto present = list_present_rows(column);
  std::vector<std::uint32_t> rows;
  for (const std::uint64_t number :
       encoders::sample_numbers(present.size(), kRowsPerDim * facts.dim, facts.seed)) {
    rows.push_back(present[number]);
  }
  encoders::FitDocuments documents;
  documents.n = rows.size();
  documents.read = [&tokens, rows = std::move(rows)](std::size_t first, std::size_t n,
                                                     const auto& use) {
    for_some_rows(tokens, std::span(rows).subspan(first, n),
                  [&](auto some) { use(TokenSets(tokens, some).sets()); });
  };
  return documents;
}

template <class Encoder>
std::unique_ptr<const encoders::SetEncoder> on_heap(Encoder encoder) {
  return std::make_unique<const Encoder>(std::move(encoder));
}

}  // namespace

std::string_view to_string(StageKind kind) {
  switch (kind) {
    case StageKind::kMean:
      return "mean";
    case StageKind::kFde:
      return "fde";
    case StageKind::kFeatures:
      return "features";
  }
  return "unknown";
}

Result<StageKind> parse_stage(std::string_view name) {
  for (const auto kind : {StageKind::kMean, StageKind::kFde, StageKind::kFeatures}) {
    if (name == to_string(kind)) return kind;
  }
  return fail(Code::kInvalidArgument,
              fmt::format("stage is \"{}\", must be auto, mean, fde or features", name));
}

StageFacts stage_facts(StageKind kind, const MultiBuildParams& params, const FieldShape& shape,
                       std::uint64_t seed) {
  StageFacts facts;
  facts.kind = kind;
  facts.token_dim = shape.token_dim;
  facts.seed = seed;
  switch (kind) {
    case StageKind::kMean:
      facts.dim = shape.token_dim;
      break;
    case StageKind::kFde:
      set_fde(params, shape.tokens_per_row, facts);
      break;
    case StageKind::kFeatures:
      facts.version = RandomFeatures::kVersion;
      facts.n_features = features_for(params.features, shape.n_rows);
      facts.dim = dims_for(facts.n_features, shape.n_rows);
      break;
  }
  return facts;
}

std::uint32_t scanned_bits(const MultiBuildParams& params, std::uint32_t dim) {
  if (params.bits != 0) return params.bits;
  return dim <= 128 ? 4 : dim <= 1024 ? 2 : 1;
}

bool are_possible(const StageFacts& facts, std::uint32_t token_dim) {
  constexpr std::uint32_t kMaxFeatures = 8192;
  if (facts.token_dim != token_dim) return false;
  switch (facts.kind) {
    case StageKind::kMean:
      return facts.version == 0;
    case StageKind::kFde:
      return facts.version == FdeEncoder::kVersion;
    case StageKind::kFeatures:
      return facts.version == RandomFeatures::kVersion && facts.n_features <= kMaxFeatures &&
             facts.dim <= facts.n_features;
  }
  return false;
}

Result<EncoderPtr> query_encoder(const StageFacts& facts, std::span<const std::uint16_t> map) {
  switch (facts.kind) {
    case StageKind::kMean:
      return on_heap(MeanEncoder(facts.token_dim));
    case StageKind::kFde: {
      QV_TRY(auto encoder, FdeEncoder::make(facts.token_dim, fde_params(facts)));
      return EncoderPtr(std::move(encoder));
    }
    case StageKind::kFeatures: {
      QV_TRY(auto encoder, FeaturesEncoder::for_queries(facts.token_dim, features_params(facts),
                                                        facts.seed, {map.begin(), map.end()}));
      return on_heap(std::move(encoder));
    }
  }
  return fail(Code::kDataLoss,
              fmt::format("stage {} is none that is known", static_cast<unsigned>(facts.kind)));
}

Result<Stage> make_stage(const StageFacts& facts, const FieldColumn& column,
                         std::span<const std::vector<float>> queries, const Cancel& cancel) {
  Stage stage;
  if (facts.kind != StageKind::kFeatures) {
    QV_TRY(stage.encoder, query_encoder(facts, {}));
    return stage;
  }
  const TokenSource tokens(column);
  const auto sample = sample_tokens(tokens, facts, queries);
  const bool keeps_all = facts.dim == facts.n_features;
  QV_TRY(auto encoder,
         FeaturesEncoder::fit(facts.token_dim, features_params(facts), facts.seed,
                              {.tokens = sample,
                               .documents = keeps_all ? encoders::FitDocuments()
                                                      : sample_documents(column, tokens, facts),
                               .cancel = &cancel}));
  stage.map = encoder.map();
  stage.encoder = on_heap(std::move(encoder));
  return stage;
}

}  // namespace quiver::index::multi
