// What can be asked of a collection, and the answers.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/ids.h"
#include "base/params.h"
#include "engine/model/vector.h"
#include "payload/filter.h"
#include "payload/json/edit.h"

namespace quiver::engine {

/// Which of a point's vectors to return.
struct VectorSelector {
  bool all = false;
  std::vector<std::string> names;  ///< used when `all` is false; unknown names are an error
  [[nodiscard]] bool none() const { return !all && names.empty(); }
};

/// Order by the values of a payload index that can be ranged over (integer, float, datetime).
struct OrderBy {
  std::string key;
  bool descending = false;
  /// Inclusive; of a datetime key: microseconds since the epoch.
  std::optional<payload::Number> start_from;
};

/// A vector given by value, or the vector of a stored point.
using QueryVector = std::variant<VectorValue, PointId>;

struct LookupFrom {
  std::string collection;
  std::optional<std::string> vector;  ///< default: the query's `using`
};

struct SearchParams {
  bool exact = false;
  bool indexed_only = false;
  std::optional<std::uint64_t> hnsw_ef;  ///< the effort a stock client can send
  /// Dense fields: codes are not looked at, which is to say that the search is exact.
  bool ignore_codes = false;
  /// Candidates whose scores are computed again, as a multiple of the usual number.
  std::optional<double> oversampling;
  /// `params.<name>`: parameters of indexes, by the kind of field or the name of the index type
  /// that they are for (index_params.h); others are ignored.
  std::map<std::string, KeyValues, std::less<>> index;
  /// What each token of a multi-vector query counts for, >= 0; empty: all the same.
  std::vector<float> token_weights;
  bool operator==(const SearchParams&) const = default;
};

/// Maximal marginal relevance (Carbonell, Goldstein 1998): of the best candidates, hits are chosen
/// one by one, each by its score less what it resembles a hit that was chosen before.
struct Mmr {
  static constexpr std::uint64_t kMostCandidates = 16'384;
  float diversity = 0.5F;                         ///< [0, 1]; 0: the scores alone
  std::optional<std::uint64_t> candidates_limit;  ///< default: the limit of the query
};

struct Nearest {
  QueryVector vector;
  /// The point of the same collection that the vector was looked up from, if it was.
  std::optional<PointId> own = std::nullopt;
  std::optional<Mmr> mmr = std::nullopt;
};
/// Reciprocal rank fusion: sum of 1 / ((rank + 1) / weight + k - 1), rank from 0.
struct Rrf {
  std::uint64_t k = 2;
  std::vector<float> weights;  ///< empty: all 1; else one per prefetch
};
/// Distribution-based score fusion.
struct Dbsf {};
struct Sample {};
/// No query at all: points in id order, score 1.
struct NoQuery {};

using QueryKind = std::variant<NoQuery, Nearest, Rrf, Dbsf, OrderBy, Sample>;

/// True if its scores are made of ranks or of several lists' scores.
[[nodiscard]] inline bool is_fusion(const QueryKind& kind) {
  return std::holds_alternative<Rrf>(kind) || std::holds_alternative<Dbsf>(kind);
}

/// A query or, nested, a prefetch. With prefetches, the query fuses or re-scores their union.
struct Query {
  std::vector<Query> prefetch;
  QueryKind kind = NoQuery{};
  std::string using_field;
  std::optional<payload::Filter> filter;
  SearchParams params;
  std::optional<float> score_threshold;  ///< as users see scores; strict but for fusions
  std::optional<LookupFrom> lookup_from;
  std::uint64_t limit = 10;
  std::uint64_t offset = 0;  ///< root only
  payload::Selector with_payload = payload::Selector::none();
  VectorSelector with_vector;
};

/// A value of `order_by` as the user stored it.
using OrderValue = std::variant<std::int64_t, double>;

/// One point of an answer; what was not asked for is absent.
struct Record {
  PointId id;
  Seq version{};
  float score = 0;  ///< as users see it (distances positive); meaningless for plain reads
  std::optional<std::string> payload;  ///< JSON object
  std::optional<std::vector<NamedVector>> vectors;
  std::optional<OrderValue> order_value;
};

struct RetrieveRequest {
  std::vector<PointId> ids;
  payload::Selector with_payload = payload::Selector::all();
  VectorSelector with_vector;
};

/// Which tokens of stored points the tokens of a query meet.
struct ExplainRequest {
  QueryVector query;
  std::string using_field;  ///< a multi-vector
  std::vector<PointId> ids;
  std::vector<float> token_weights = {};  ///< as of SearchParams
};

/// The document token with the greatest similarity to a query token; of equal ones the first.
struct TokenMatch {
  std::uint32_t document = 0;
  float score = 0;  ///< as users see it
};

struct Explanation {
  PointId id;
  float score = 0;                 ///< the same bits as a search gives it
  std::vector<TokenMatch> tokens;  ///< one for each token of the query, in order
};

struct ScrollRequest {
  std::optional<PointId> offset;  ///< first id of the page
  std::uint64_t limit = 10;
  std::optional<payload::Filter> filter;
  payload::Selector with_payload = payload::Selector::all();
  VectorSelector with_vector;
  std::optional<OrderBy> order_by;
};

struct ScrollPage {
  std::vector<Record> points;
  std::optional<PointId> next;
};

}  // namespace quiver::engine
