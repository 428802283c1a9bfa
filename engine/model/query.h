// Questions to a collection and their answers: plain structs.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/ids.h"
#include "base/params.h"
#include "engine/model/corpus_counts.h"
#include "engine/model/formula.h"
#include "engine/model/recall.h"
#include "engine/model/shard_key.h"
#include "engine/model/vector.h"
#include "payload/bm25/bm25.h"
#include "payload/bm25/expansion.h"
#include "payload/bm25/word_rules.h"
#include "payload/filter.h"
#include "payload/json/edit.h"
#include "payload/text_highlight.h"

namespace quiver::engine {

struct QueryReport;

/// Which of a point's vectors to return.
struct VectorSelector {
  bool all = false;
  std::vector<std::string> names;  ///< used when `all` is false; unknown names are an error
  [[nodiscard]] bool none() const { return !all && names.empty(); }
};

/// Order by the values of a payload index that has an order (integer, float, datetime).
struct OrderBy {
  std::string key;
  bool descending = false;
  /// Inclusive. For a datetime key: microseconds since the epoch.
  std::optional<payload::Number> start_from;
};

/// The collection whose point a `PointId` names.
struct LookupFrom {
  std::string collection;
  std::optional<std::string> vector;  ///< default: the query's `using`
  ShardSelector shards = {};          ///< where the point is looked for
};

/// Where a search runs. The hits are the same.
enum class DeviceChoice : std::uint8_t {
  kAuto,  ///< on a device where that pays
  kCpu,
  kGpu,  ///< kUnavailable unless devices have all sealed segments of the field
};

struct SearchParams {
  bool exact = false;
  bool indexed_only = false;
  std::optional<std::uint64_t> hnsw_ef;  ///< search effort, under the name that stock clients use
  /// Chooses the effort by what was measured (engine/model/recall.h).
  RecallTarget target = {};
  /// Dense and multi-vector fields: codes are not used, so the search is exact.
  bool ignore_codes = false;
  /// Candidates that are re-ranked, as a multiple of the usual number.
  std::optional<double> oversampling;
  /// `params.<name>`: index parameters. The name is a kind of field or an index type
  /// (engine/indexing/index_params.h); other names are ignored.
  std::map<std::string, KeyValues, std::less<>> index;
  /// Weight of each token of a multi-vector query, >= 0; empty: all 1.
  std::vector<float> token_weights;
  /// The points over which IDF counts, in place of all; nullptr: all. For sparse fields with IDF.
  std::shared_ptr<const payload::Filter> idf_corpus;
  /// How rare the query's terms are; nullptr: as in the snapshot. For collections in parts.
  std::shared_ptr<const CorpusCounts> counts = nullptr;
  DeviceChoice device = DeviceChoice::kAuto;
  bool operator==(const SearchParams&) const = default;
};

/// Maximal marginal relevance (Carbonell, Goldstein 1998): chooses hits one by one from the best
/// candidates, each by its score less its similarity to the hits chosen before.
struct Mmr {
  static constexpr std::uint64_t kMaxCandidates = 16'384;
  float diversity = 0.5F;                         ///< [0, 1]; 0: by score alone
  std::optional<std::uint64_t> candidates_limit;  ///< default: the limit of the query
  /// The field whose vectors are compared. Nearest queries compare those that they search.
  std::string using_field = {};
};

/// Nearest neighbours of a vector.
struct Nearest {
  QueryVector vector;
  /// The point of this collection from which the vector was looked up, if it was. It is no hit.
  std::optional<PointId> own = std::nullopt;
  std::optional<Mmr> mmr = std::nullopt;
};

/// Points of this collection from which vectors of a query were looked up. They are no hits.
using OwnPoints = std::vector<PointId>;

/// How the similarities to the examples of a recommendation become one score.
enum class RecommendStrategy : std::uint8_t {
  kAverageVector,  ///< nearest to 2 * mean(positive) - mean(negative), or to mean(positive)
  kBestScore,      ///< by the most similar example alone
  kSumScores       ///< the positive similarities less the negative ones
};

/// Points like some examples and unlike others.
struct Recommend {
  std::vector<QueryVector> positive;  ///< at least one under kAverageVector
  std::vector<QueryVector> negative;  ///< at least one of either kind otherwise
  RecommendStrategy strategy = RecommendStrategy::kAverageVector;
  OwnPoints own = {};
};

/// Divides space: a point is on the side of the example that it is more similar to.
struct ContextPair {
  QueryVector positive;
  QueryVector negative;
};

/// Points on the positive side of as many pairs as possible; of these, the nearest to the target.
struct Discover {
  QueryVector target;
  std::vector<ContextPair> pairs;
  OwnPoints own = {};
};

/// Points on the positive side of all pairs, score 0, and then those that miss it by little.
struct Context {
  std::vector<ContextPair> pairs;
  OwnPoints own = {};
};

/// What somebody, or a larger model, thinks of an example. Larger is more relevant.
struct Feedback {
  QueryVector example;
  float score = 0;
};

/// a * similarity to the target + the sum over pairs of examples of which one has the greater
/// feedback score, of (difference of feedback scores)^b * c * (difference of similarities).
struct RelevanceFeedback {
  QueryVector target;
  std::vector<Feedback> feedback;
  float a = 0, b = 0, c = 0;
  OwnPoints own = {};
};

/// The key of a text index with scoring, and the factor of its scores, > 0.
struct TextKey {
  std::string key;
  double boost = 1;
  bool operator==(const TextKey&) const = default;
};

/// The words of payloads by BM25. Points without any of the words are no hits.
struct TextMatch {
  std::string text;
  payload::Bm25Params params = {};
  std::vector<TextKey> keys = {};  ///< scores add up; empty: `Query::using_field` alone
  payload::Expansion expansion = {};
  payload::WordRules rules = {};
};

/// Reciprocal rank fusion: the sum of 1 / ((rank + 1) / weight + k - 1) over lists, rank from 0.
struct Rrf {
  std::uint64_t k = 2;
  std::vector<float> weights;  ///< one for each prefetch; empty: all 1
  std::optional<Mmr> mmr = std::nullopt;
};
/// Distribution-based score fusion.
struct Dbsf {
  std::optional<Mmr> mmr = std::nullopt;
};

/// How a prefetch's scores are scaled over its own hits. All scores of distances are negated first.
enum class Normalization : std::uint8_t {
  kMinMax,    ///< worst 0, best 1; all 1 if they are equal
  kZScore,    ///< less the mean, by the sample standard deviation; all 0 if they are equal
  kQuantile,  ///< share of the hits that are no better, itself included; ties have their mean
  kNone       ///< as they are
};
/// What a prefetch adds to a point that it did not find.
enum class MissingScore : std::uint8_t {
  kLowest,  ///< the lowest scaled score of its hits; 0 if it found nothing
  kZero     ///< 0
};
/// The weighted sum of scaled scores.
struct Linear {
  std::vector<float> weights = {};  ///< finite, one for each prefetch; empty: all 1
  Normalization normalization = Normalization::kMinMax;
  MissingScore missing = MissingScore::kLowest;
  std::optional<Mmr> mmr = std::nullopt;
};
/// Points drawn at random, score 1.
struct Sample {};
/// No query at all: points in id order, score 1.
struct NoQuery {};

using QueryKind = std::variant<NoQuery, Nearest, Rrf, Dbsf, OrderBy, Sample, Recommend, Discover,
                               Context, RelevanceFeedback, Formula, TextMatch, Linear>;

/// True if the query's scores are made of ranks or of several lists' scores.
[[nodiscard]] inline bool is_fusion(const QueryKind& kind) {
  return std::holds_alternative<Rrf>(kind) || std::holds_alternative<Dbsf>(kind) ||
         std::holds_alternative<Linear>(kind);
}

/// nullptr if the query does not choose its hits by MMR.
[[nodiscard]] inline const Mmr* mmr_of(const QueryKind& kind) {
  return std::visit(
      [](const auto& one) -> const Mmr* {
        if constexpr (requires { one.mmr; }) return one.mmr ? &*one.mmr : nullptr;
        return nullptr;
      },
      kind);
}

/// Which words to mark in the texts of an answer's payloads.
struct Highlight {
  static constexpr std::size_t kMaxFields = 16;
  std::vector<std::string> fields;  ///< distinct payload paths
  payload::HighlightOptions options;
  /// The words; else those of the text queries, else of the text conditions on each field.
  std::optional<std::string> query;
};

/// The marked texts under one payload path.
struct FieldHighlights {
  std::string field;
  bool has_several_texts = false;  ///< false: all fragments are of the only value there
  std::vector<payload::HighlightFragment> fragments;  ///< at least one
};

/// A query or, nested, a prefetch. With prefetches, the query fuses them or rescores their union.
struct Query {
  std::vector<Query> prefetch;
  QueryKind kind = NoQuery{};
  std::string using_field;
  std::optional<payload::Filter> filter;
  SearchParams params;
  /// In scores as users see them. A score that equals it is a hit of fusions only.
  std::optional<float> score_threshold;
  std::optional<LookupFrom> lookup_from;
  std::uint64_t limit = 10;
  std::uint64_t offset = 0;  ///< best hits to leave out; ignored in prefetches
  payload::Selector with_payload = payload::Selector::none();
  VectorSelector with_vector;
  ShardSelector shards = {};                          ///< ignored in prefetches
  std::optional<Highlight> highlight = std::nullopt;  ///< ignored in prefetches
  /// Receives how the query was answered (query_report.h); nullptr: not asked for. Ignored in
  /// prefetches.
  std::shared_ptr<QueryReport> report = nullptr;
  /// Receives how the recall that was asked for is reached; a query and its prefetches share it.
  /// nullptr: none was asked for.
  std::shared_ptr<RecallReport> recall = nullptr;
};

/// A value of `order_by` as the user stored it.
using OrderValue = std::variant<std::int64_t, double>;

/// One point of an answer. Parts that were not asked for are absent.
struct Record {
  PointId id;
  Seq version{};
  float score = 0;  ///< as users see it (distances positive); meaningless for plain reads
  std::optional<std::string> payload;  ///< JSON object
  std::optional<std::vector<NamedVector>> vectors;
  std::optional<OrderValue> order_value;
  std::optional<ShardKey> shard_key = std::nullopt;  ///< of collections with custom sharding
  /// One for each field with a match, in the order of the request.
  std::optional<std::vector<FieldHighlights>> highlights = std::nullopt;
};

/// Points by id.
struct RetrieveRequest {
  std::vector<PointId> ids;
  payload::Selector with_payload = payload::Selector::all();
  VectorSelector with_vector;
  ShardSelector shards = {};
};

/// Points to be counted; without a filter, all.
struct CountRequest {
  std::optional<payload::Filter> filter = std::nullopt;
  ShardSelector shards = {};
};

/// Asks which document token matches each query token best.
struct ExplainRequest {
  QueryVector query;
  std::string using_field;  ///< a multi-vector
  std::vector<PointId> ids;
  std::vector<float> token_weights = {};  ///< as in SearchParams
  ShardSelector shards = {};
};

/// The document token most similar to a query token; the first of equal ones.
struct TokenMatch {
  std::uint32_t document = 0;  ///< number of the document token
  float score = 0;             ///< as users see it
};

struct Explanation {
  PointId id;
  float score = 0;                 ///< the same bits as in the answer of a search
  std::vector<TokenMatch> tokens;  ///< one for each query token, in order
};

/// A page of points, by id or by `order_by`.
struct ScrollRequest {
  std::optional<PointId> offset;  ///< first id of the page; ignored under `order_by`
  std::uint64_t limit = 10;
  std::optional<payload::Filter> filter;
  payload::Selector with_payload = payload::Selector::all();
  VectorSelector with_vector;
  std::optional<OrderBy> order_by;
  ShardSelector shards = {};
  std::optional<Highlight> highlight = std::nullopt;
};

struct ScrollPage {
  std::vector<Record> points;
  std::optional<PointId> next;  ///< first id of the next page; nullopt: there is none
};

}  // namespace quiver::engine
