#include "engine/query/explain.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <span>
#include <utility>

#include "engine/model/row.h"
#include "engine/query/stages/candidates.h"
#include "engine/query/stages/field_query.h"
#include "index/exact/searcher.h"
#include "index/stored_rows.h"
#include "kernels/kernels.h"

namespace quiver::engine {
namespace {

/// Document tokens that are scored between two polls of `cancel`.
constexpr std::size_t kBlockTokens = 256;
/// Query tokens that share a pass over a block.
constexpr std::size_t kTileTokens = 8;
/// Products of two numbers, about a millisecond of work: fewer are not worth waking threads.
constexpr std::uint64_t kMinParallelProducts = 1ULL << 24;

/// The score if products overflow: infinities of both signs add up to NaN.
constexpr float kNoScore = std::numeric_limits<float>::quiet_NaN();

/// Document tokens in blocks, in the form that is scored: as stored, or floats
/// (`is_compared_converted`).
class ComparedTokens {
 public:
  ComparedTokens(const FieldSchema& schema, const MatrixView& tokens)
      : schema_(schema),
        tokens_(tokens),
        converted_(index::is_compared_converted(schema)),
        floats_(converted_ ? kBlockTokens * tokens.dim : 0) {}

  [[nodiscard]] std::size_t size() const { return tokens_.n_rows; }
  [[nodiscard]] DType dtype() const { return converted_ ? DType::kF32 : tokens_.dtype; }
  /// Valid until the next call.
  [[nodiscard]] MatrixView block(std::size_t first) {
    const std::size_t n = std::min(kBlockTokens, tokens_.n_rows - first);
    if (!converted_) {
      return {tokens_.row(first), n, tokens_.dim, tokens_.dtype, tokens_.stride_bytes};
    }
    for (std::size_t i = 0; i < n; ++i) {
      index::to_compared_floats(tokens_.row(first + i), schema_, &floats_[i * tokens_.dim]);
    }
    return {reinterpret_cast<const std::byte*>(floats_.data()), n, tokens_.dim, DType::kF32,
            tokens_.dim * sizeof(float)};
  }

 private:
  const FieldSchema& schema_;
  const MatrixView tokens_;
  const bool converted_;
  std::vector<float> floats_;
};

/// Scores a block of document tokens against the query tokens `first, first + 1, …`. Updates
/// `matches`, one for each of these query tokens, where a score is better.
void match_block(const index::PreparedQuery& query, std::size_t first, const MatrixView& block,
                 std::uint32_t first_document, std::span<TokenMatch> matches) {
  const std::uint32_t dim = block.dim;
  const auto& similarity = kernels().dense(similarity_of(query.schema().metric), block.dtype);
  std::array<float, kTileTokens * kBlockTokens> scores;
  similarity.tile({query.compared_values().data() + first * dim, dim, matches.size()}, dim,
                  block.data, block.stride_bytes, block.n_rows, {scores.data(), kBlockTokens});
  for (std::size_t j = 0; j < matches.size(); ++j) {
    const float* token_scores = scores.data() + j * kBlockTokens;
    for (std::size_t i = 0; i < block.n_rows; ++i) {
      // The first of equal scores stays; NaN (overflow) never wins, as in the score.
      if (!(token_scores[i] > matches[j].score)) continue;
      matches[j] = {first_document + static_cast<std::uint32_t>(i), token_scores[i]};
    }
  }
}

Result<std::vector<TokenMatch>> matches_of(const index::PreparedQuery& query,
                                           const MatrixView& tokens, const Cancel& cancel) {
  std::vector<TokenMatch> matches(query.n_tokens(), {0, -std::numeric_limits<float>::infinity()});
  ComparedTokens documents(query.schema(), tokens);
  for (std::size_t at = 0; at < documents.size(); at += kBlockTokens) {
    const MatrixView block = documents.block(at);
    for (std::size_t first = 0; first < matches.size(); first += kTileTokens) {
      QV_TRY(cancel.check());
      const std::size_t n = std::min(kTileTokens, matches.size() - first);
      match_block(query, first, block, static_cast<std::uint32_t>(at),
                  std::span(matches).subspan(first, n));
    }
  }
  for (auto& match : matches) match.score = shown_score(query.schema().metric, match.score);
  return matches;
}

/// The points of `ids` that exist and have the vector.
std::vector<Snapshot::Place> places_of(const SearchEnvironment& environment,
                                       const std::vector<PointId>& ids, std::size_t field) {
  std::vector<Snapshot::Place> places;
  for (const auto& id : ids) {
    const auto place = environment.snapshot.find(id);
    if (!place || place->segment->data->fields[field].present[place->row] == 0) continue;
    places.push_back(*place);
  }
  return places;
}

Result<Explanation> explain_place(const FieldQuery& query, const Snapshot::Place& place,
                                  const Cancel& cancel) {
  const auto& data = *place.segment->data;
  const auto& column = data.fields[query.field];
  const auto& prepared = query.prepared;
  const float score = index::score_row(prepared, column, place.row).value_or(kNoScore);
  QV_TRY(auto tokens, matches_of(prepared, column.multi().row(place.row), cancel));
  return Explanation{data.ids[place.row], shown_score(prepared.schema().metric, score),
                     std::move(tokens)};
}

std::uint64_t n_products(const FieldQuery& query, const std::vector<Snapshot::Place>& places) {
  std::uint64_t n_tokens = 0;
  for (const auto& place : places) {
    n_tokens += place.segment->data->fields[query.field].multi().row(place.row).n_rows;
  }
  return n_tokens * query.prepared.values().size();
}

Result<> check_request(const SearchEnvironment& environment, const ExplainRequest& request) {
  QV_TRY(const std::size_t number, environment.config.field(request.using_field));
  const auto& field = environment.config.fields[number];
  if (field.kind == FieldKind::kMulti) return {};
  return fail(Code::kInvalidArgument,
              fmt::format("{} is {}, but only a multi-vector can be explained token by token",
                          quoted_name(field), with_article(field.kind)));
}

}  // namespace

Result<std::vector<Explanation>> explain(const SearchEnvironment& environment,
                                         const ExplainRequest& request) {
  QV_TRY(check_request(environment, request));
  SearchParams params;
  params.token_weights = request.token_weights;
  QV_TRY(const auto query,
         field_query(environment, request.using_field, Nearest{request.query}, params));
  if (request.ids.size() * query.prepared.n_tokens() > kMaxTokenMatches) {
    return fail(Code::kInvalidArgument,
                fmt::format("{} query tokens for each of {} ids, their product must be at most {}",
                            query.prepared.n_tokens(), request.ids.size(), kMaxTokenMatches));
  }
  const auto places = places_of(environment, request.ids, query.field);
  std::vector<Result<Explanation>> parts(places.size());
  const auto explain_one = [&](std::size_t i) {
    parts[i] = explain_place(query, places[i], environment.cancel);
  };
  if (environment.executor != nullptr && n_products(query, places) >= kMinParallelProducts) {
    environment.executor->parallel_for(places.size(), explain_one);
  } else {
    for (std::size_t i = 0; i < places.size(); ++i) explain_one(i);
  }
  std::vector<Explanation> explanations;
  explanations.reserve(parts.size());
  for (auto& part : parts) {
    QV_TRY(auto explanation, std::move(part));
    explanations.push_back(std::move(explanation));
  }
  return explanations;
}

}  // namespace quiver::engine
