#include "index/dense/lists/partition.h"

#include <fmt/format.h>

#include <vector>

#include "base/bitset.h"
#include "base/views.h"
#include "encoders/transforms/rotation.h"
#include "index/dense/lists/sections.h"
#include "index/dense/lists/transform_file.h"

namespace quiver::index::dense {
namespace {

Result<PartitionFacts> read_facts(const SectionReader& reader, const FieldSchema& schema) {
  QV_TRY(const auto found, reader.get<PartitionFacts>(kFacts, 0, 1));
  const PartitionFacts facts = found[0];
  if (facts.dim != schema.dim) {
    return reader.damaged(fmt::format("{} dimensions, expected {}", facts.dim, schema.dim));
  }
  if (facts.rotation_version != encoders::Rotation::kVersion) {
    return reader.damaged(fmt::format("rotation version {}, expected {}", facts.rotation_version,
                                      encoders::Rotation::kVersion));
  }
  if (facts.n_bits < 1 || facts.n_bits > 8) {
    return reader.damaged(fmt::format("codes of {} bits", facts.n_bits));
  }
  return facts;
}

Result<> check_lists(const SectionReader& reader, std::span<const std::uint32_t> list_blocks,
                     std::uint64_t n_blocks) {
  if (list_blocks.front() != 0 || list_blocks.back() != n_blocks ||
      !std::is_sorted(list_blocks.begin(), list_blocks.end())) {
    return reader.damaged("lists do not ascend to the number of blocks");
  }
  return {};
}

Result<> check_rows(const SectionReader& reader, std::span<const std::uint32_t> rows,
                    std::uint32_t n_rows) {
  const auto greatest = std::max_element(rows.begin(), rows.end());
  if (greatest == rows.end() || *greatest < n_rows) return {};
  return reader.damaged(fmt::format("row {} of {}", *greatest, n_rows));
}

}  // namespace

CodeBlocks Partition::blocks_of(std::size_t begin, std::size_t end) const {
  CodeBlocks blocks{nullptr, facts_.padded_dim / 32, facts_.n_bits, length_between(begin, end)};
  blocks.first = blocks_.data() + begin * blocks.block_bytes();
  return blocks;
}

std::vector<std::uint32_t> Partition::rows_by_list(std::uint32_t n_rows) const {
  std::vector<std::uint32_t> rows;
  Bitset seen(n_rows);  // a row may be in two lists, and the last one of a list repeats
  for (const std::uint32_t row : rows_.span()) {
    if (row >= n_rows || seen.test(row)) continue;  // a mapped file may be damaged
    seen.set(row);
    rows.push_back(row);
  }
  return rows;
}

CodeBlocks Partition::centroid_codes(const SharedBytes& codes, std::size_t n) const {
  return {codes.data(), facts_.padded_dim / 32, 1, (n + CodeBlocks::kRows - 1) / CodeBlocks::kRows};
}

/// Of some of them, if there are many.
float Partition::spread_of_centroids() const {
  constexpr std::uint32_t kMostMeasured = 1024;
  const auto& distance = kernels().dense(Similarity::kNegL2Squared, RowType::kBf16);
  const std::uint32_t n = std::min(kMostMeasured, facts_.n_lists);
  double sum = 0;
  for (std::uint32_t i = 0; i < n; ++i) {
    const std::uint64_t list = std::uint64_t{i} * facts_.n_lists / n;
    sum -= double{
        distance.one(mean().data(), facts_.padded_dim, centroids() + list * centroid_stride())};
  }
  const auto spread = static_cast<float>(std::sqrt(std::max(0.0, sum / std::max(1U, n))));
  return std::isfinite(spread) ? spread : 0;  // huge values
}

CodeBlocks Partition::routes() const { return centroid_codes(routes_, facts_.n_lists); }

CodeBlocks Partition::region_codes() const { return centroid_codes(region_codes_, n_regions()); }

Result<> Partition::read_regions(const SectionReader& reader) {
  if (!reader.has(kRegionLists)) return {};
  QV_TRY(const auto section, reader.get<std::uint32_t>(kRegionLists));
  // A copy: a damaged number would lead searches out of the file.
  region_lists_ =
      SharedSpan<std::uint32_t>::of(std::vector<std::uint32_t>(section.begin(), section.end()));
  const auto first_lists = region_lists_.span();
  const bool is_whole = first_lists.size() >= 2 && first_lists.front() == 0 &&
                        first_lists.back() == facts_.n_lists &&
                        std::is_sorted(first_lists.begin(), first_lists.end());
  if (!is_whole) return reader.damaged("regions do not ascend to the number of lists");
  QV_TRY(region_codes_,
         reader.get<std::byte>(kRegionCodes, 0, region_codes().n * region_codes().block_bytes()));
  QV_TRY(const auto gap, reader.get<float>(kRegionGap, 0, 1));
  if (!std::isfinite(gap[0]) || gap[0] < 0) return reader.damaged("the margin of regions");
  region_gap_ = gap[0];
  return {};
}

Result<Partition> Partition::open(const SectionReader& reader, const FieldSchema& schema,
                                  std::uint32_t n_rows) {
  Partition lists;
  QV_TRY(lists.facts_, read_facts(reader, schema));
  QV_TRY(lists.transform_, read_transform(reader, schema.dim, lists.facts_.rotation_seed));
  if (lists.facts_.padded_dim != lists.transform().padded_dim()) {
    return reader.damaged(fmt::format("{} dimensions after their transform, expected {}",
                                      lists.facts_.padded_dim, lists.transform().padded_dim()));
  }
  const auto& facts = lists.facts_;
  const std::uint64_t n_lists = facts.n_lists;
  const std::uint64_t n_blocks = facts.n_positions / CodeBlocks::kRows;
  QV_TRY(const auto list_blocks, reader.get<std::uint32_t>(kListBlocks, 0, n_lists + 1));
  // A copy: a damaged number would lead searches out of the file.
  lists.list_blocks_ = SharedSpan<std::uint32_t>::of(
      std::vector<std::uint32_t>(list_blocks.begin(), list_blocks.end()));
  QV_TRY(check_lists(reader, lists.list_blocks_.span(), n_blocks));
  QV_TRY(lists.rows_, reader.get<std::uint32_t>(kRows, 0, facts.n_positions));
  QV_TRY(check_rows(reader, lists.rows_.span(), n_rows));
  QV_TRY(lists.blocks_,
         reader.get<std::byte>(kBlocks, 0, n_blocks * lists.blocks_of(0, 0).block_bytes()));
  QV_TRY(lists.centroids_, reader.get<std::uint16_t>(kCentroids, 0, n_lists * facts.padded_dim));
  QV_TRY(lists.routes_,
         reader.get<std::byte>(kRoutes, 0, lists.routes().n * lists.routes().block_bytes()));
  QV_TRY(lists.mean_, reader.get<float>(kMean, 0, facts.padded_dim));
  lists.centroid_spread_ = lists.spread_of_centroids();
  if (similarity_of(schema.metric) == Similarity::kDot) {
    QV_TRY(lists.reaches_, reader.get<float>(kReaches, 0, n_lists));
  }
  QV_TRY(lists.read_regions(reader));
  if (reader.has(kDepths)) {
    QV_TRY(const auto depths, reader.get<Depths>(kDepths, 0, 1));
    if (!std::isfinite(depths[0].middle) || !(depths[0].usual >= depths[0].middle)) {
      return reader.damaged("depths of lists");
    }
    lists.depths_ = depths[0];
  }
  return lists;
}

}  // namespace quiver::index::dense
