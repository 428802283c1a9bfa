#include "index/dense/files.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/hash.h"
#include "base/observe/log.h"
#include "base/observe/memory_budget.h"
#include "index/cost.h"
#include "index/dense/lists/initial_centroids.h"
#include "index/dense/lists/row_source.h"
#include "index/dense/lists/search/lists_files.h"
#include "index/dense/lists/transform_file.h"
#include "index/progress.h"

namespace quiver::index::dense {
namespace {

/// Share of the progress at which the lists are written and the graph begins.
constexpr double kListsShareOfBuild = 0.5;

/// Largest ratio of row lengths that hardly changes which rows are nearest.
constexpr double kMaxLengthRatio = 1.1;

LinkParams link_params(const DenseBuildParams& params, std::uint32_t padded_dim) {
  constexpr std::uint32_t kMaxTwoBitDims = 128;
  LinkParams links;
  links.degree = params.degree;
  links.bits = params.link_bits != 0 ? params.link_bits : padded_dim <= kMaxTwoBitDims ? 2 : 1;
  return links;
}

/// Rows of such types are not larger than second codes.
bool is_small(DType dtype) { return bits_per_value(dtype) <= 8; }

/// True if rows are about equally long. Under Dot the longest rows score best, and a graph of
/// distances does not lead to them.
bool has_even_lengths(const RowSource& source) {
  const auto lengths = sampled_lengths(source);
  if (lengths.empty()) return true;
  const auto [least, most] = std::minmax_element(lengths.begin(), lengths.end());
  return *most <= *least * kMaxLengthRatio;
}

/// True if more than kMaxEqualRows rows are equal: no row would link to most of them.
bool has_many_equals(const RowSource& source) {
  constexpr std::size_t kMaxEqualRows = 16;
  const auto& column = source.column().dense();
  const auto stored = column.rows();
  std::vector<std::uint64_t> hashes(source.n());
  for (std::uint32_t i = 0; i < source.n(); ++i) {
    hashes[i] = hash_bytes({stored.row(source.row(i)), column.stride()});
  }
  std::sort(hashes.begin(), hashes.end());
  for (std::size_t i = kMaxEqualRows; i < hashes.size(); ++i) {
    if (hashes[i] == hashes[i - kMaxEqualRows]) return true;
  }
  return false;
}

/// The rule of `graph` = "auto" (docs/decisions/0023 and 0083). A walk visits about kUsualVisits
/// nodes. The graph is worth building if a default search of the lists reads kListBytesPerWalkByte
/// times the bytes of a walk; with many rows, less.
bool is_worthwhile(const RowSource& source, const PartitionFacts& lists, const LinkParams& links) {
  constexpr double kFactorBytes = 8;
  const double dim = lists.padded_dim;
  const double scanned = lists.usual_codes * (dim / 8 * lists.n_bits + kFactorBytes);
  const double visit = links.degree * (dim / 8 * links.bits + kFactorBytes + 4) + dim;
  const double share =
      std::clamp(cost::kRowsOfFewerListBytes / source.n(), cost::kLeastShareOfListBytes, 1.0);
  const double wanted = share * cost::kListBytesPerWalkByte;
  if (scanned < wanted * cost::kUsualVisits * visit) return false;
  const bool is_even = source.column().schema.metric != Metric::kDot || has_even_lengths(source);
  return is_even && !has_many_equals(source);
}

bool wants_graph(const RowSource& source, const PartitionFacts& lists,
                 const DenseBuildParams& params) {
  if (params.graph != "auto") return params.graph == "always";
  // Smaller codes mean that memory is short.
  const bool has_usual_codes = lists.n_bits == 1 && lists.refine_bits == 8;
  return has_usual_codes && is_worthwhile(source, lists, link_params(params, lists.padded_dim));
}

Result<OpenLists> open_lists_of(const FieldColumn& column, const Directory& directory) {
  return open_lists(directory, {column.schema, column.n_rows, column.n_present});
}

/// Estimated private memory of the build of a graph: its links with their codes, and rows as bytes.
std::uint64_t graph_bytes(std::uint64_t n_rows, std::uint32_t padded_dim, const LinkParams& links) {
  constexpr std::uint64_t kLinkBytes = 12;
  constexpr std::uint64_t kBitsPerByte = 8;
  return n_rows *
         (links.degree * (padded_dim * links.bits / kBitsPerByte + kLinkBytes) + padded_dim);
}

/// What the build may take over: of `older`, else of the former files of the same index.
std::optional<Start> start_for(const FieldColumn& column, const Partition* older,
                               const BuildContext& context) {
  if (older != nullptr) return start_of(*older);
  if (context.former == nullptr) return std::nullopt;
  return read_start(*context.former, column.n_rows, column.dense().dim, context.seed);
}

/// True if the reduction is not that of these rows.
bool takes_over(const std::optional<Start>& start, const RowTransform& transform) {
  return start && transform.reduction() && start->transform == transform;
}

/// Writes the graph if the parameters want one. One that nobody asked for is left out if there is
/// no memory for it: searches then read the lists.
Result<> write_graph(RowSource& source, const DenseBuildParams& params, const BuildContext& context,
                     Directory& out) {
  const FieldColumn& column = source.column();
  QV_TRY(const auto lists, open_lists_of(column, out));
  const auto& facts = lists.candidates.lists().facts();
  if (!wants_graph(source, facts, params)) return {};
  const LinkParams links = link_params(params, facts.padded_dim);
  MemoryPromise memory;
  if (params.graph == "auto") {
    auto promise = process_memory().promise(graph_bytes(column.n_present, facts.padded_dim, links),
                                            "the graph of a dense index");
    if (!promise) {
      log_warning("field `{}`: its index gets no graph: {}", column.schema.name,
                  promise.error().message());
      return {};
    }
    memory = *std::move(promise);
  }
  source.keep(context);
  return Graph::write(source, lists.candidates, links,
                      part_of(context, column.n_rows, kListsShareOfBuild, 1), out);
}

}  // namespace

Result<> check(const DenseBuildParams& params) {
  QV_TRY(check_refine_bits(params.refine_bits));
  QV_TRY(check_reduction(params));
  const auto refuse = [](std::string what) {
    return fail(Code::kInvalidArgument, std::move(what));
  };
  if (params.graph != "auto" && params.graph != "always" && params.graph != "never") {
    return refuse(fmt::format("graph is \"{}\", must be auto, always or never", params.graph));
  }
  if (params.degree % CodeBlocks::kRows != 0) {
    return refuse(fmt::format("degree is {}, must be a multiple of 16", params.degree));
  }
  if (params.graph == "always" && params.refine_bits == 0) {
    return refuse("graph is \"always\" and refine_bits 0: a graph needs second codes, 8");
  }
  return {};
}

Result<> write_files(const FieldColumn& column, const DenseBuildParams& params,
                     const Partition* older, const BuildContext& context, Directory& out) {
  const auto start = start_for(column, older, context);
  QV_TRY(const RowTransform transform,
         choose_transform(column, params, start ? &start->transform : nullptr, context));
  RowSource source(column, transform);
  if (transform.reduction()) source.keep(context);
  auto of_lists = static_cast<const ListsBuildParams&>(params);
  // Second codes save reading rows, and these are no larger than the codes.
  const bool has_small_rows = is_small(column.dense().dtype) && !transform.reduction();
  if (has_small_rows && params.graph != "always") of_lists.refine_bits = 0;
  const double lists_done = params.graph == "never" ? 1 : kListsShareOfBuild;
  const auto centroids = start ? start->centroids_for(transform) : std::span<const float>();
  QV_TRY(const bool is_carried_over,
         write_lists(source, of_lists, centroids, part_of(context, column.n_rows, 0, lists_done),
                     out));
  if (is_carried_over || takes_over(start, transform)) {
    const auto used = is_carried_over ? centroids : std::span<const float>();
    QV_TRY(write_start(transform, used, column.n_rows, out));
  }
  if (params.graph != "never") QV_TRY(write_graph(source, params, context, out));
  QV_TRY(try_out(column, params.graph == "auto", context, out));
  if (context.progress) context.progress(column.n_rows);
  return {};
}

Result<OpenFiles> open_files(const Directory& directory, const FieldColumn& column) {
  QV_TRY(auto lists, open_lists_of(column, directory));
  OpenFiles files{std::move(lists.candidates), std::nullopt, {}, lists.n_bytes};
  QV_TRY(files.trial, open_trial(directory, column.n_rows, files.n_bytes));
  if (!Graph::exists(directory)) return files;
  if (files.lists.second() == nullptr) {
    return fail(Code::kDataLoss, "a dense index has a graph and no second codes");
  }
  const std::uint32_t dim = files.lists.lists().facts().padded_dim;
  const Metric metric = column.schema.metric;
  const bool is_reduced = files.lists.transform().reduction().has_value();
  const bool has_distances =
      metric == Metric::kEuclid || (metric == Metric::kCosine && !is_reduced);
  QV_TRY(files.graph, Graph::open(directory, {dim, column.n_rows, column.n_present, has_distances},
                                  files.n_bytes));
  return files;
}

}  // namespace quiver::index::dense
