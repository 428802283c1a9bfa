// The lists of an IVF index, as they lie in its file.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <span>

#include "base/io/section_file.h"
#include "base/io/shared_span.h"
#include "base/result.h"
#include "index/dense/lists/params.h"
#include "index/dense/lists/row_source.h"
#include "index/index.h"
#include "kernels/kernels.h"

namespace quiver::index::dense {

/// Numbers that say how the rest is to be read; part of the file.
struct PartitionFacts {
  std::uint32_t dim = 0;         ///< of the field
  std::uint32_t padded_dim = 0;  ///< of the rotated vectors
  std::uint32_t n_bits = 1;
  std::uint32_t n_lists = 0;
  std::uint64_t rotation_seed = 0;
  std::uint32_t rotation_version = 0;
  std::uint32_t n_positions = 0;  ///< 16 for each block
  float spread = 0;               ///< root mean square of rows' distances from their centroids
  std::uint32_t is_spilled = 0;   ///< 1: each row is in two lists
  float usual_gap = 0;            ///< see calibration.h; in units of `gap_unit`
  std::uint32_t refine_bits = 0;  ///< of the second codes, which are a file of their own; 0: none
  float length = 0;               ///< root mean square of rows' lengths
  std::uint32_t usual_codes = 0;  ///< that a usual search scans; see calibration.h
};

/// How far the keys of lists lie below the score of the hundredth best row, in `gap_unit`s, for
/// lists in which one of the ten best is.
struct Depths {
  float middle = 0;  ///< of half of them
  float usual = 0;   ///< of nearly all of them
};

/// The order of lists. Dot: by the score of the centroid, for a query as long as rows are
/// (`stretch`), and the list's reach, as rows farther from their centroid score farther above
/// it; for rows of one length that is the order of distances. Distances: by that of the centroid.
///
/// `score`: of the query and the centroid.
[[nodiscard]] inline float list_key(Similarity similarity, float score, float reach) {
  return similarity == Similarity::kNegL2Squared ? score : score + reach;
}

/// Makes a query as long as rows are, whose length is `length`; under distances it stays. Under Dot
/// the order of rows is the same for any length, and codes tell it best for that of the rows: what
/// they estimate is in part the row's own.
inline void stretch(Similarity similarity, float length, std::span<float> query) {
  if (similarity != Similarity::kDot) return;
  const auto norm = static_cast<float>(kernels().convert.norm(query.data(), query.size()));
  const float factor = norm > 0 ? length / norm : 0;
  if (!std::isnormal(factor)) return;
  kernels().convert.scale(query.data(), query.size(), factor, query.data());
}

/// What gaps between keys are measured in: how much the scores of a list's rows differ by about.
/// `best`: the key of the nearest list.
[[nodiscard]] inline float gap_unit(Similarity similarity, float best,
                                    const PartitionFacts& facts) {
  const bool is_distance = similarity == Similarity::kNegL2Squared;
  return facts.spread * (is_distance ? 2 * std::sqrt(std::max(0.0F, -best)) : facts.length);
}

/// Mapped and immutable; copies share memory. The same rows, parameters, seed and start
/// give the same bytes, whatever the thread count.
class Partition {
 public:
  /// Clusters the rows and writes their lists. `start`: `ClusterOptions::start`. True if the lists
  /// did start there.
  static Result<bool> write(const RowSource& source, const ListsBuildParams& params,
                            std::span<const float> start, const BuildContext& context,
                            SectionWriter& writer);
  static Result<Partition> open(const SectionReader& reader, const FieldSchema& schema,
                                std::uint32_t n_rows);

  [[nodiscard]] const PartitionFacts& facts() const { return facts_; }
  [[nodiscard]] std::uint32_t n_lists() const { return facts_.n_lists; }
  [[nodiscard]] CodeBlocks blocks(std::uint32_t list) const {
    return blocks_of(list_blocks_[list], list_blocks_[list + 1]);
  }
  [[nodiscard]] std::uint32_t first_position(std::uint32_t list) const {
    return list_blocks_[list] * static_cast<std::uint32_t>(CodeBlocks::kRows);
  }
  /// Of each position; those after the last row of a list repeat it.
  [[nodiscard]] std::span<const std::uint32_t> rows() const { return rows_.span(); }

  /// `[n_lists, padded_dim]` bf16.
  [[nodiscard]] const std::byte* centroids() const {
    return reinterpret_cast<const std::byte*>(centroids_.data());
  }
  [[nodiscard]] std::size_t centroid_stride() const { return std::size_t{facts_.padded_dim} * 2; }
  /// Of each list, for `list_key`; none for distances.
  [[nodiscard]] float reach(std::uint32_t list) const {
    return reaches_.empty() ? 0 : reaches_[list];
  }
  /// Not known of old files, and of few rows.
  [[nodiscard]] const std::optional<Depths>& depths() const { return depths_; }
  /// Codes of the centroids around their mean, one bit a dimension, with the lists'
  /// reaches.
  [[nodiscard]] CodeBlocks routes() const;
  [[nodiscard]] std::span<const float> mean() const { return mean_.span(); }
  [[nodiscard]] std::uint64_t code_bytes() const { return blocks_.size(); }

 private:
  [[nodiscard]] CodeBlocks blocks_of(std::size_t begin, std::size_t end) const;

  PartitionFacts facts_;
  SharedSpan<std::uint32_t> list_blocks_;  ///< `[n_lists + 1]`
  SharedSpan<std::uint32_t> rows_;
  SharedBytes blocks_;
  SharedSpan<std::uint16_t> centroids_;
  SharedBytes routes_;
  SharedSpan<float> mean_;
  SharedSpan<float> reaches_;
  std::optional<Depths> depths_;
};

}  // namespace quiver::index::dense
