// The posting lists of a dense index in their file.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/io/section_file.h"
#include "base/io/shared_span.h"
#include "base/result.h"
#include "index/dense/lists/params.h"
#include "index/dense/lists/row_source.h"
#include "index/dense/lists/row_transform.h"
#include "index/index.h"
#include "kernels/kernels.h"

namespace quiver::index::dense {

/// Header of the file.
struct PartitionFacts {
  std::uint32_t dim = 0;         ///< dimensions of the field
  std::uint32_t padded_dim = 0;  ///< dimensions of the rotated vectors
  std::uint32_t n_bits = 1;
  std::uint32_t n_lists = 0;
  std::uint64_t rotation_seed = 0;
  std::uint32_t rotation_version = 0;
  std::uint32_t n_positions = 0;  ///< places for rows: 16 per block
  float spread = 0;               ///< root mean square distance of rows from their centroids
  std::uint32_t is_spilled = 0;   ///< 1: each row is in two lists
  float usual_gap = 0;            ///< default gap in `gap_unit`s (calibration.h)
  std::uint32_t refine_bits = 0;  ///< bits of the second codes, a file of their own; 0: none
  float length = 0;               ///< root mean square length of rows
  std::uint32_t usual_codes = 0;  ///< codes that a default search scans (calibration.h)
};

/// Depth of lists that hold one of the ten nearest rows: how far their keys lie below the score of
/// the hundredth nearest row, in `gap_unit`s.
struct Depths {
  float middle = 0;  ///< median
  float usual = 0;   ///< 99th percentile
};

/// Key of a list; lists are scanned by falling key. `score`: of the query and the centroid.
///
/// Distances: the score itself. Dot: score + reach, for a query stretched to the length of rows
/// (`stretch`). A list whose rows lie far from the centroid has rows that score far above it; for
/// rows of equal length this is the order of distances.
[[nodiscard]] inline float list_key(Similarity similarity, float score, float reach) {
  return similarity == Similarity::kNegL2Squared ? score : score + reach;
}

/// Scales a query to `length`, the length of rows, under Dot; leaves it under distances. The order
/// of rows does not depend on it, but codes estimate best at that length: part of the estimate is
/// the row's own. Returns the factor.
inline float stretch(Similarity similarity, float length, std::span<float> query) {
  if (similarity != Similarity::kDot) return 1;
  const auto norm = static_cast<float>(kernels().convert.norm(query.data(), query.size()));
  const float factor = norm > 0 ? length / norm : 0;
  if (!std::isnormal(factor)) return 1;
  kernels().convert.scale(query.data(), query.size(), factor, query.data());
  return factor;
}

/// Unit of gaps between keys: the typical spread of scores within a list. `best`: the key of the
/// nearest list.
[[nodiscard]] inline float gap_unit(Similarity similarity, float best,
                                    const PartitionFacts& facts) {
  const bool is_distance = similarity == Similarity::kNegL2Squared;
  return facts.spread * (is_distance ? 2 * std::sqrt(std::max(0.0F, -best)) : facts.length);
}

/// Mapped and immutable; copies share memory. The same rows, parameters, seed and initial centroids
/// give the same bytes for any number of threads.
class Partition {
 public:
  /// Clusters the rows and writes their lists. `start`: `ClusterOptions::start`. True if the lists
  /// started there.
  static Result<bool> write(const RowSource& source, const ListsBuildParams& params,
                            std::span<const float> start, const BuildContext& context,
                            SectionWriter& writer);
  static Result<Partition> open(const SectionReader& reader, const FieldSchema& schema,
                                std::uint32_t n_rows);

  [[nodiscard]] const PartitionFacts& facts() const { return facts_; }
  [[nodiscard]] const RowTransform& transform() const { return *transform_; }
  [[nodiscard]] std::uint32_t n_lists() const { return facts_.n_lists; }
  [[nodiscard]] CodeBlocks blocks(std::uint32_t list) const {
    return blocks_of(list_blocks_[list], list_blocks_[list + 1]);
  }
  [[nodiscard]] std::uint32_t first_position(std::uint32_t list) const {
    return list_blocks_[list] * static_cast<std::uint32_t>(CodeBlocks::kRows);
  }
  /// Row of each position. Positions after a list's last row repeat it.
  [[nodiscard]] std::span<const std::uint32_t> rows() const { return rows_.span(); }
  /// Each row of the column's `n_rows` that is in a list, once, list by list.
  [[nodiscard]] std::vector<std::uint32_t> rows_by_list(std::uint32_t n_rows) const;

  /// `[n_lists, padded_dim]` bf16.
  [[nodiscard]] const std::byte* centroids() const {
    return reinterpret_cast<const std::byte*>(centroids_.data());
  }
  [[nodiscard]] std::size_t centroid_stride() const { return std::size_t{facts_.padded_dim} * 2; }
  /// Reach of a list, for `list_key`; 0 for distances.
  [[nodiscard]] float reach(std::uint32_t list) const {
    return reaches_.empty() ? 0 : reaches_[list];
  }
  /// nullopt for old files and for few rows.
  [[nodiscard]] const std::optional<Depths>& depths() const { return depths_; }
  /// Codes of the centroids around their mean, 1 bit per dimension, with the lists' reaches added.
  [[nodiscard]] CodeBlocks routes() const;
  /// Number of regions (regions.h); 0 if there are few lists, or the file is old.
  [[nodiscard]] std::uint32_t n_regions() const {
    return region_lists_.empty() ? 0 : static_cast<std::uint32_t>(region_lists_.size() - 1);
  }
  /// First list of region `i`; of region `n_regions()`, the number of lists.
  [[nodiscard]] std::uint32_t first_list(std::uint32_t i) const { return region_lists_[i]; }
  /// As `routes`, of the regions' centroids.
  [[nodiscard]] CodeBlocks region_codes() const;
  /// The keys of most near lists' regions are at most so far below theirs, in `gap_unit`s; >= 0.
  [[nodiscard]] float region_gap() const { return region_gap_; }
  [[nodiscard]] std::span<const float> mean() const { return mean_.span(); }
  /// Root mean square distance of the centroids from their mean.
  [[nodiscard]] float centroid_spread() const { return centroid_spread_; }
  [[nodiscard]] std::uint64_t code_bytes() const { return blocks_.size(); }
  /// The blocks of all lists, list after list, and their memory.
  [[nodiscard]] CodeBlocks all_blocks() const { return blocks_of(0, list_blocks_[n_lists()]); }
  [[nodiscard]] const SharedBytes& block_bytes() const { return blocks_; }
  /// First block of each list and, at the end, their number.
  [[nodiscard]] const SharedSpan<std::uint32_t>& first_blocks() const { return list_blocks_; }

 private:
  [[nodiscard]] float spread_of_centroids() const;
  [[nodiscard]] CodeBlocks blocks_of(std::size_t begin, std::size_t end) const;
  [[nodiscard]] CodeBlocks centroid_codes(const SharedBytes& codes, std::size_t n) const;
  Result<> read_regions(const SectionReader& reader);

  PartitionFacts facts_;
  std::optional<RowTransform> transform_;  ///< set by `open`
  SharedSpan<std::uint32_t> list_blocks_;  ///< `[n_lists + 1]`
  SharedSpan<std::uint32_t> rows_;
  SharedBytes blocks_;
  SharedSpan<std::uint16_t> centroids_;
  SharedBytes routes_;
  SharedSpan<std::uint32_t> region_lists_;
  SharedBytes region_codes_;
  float region_gap_ = 0;
  SharedSpan<float> mean_;
  float centroid_spread_ = 0;
  SharedSpan<float> reaches_;
  std::optional<Depths> depths_;
};

}  // namespace quiver::index::dense
