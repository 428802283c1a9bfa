// Search for the centre nearest to a row, by dot products of bytes.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "index/dense/lists/kmeans/rows.h"

namespace quiver::index::dense {

/// Centres as i8 with a common scale. Centre c is nearer to row x, in units of codes, the greater c
/// . x - |c|^2 / 2 is; scores are that divided by the scale, rounded.
class Centres {
 public:
  /// `means`: `[n, dim]` in units of codes, n >= 1.
  Centres(std::span<const float> means, std::uint32_t dim);

  [[nodiscard]] std::size_t n() const { return biases_.size(); }
  [[nodiscard]] std::uint32_t dim() const { return dim_; }
  /// The centres as rows; their unit of codes is `scale()` of the centres' unit.
  [[nodiscard]] ByteMatrix as_rows() const;
  [[nodiscard]] float scale() const { return scale_; }
  /// The `n_wanted` centres nearest to centre `of`: itself first, then by distance.
  [[nodiscard]] std::vector<std::uint32_t> near(std::uint32_t of, std::size_t n_wanted) const;

 private:
  friend class CentreSearch;
  std::uint32_t dim_;
  float scale_ = 0;
  std::vector<std::int8_t> codes_;  // [n, dim]
  std::vector<std::int32_t>
      biases_;  // [n]: correction for the codes' middle and the centre's length
};

/// The nearest centres of each centre, itself first.
class CentreNeighbours {
 public:
  CentreNeighbours(const Centres& centres, std::size_t n_wanted, const BuildContext& context);
  [[nodiscard]] std::span<const std::uint32_t> of(std::size_t centre) const {
    return {near_.data() + centre * n_each_, n_each_};
  }

 private:
  std::size_t n_each_;
  std::vector<std::uint32_t> near_;  // [n, n_each_]
};

/// Assigns rows to centres; one per thread, as it holds buffers.
class CentreSearch {
 public:
  explicit CentreSearch(const Centres& centres) : centres_(centres) {}

  /// Sets `list_of[row]` to the nearest of `candidates`, for each of `members`; ties go to the
  /// first. Empty `candidates`: all centres.
  void nearest(const ByteView& rows, std::span<const std::uint32_t> members,
               std::span<const std::uint32_t> candidates, std::uint32_t* list_of);
  /// As `nearest`, but only where it improves `score_of[row]`, which is updated with
  /// `list_of[row]`. Higher is nearer; initial value: `kNone`.
  void improve(const ByteView& rows, std::span<const std::uint32_t> members,
               std::span<const std::uint32_t> candidates, std::uint32_t* list_of,
               std::int32_t* score_of);
  /// Writes the `n_wanted` nearest centres of row `i`, unordered, to `out[i * n_wanted]`.
  /// `n_wanted` <= n().
  void nearest_few(const ByteView& rows, std::size_t n_wanted, std::uint32_t* out);
  /// Writes the squared distance of `members[i]` from candidate j, in units of codes, to `out[i *
  /// candidates.size() + j]`. `candidates` are not empty.
  void distances(const ByteView& rows, std::span<const std::uint32_t> members,
                 std::span<const std::uint32_t> candidates, float* out);
  static constexpr std::int32_t kNone = std::numeric_limits<std::int32_t>::min();

 private:
  static constexpr std::size_t kRows = 32;
  static constexpr std::size_t kCentres = 256;

  void start(std::span<const std::uint32_t> candidates);
  void score(const std::uint8_t* rows, std::size_t n_rows, std::size_t first, std::size_t n);
  void settle(std::size_t n_rows, std::size_t first, std::size_t n);
  void pack(const ByteView& rows, std::span<const std::uint32_t> members);
  void look_up(const ByteView& rows, std::span<const std::uint32_t> members);

  const Centres& centres_;
  std::span<const std::uint32_t> candidates_;
  std::vector<std::int32_t> biases_;  // biases of the candidates
  std::vector<std::uint8_t> packed_;  // [kRows, dim]
  std::vector<std::int32_t> scores_;  // [kRows, kCentres]
  std::int32_t greatest_[kRows];
  std::uint32_t best_[kRows];
};

}  // namespace quiver::index::dense
