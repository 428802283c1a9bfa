// Fusions of prefetches, and learning their weights.
#include <fmt/format.h>

#include <algorithm>

#include "service/api/query_rules.h"
#include "service/json/decode/decode.h"
#include "service/json/decode/decode_parts.h"

namespace quiver::service::json {
namespace {

using engine::MissingScore;
using engine::Normalization;
using engine::QueryKind;

constexpr std::size_t kMinLearnedPrefetches = 2;
constexpr std::size_t kMaxLearnedPrefetches = 16;

Decoded<Normalization> decode_normalization(Element element, const Path& path) {
  QV_TRY(const auto name, get_string(element, path));
  if (name == "minmax") return Normalization::kMinMax;
  if (name == "zscore") return Normalization::kZScore;
  if (name == "quantile") return Normalization::kQuantile;
  if (name == "none") return Normalization::kNone;
  return format_error(path, fmt::format("unknown variant `{}`, expected one of `minmax`, `zscore`, "
                                        "`quantile`, `none`",
                                        name));
}

Decoded<MissingScore> decode_missing(Object object, const Path& path) {
  const auto element = find(object, "missing");
  if (!element) return MissingScore::kLowest;
  const Path here = path.member("missing");
  QV_TRY(const auto name, get_string(*element, here));
  if (name == "lowest") return MissingScore::kLowest;
  if (name == "zero") return MissingScore::kZero;
  return format_error(here, fmt::format("unknown variant `{}`, expected `lowest` or `zero`", name));
}

Decoded<QueryKind> decode_fusion_name(Element element, const Path& path) {
  QV_TRY(const auto name, get_string(element, path));
  if (name == "rrf") return QueryKind(engine::Rrf{});
  if (name == "dbsf") return QueryKind(engine::Dbsf{});
  return format_error(path, fmt::format("unknown variant `{}`, expected `rrf` or `dbsf`", name));
}

Decoded<QueryKind> decode_rrf(Element element, const Path& path) {
  engine::Rrf rrf;
  QV_TRY(const Object object, get_object(element, path));
  QV_TRY(rrf.k, decode_at_least(object, "k", path, 1, rrf.k));
  if (const auto weights = find(object, "weights")) {
    QV_TRY(rrf.weights, decode_floats(*weights, path.member("weights")));
  }
  return QueryKind(std::move(rrf));
}

Decoded<QueryKind> decode_linear(Element element, const Path& path) {
  engine::Linear linear;
  QV_TRY(const Object object, get_object(element, path));
  QV_TRY(check_members(object, path, {"weights", "normalize", "missing"}));
  if (const auto weights = find(object, "weights")) {
    QV_TRY(linear.weights, decode_floats(*weights, path.member("weights")));
  }
  if (const auto normalize = find(object, "normalize")) {
    QV_TRY(linear.normalization, decode_normalization(*normalize, path.member("normalize")));
  }
  QV_TRY(linear.missing, decode_missing(object, path));
  return QueryKind(std::move(linear));
}

Decoded<QueryKind> decode_kind_of_fusion(Object query, const Path& path) {
  if (const auto name = find(query, "fusion")) {
    return decode_fusion_name(*name, path.member("fusion"));
  }
  if (const auto rrf = find(query, "rrf")) return decode_rrf(*rrf, path.member("rrf"));
  QV_TRY(const Element linear, require(query, "linear", path));
  return decode_linear(linear, path.member("linear"));
}

Decoded<engine::Mmr> decode_mmr_of_fusion(Element element, const Path& path) {
  QV_TRY(auto mmr, decode_mmr(element, path));
  if (const auto field = find(as_object(element), "using")) {
    QV_TRY(mmr.using_field, get_string(*field, path.member("using")));
  }
  return mmr;
}

Decoded<engine::JudgedQuery> decode_judged(Element element, const Path& path) {
  engine::JudgedQuery judged;
  judged.query.kind = engine::Linear{};
  QV_TRY(const Object object, get_object(element, path));
  QV_TRY(check_members(object, path, {"prefetch", "filter", "relevant"}));
  QV_TRY(const Element prefetch, require(object, "prefetch", path));
  QV_TRY(judged.query.prefetch, decode_prefetches(prefetch, path.member("prefetch")));
  QV_TRY(judged.query.filter, decode_optional_filter(object, "filter", path));
  const Path at_relevant = path.member("relevant");
  QV_TRY(const Element relevant, require(object, "relevant", path));
  QV_TRY(judged.relevant, decode_ids(relevant, at_relevant));
  if (judged.relevant.empty()) return out_of_range(at_relevant, "[]", "at least one id");
  std::ranges::sort(judged.relevant);
  const auto repeated = std::unique(judged.relevant.begin(), judged.relevant.end());
  judged.relevant.erase(repeated, judged.relevant.end());
  return judged;
}

Decoded<> check_prefetches(const engine::FusionLearning& learning, const Path& path) {
  const std::size_t n_wanted = learning.judged.front().query.prefetch.size();
  std::uint64_t n_hits = 0;
  for (std::size_t i = 0; i < learning.judged.size(); ++i) {
    const auto& prefetches = learning.judged[i].query.prefetch;
    const Path at_judged = path.item(i);
    const Path here = at_judged.member("prefetch");
    const std::string n = fmt::format("of {} prefetches", prefetches.size());
    if (n_wanted < kMinLearnedPrefetches || n_wanted > kMaxLearnedPrefetches) {
      return out_of_range(here, n,
                          fmt::format("{} to {}", kMinLearnedPrefetches, kMaxLearnedPrefetches));
    }
    if (prefetches.size() != n_wanted) {
      return out_of_range(here, n, fmt::format("{} as in the first judged query", n_wanted));
    }
    for (const auto& prefetch : prefetches) {
      n_hits += std::min(prefetch.limit, engine::kMaxJudgedHits);
      if (n_hits <= engine::kMaxJudgedHits) continue;
      return out_of_range(here, "of the sum of all limits",
                          fmt::format("{} or smaller", engine::kMaxJudgedHits));
    }
  }
  return {};
}

}  // namespace

Decoded<std::vector<float>> decode_floats(Element element, const Path& path) {
  QV_TRY(const Array array, get_array(element, path));
  std::vector<float> values;
  for (const Element item : array) {
    QV_TRY(const float value, get_f32(item, path.item(values.size())));
    values.push_back(value);
  }
  return values;
}

Decoded<engine::Mmr> decode_mmr(Element element, const Path& path) {
  engine::Mmr mmr;
  QV_TRY(const Object object, get_object(element, path));
  if (const auto diversity = find(object, "diversity")) {
    const Path here = path.member("diversity");
    QV_TRY(mmr.diversity, get_f32(*diversity, here));
    if (!(mmr.diversity >= 0 && mmr.diversity <= 1)) {
      return out_of_range(here, to_json(*diversity), "from 0.0 to 1.0");
    }
  }
  if (const auto limit = find(object, "candidates_limit")) {
    const Path here = path.member("candidates_limit");
    QV_TRY(mmr.candidates_limit, get_u64(*limit, here));
    if (*mmr.candidates_limit > engine::Mmr::kMaxCandidates) {
      return out_of_range(here, to_json(*limit),
                          fmt::format("{} or smaller", engine::Mmr::kMaxCandidates));
    }
  }
  return mmr;
}

Decoded<QueryKind> decode_fusion(Object query, const Path& path) {
  QV_TRY(auto kind, decode_kind_of_fusion(query, path));
  const auto given = find(query, "mmr");
  if (!given) return kind;
  QV_TRY(auto mmr, decode_mmr_of_fusion(*given, path.member("mmr")));
  if (auto* rrf = std::get_if<engine::Rrf>(&kind))
    rrf->mmr = std::move(mmr);
  else if (auto* dbsf = std::get_if<engine::Dbsf>(&kind))
    dbsf->mmr = std::move(mmr);
  else
    std::get<engine::Linear>(kind).mmr = std::move(mmr);
  return kind;
}

Decoded<engine::FusionLearning> decode_fusion_learning(std::string& body) {
  const Path root;
  const Path here = root.member("judged");
  engine::FusionLearning learning;
  QV_TRY(const Object object, parse_object_body(body));
  QV_TRY(check_members(object, root, {"judged", "normalize", "missing", "shard_key"}));
  QV_TRY(learning.shards, decode_shards(object, root));
  if (const auto normalize = find(object, "normalize")) {
    QV_TRY(learning.normalization, decode_normalization(*normalize, root.member("normalize")));
  }
  QV_TRY(learning.missing, decode_missing(object, root));
  QV_TRY(const Element judged, require(object, "judged", root));
  QV_TRY(const Array array, get_array(judged, here));
  const std::size_t n = array.size();
  if (n < engine::kMinJudgedQueries || n > engine::kMaxJudgedQueries) {
    return out_of_range(
        here, fmt::format("of {} queries", n),
        fmt::format("{} to {}", engine::kMinJudgedQueries, engine::kMaxJudgedQueries));
  }
  for (const Element item : array) {
    QV_TRY(auto one, decode_judged(item, here.item(learning.judged.size())));
    learning.judged.push_back(std::move(one));
  }
  QV_TRY(check_prefetches(learning, here));
  return learning;
}

}  // namespace quiver::service::json
