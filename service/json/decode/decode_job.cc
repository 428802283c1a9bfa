#include "service/json/decode/decode_job.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "engine/model/joins.h"
#include "service/json/decode/decode_parts.h"

namespace quiver::service::json {
namespace {

using engine::JoinRequest;

Decoded<std::uint64_t> decode_from_to(Object object, std::string_view name, const Path& path,
                                      std::uint64_t least, std::uint64_t most,
                                      std::uint64_t otherwise) {
  QV_TRY(const auto value, decode_at_least(object, name, path, least, otherwise));
  if (value <= most) return value;
  return out_of_range(path.member(name), std::to_string(value), fmt::format("{} or smaller", most));
}

Decoded<std::string> decode_into(Object object, std::string_view name, const Path& path) {
  const auto into = find(object, name);
  if (!into) return std::string();
  const Path here = path.member(name);
  QV_TRY(const auto text, get_string(*into, here));
  if (text.empty()) return out_of_range(here, "\"\"", "a name");
  return std::string(text);
}

/// False for `first`, also if the member is missing; true for `second`.
Decoded<bool> decode_choice(Object object, std::string_view name, const Path& path,
                            std::string_view first, std::string_view second) {
  const auto member = find(object, name);
  if (!member) return false;
  const Path here = path.member(name);
  QV_TRY(const auto text, get_string(*member, here));
  if (text == first || text == second) return text == second;
  return format_error(
      here, fmt::format("unknown variant `{}`, expected `{}` or `{}`", text, first, second));
}

/// What all kinds have.
Decoded<> decode_join_common(Object object, const Path& path, JoinRequest& request) {
  if (const auto using_field = find(object, "using")) {
    QV_TRY(request.using_field, get_string(*using_field, path.member("using")));
  }
  QV_TRY(request.filter, decode_optional_filter(object, "filter", path));
  if (const auto params = find(object, "params")) {
    const Path here = path.member("params");
    QV_TRY(request.params, decode_search_params(*params, here));
    if (!request.params.target.is_none()) {
      return format_error(here, "`recall` is for single searches: give `hnsw_ef` or `exact`");
    }
  }
  return {};
}

Decoded<JoinRequest> decode_knn(Object object, const Path& path) {
  JoinRequest request;
  engine::KnnJoin kind;
  QV_TRY(check_members(object, path, {"using", "filter", "params", "k", "min_score", "into"}));
  QV_TRY(kind.k, decode_from_to(object, "k", path, 1, engine::kMaxJoinNeighbours, kind.k));
  if (const auto least = find(object, "min_score")) {
    QV_TRY(kind.min_score, get_f32(*least, path.member("min_score")));
  }
  QV_TRY(request.into, decode_into(object, "into", path));
  request.kind = kind;
  return request;
}

Decoded<JoinRequest> decode_duplicates(Object object, const Path& path) {
  JoinRequest request;
  engine::DuplicatesJoin kind;
  QV_TRY(check_members(object, path, {"using", "filter", "params", "min_score", "keep", "mark"}));
  QV_TRY(const Element least, require(object, "min_score", path));
  QV_TRY(kind.min_score, get_f32(least, path.member("min_score")));
  QV_TRY(const bool keeps_largest,
         decode_choice(object, "keep", path, "smallest_id", "largest_id"));
  if (keeps_largest) kind.keep = engine::KeptDuplicate::kLargestId;
  QV_TRY(request.into, decode_into(object, "mark", path));
  request.kind = kind;
  return request;
}

Decoded<JoinRequest> decode_clusters(Object object, const Path& path) {
  JoinRequest request;
  engine::ClustersJoin kind;
  QV_TRY(check_members(
      object, path,
      {"using", "filter", "params", "k", "min_size", "min_samples", "select", "into"}));
  QV_TRY(kind.k, decode_from_to(object, "k", path, 2, engine::kMaxJoinNeighbours, kind.k));
  QV_TRY(kind.min_size, decode_at_least(object, "min_size", path, 2, kind.min_size));
  QV_TRY(kind.min_samples, decode_from_to(object, "min_samples", path, 1, kind.k, 0));
  QV_TRY(const bool wants_leaves, decode_choice(object, "select", path, "stable", "leaves"));
  if (wants_leaves) kind.selection = engine::ClusterSelection::kLeaves;
  QV_TRY(request.into, decode_into(object, "into", path));
  request.kind = kind;
  return request;
}

Decoded<JoinRequest> decode_node_vectors(Object object, const Path& path) {
  JoinRequest request;
  engine::NodeVectorsJoin kind;
  QV_TRY(check_members(
      object, path,
      {"using", "filter", "params", "k", "links", "size", "weights", "seed", "into"}));
  QV_TRY(kind.links, decode_into(object, "links", path));
  for (const std::string_view of_graph : {"k", "params"}) {
    if (kind.links.empty() || !find(object, of_graph)) continue;
    return format_error(path.member(of_graph),
                        "is of the k-NN graph, and `links` names another graph");
  }
  QV_TRY(kind.k, decode_from_to(object, "k", path, 1, engine::kMaxJoinNeighbours, kind.k));
  QV_TRY(const auto dim,
         decode_from_to(object, "size", path, 1, engine::kMaxNodeVectorDim, kind.dim));
  kind.dim = static_cast<std::uint32_t>(dim);
  if (const auto weights = find(object, "weights")) {
    const Path here = path.member("weights");
    QV_TRY(kind.weights, decode_floats(*weights, here));
    const bool is_useful =
        std::ranges::any_of(kind.weights, [](float weight) { return weight != 0; });
    if (!is_useful || kind.weights.size() > engine::kMaxNodeVectorHops) {
      return out_of_range(here, to_json(*weights),
                          fmt::format("1 to {} numbers, not all 0", engine::kMaxNodeVectorHops));
    }
  }
  QV_TRY(kind.seed, decode_at_least(object, "seed", path, 0, kind.seed));
  QV_TRY(request.into, decode_into(object, "into", path));
  request.kind = std::move(kind);
  return request;
}

Decoded<JoinRequest> decode_translate(Object object, const Path& path) {
  JoinRequest request;
  engine::TranslateJoin kind;
  QV_TRY(check_members(object, path, {"using", "filter", "to", "pairs", "anchors", "into"}));
  QV_TRY(const Element to, require(object, "to", path));
  QV_TRY(kind.to, get_string(to, path.member("to")));
  QV_TRY(kind.pairs, decode_from_to(object, "pairs", path, engine::kMinTranslatedPairs,
                                    engine::kMaxTranslatedPairs, kind.pairs));
  QV_TRY(kind.anchors,
         decode_from_to(object, "anchors", path, 16, engine::kMaxTranslationAnchors, kind.anchors));
  QV_TRY(request.into, decode_into(object, "into", path));
  request.kind = std::move(kind);
  return request;
}

struct JobKind {
  std::string_view name;
  Decoded<JoinRequest> (*decode)(Object object, const Path& path);
};
constexpr std::array<JobKind, 5> kJobKinds{{{"knn", decode_knn},
                                            {"duplicates", decode_duplicates},
                                            {"clusters", decode_clusters},
                                            {"node_vectors", decode_node_vectors},
                                            {"translate", decode_translate}}};

}  // namespace

Decoded<JobStart> decode_job(std::string& body) {
  const Path root;
  QV_TRY(const Object object, parse_object_body(body));
  QV_TRY(
      check_members(object, root, {"knn", "duplicates", "clusters", "node_vectors", "translate"}));
  if (object.size() != 1) {
    return format_error(root, fmt::format("{} jobs, expected one of `knn`, `duplicates`, "
                                          "`clusters`, `node_vectors`, `translate`",
                                          object.size()));
  }
  for (const auto& [name, decode] : kJobKinds) {
    const auto member = find(object, name);
    if (!member) continue;
    const Path here = root.member(name);
    QV_TRY(const Object job, get_object(*member, here));
    QV_TRY(auto request, decode(job, here));
    QV_TRY(decode_join_common(job, here, request));
    return JobStart{std::move(request), to_json(object)};
  }
  return format_error(root, "the job is null");
}

Decoded<engine::ProjectionRequest> decode_projection(std::string& body) {
  const Path root;
  engine::ProjectionRequest request;
  QV_TRY(const Object object, parse_object_body(body));
  QV_TRY(check_members(object, root,
                       {"using", "filter", "sample", "seed", "layout", "k", "shard_key"}));
  if (const auto using_field = find(object, "using")) {
    QV_TRY(request.using_field, get_string(*using_field, root.member("using")));
  }
  QV_TRY(request.filter, decode_optional_filter(object, "filter", root));
  QV_TRY(request.sample,
         decode_from_to(object, "sample", root, 1, engine::kMaxProjectedPoints, request.sample));
  QV_TRY(request.seed, decode_at_least(object, "seed", root, 0, request.seed));
  QV_TRY(const bool by_neighbours, decode_choice(object, "layout", root, "plane", "neighbours"));
  if (by_neighbours) request.layout = engine::ProjectionLayout::kNeighbours;
  QV_TRY(request.k, decode_from_to(object, "k", root, 1, engine::kMaxJoinNeighbours, request.k));
  QV_TRY(request.shards, decode_shards(object, root));
  return request;
}

}  // namespace quiver::service::json
