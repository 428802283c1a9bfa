#include "index/dense/files.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/hash.h"
#include "index/dense/lists/row_source.h"
#include "index/dense/lists/search/files.h"
#include "index/progress.h"

namespace quiver::index::dense {
namespace {

/// The shares of a build that are done with the lists: alone they take that of the time at most.
constexpr double kListsDone = 0.5;

/// Lengths that differ by less do not change which rows are nearest by much.
constexpr double kEvenLengths = 1.1;

graph::LinkParams link_params(const BuildParams& params, std::uint32_t padded_dim) {
  constexpr std::uint32_t kFewDimensions = 128;
  graph::LinkParams links;
  links.degree = params.degree;
  links.bits = params.link_bits != 0 ? params.link_bits : padded_dim <= kFewDimensions ? 2 : 1;
  return links;
}

/// Under Dot a walk by distances does not lead to the longest rows.
bool has_even_lengths(const ivf::RowSource& source) {
  constexpr std::uint32_t kSample = 1000;
  std::vector<float> row(source.dim());
  double least = 0;
  double most = 0;
  const std::uint32_t n = std::min(source.n(), kSample);
  for (std::uint32_t j = 0; j < n; ++j) {
    source.read(static_cast<std::uint32_t>(std::uint64_t{source.n()} * j / n), row.data());
    const double norm = kernels().convert.norm(row.data(), row.size());
    least = j == 0 ? norm : std::min(least, norm);
    most = std::max(most, norm);
  }
  return most <= least * kEvenLengths;
}

/// Of many rows that equal each other, most would not be linked to.
bool has_many_equals(const ivf::RowSource& source) {
  constexpr std::size_t kMany = 16;
  const auto& column = source.column().dense();
  const auto stored = column.rows();
  std::vector<std::uint64_t> hashes(source.n());
  for (std::uint32_t i = 0; i < source.n(); ++i) {
    hashes[i] = hash_bytes({stored.row(source.row(i)), column.stride()});
  }
  std::sort(hashes.begin(), hashes.end());
  for (std::size_t i = kMany; i < hashes.size(); ++i) {
    if (hashes[i] == hashes[i - kMany]) return true;
  }
  return false;
}

/// The rule of `auto` (docs/decisions/0023): a walk reads some hundred rows' links wherever it
/// goes, and where a usual search of the lists reads more than `kTimes` as many bytes, it is
/// faster.
bool is_worthwhile(const ivf::RowSource& source, const ivf::PartitionFacts& lists,
                   const graph::LinkParams& links) {
  constexpr double kTimes = 3.5;
  constexpr double kFactorBytes = 8;
  const double dim = lists.padded_dim;
  const double scanned = lists.usual_codes * (dim / 8 * lists.n_bits + kFactorBytes);
  const double visit = links.degree * (dim / 8 * links.bits + kFactorBytes + 4) + dim;
  if (scanned < kTimes * graph::kUsualVisits * visit) return false;
  const bool is_even = source.column().schema.metric != Metric::kDot || has_even_lengths(source);
  return is_even && !has_many_equals(source);
}

bool wants_graph(const ivf::RowSource& source, const ivf::PartitionFacts& lists,
                 const BuildParams& params) {
  if (params.graph != "auto") return params.graph == "always";
  // Who asks for smaller codes asks for little memory.
  const bool has_usual_codes = lists.n_bits == 1 && lists.refine_bits == 8;
  return has_usual_codes && is_worthwhile(source, lists, link_params(params, lists.padded_dim));
}

Result<ivf::OpenFiles> open_lists(const Directory& directory, const FieldColumn& column) {
  return ivf::open_files(directory, {column.schema, column.n_rows, column.n_present});
}

/// If it is wanted.
Result<> write_graph(const FieldColumn& column, const BuildParams& params,
                     const BuildContext& context, Directory& out) {
  QV_TRY(const auto lists, open_lists(out, column));
  const ivf::RowSource source(column, lists.candidates.rotation());
  const auto& facts = lists.candidates.lists().facts();
  if (!wants_graph(source, facts, params)) return {};
  return graph::Graph::write(source, lists.candidates, link_params(params, facts.padded_dim),
                             part_of(context, column.n_rows, kListsDone, 1), out);
}

}  // namespace

Result<> check(const BuildParams& params) {
  QV_TRY(ivf::check_refine_bits(params.refine_bits));
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

Result<> write_files(const FieldColumn& column, const BuildParams& params,
                     const ivf::Partition* older, const BuildContext& context, Directory& out) {
  auto of_lists = static_cast<const ivf::BuildParams&>(params);
  const bool is_bytes = column.dense().dtype == DType::kU8;
  if (is_bytes && params.graph != "always") of_lists.refine_bits = 0;
  const double lists_done = params.graph == "never" ? 1 : kListsDone;
  QV_TRY(ivf::write_files(column, of_lists, older, part_of(context, column.n_rows, 0, lists_done),
                          out));
  if (params.graph != "never") QV_TRY(write_graph(column, params, context, out));
  QV_TRY(try_out(column, params.graph == "auto", context, out));
  if (context.progress) context.progress(column.n_rows);
  return {};
}

Result<OpenFiles> open_files(const Directory& directory, const FieldColumn& column) {
  QV_TRY(auto lists, open_lists(directory, column));
  OpenFiles files{std::move(lists.candidates), std::nullopt, {}, lists.n_bytes};
  QV_TRY(files.trial, open_trial(directory, column.n_rows, files.n_bytes));
  if (!graph::Graph::exists(directory)) return files;
  if (files.lists.second() == nullptr) {
    return fail(Code::kDataLoss, "a dense index has a graph and no second codes");
  }
  const std::uint32_t dim = files.lists.lists().facts().padded_dim;
  QV_TRY(files.graph,
         graph::Graph::open(directory, {dim, column.n_rows, column.n_present}, files.n_bytes));
  return files;
}

}  // namespace quiver::index::dense
