// Which centre is nearest to a row: dot products of bytes.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "index/dense/lists/kmeans/rows.h"

namespace quiver::index::dense {

/// Centres as i8, all with one scale. A row x in units of codes is the nearer
/// to centre c the greater `c . x - |c|^2 / 2` is; here that is divided by the
/// scale and rounded.
class Centres {
 public:
  /// `means` is `[n, dim]` in units of codes, `n` >= 1.
  Centres(std::span<const float> means, std::uint32_t dim);

  [[nodiscard]] std::size_t n() const { return biases_.size(); }
  [[nodiscard]] std::uint32_t dim() const { return dim_; }
  /// The centres themselves as rows, whose unit of codes is `scale()` of the
  /// former one.
  [[nodiscard]] ByteMatrix as_rows() const;
  [[nodiscard]] float scale() const { return scale_; }
  /// The `n_wanted` nearest to `of`, itself first, then by distance.
  [[nodiscard]] std::vector<std::uint32_t> near(std::uint32_t of, std::size_t n_wanted) const;

 private:
  friend class CentreSearch;
  std::uint32_t dim_;
  float scale_ = 0;
  std::vector<std::int8_t> codes_;    // [n, dim]
  std::vector<std::int32_t> biases_;  // [n]: of the codes' middle and the centre's length
};

/// For each centre its nearest ones, itself first.
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

/// Looks rows up; keeps what it needs for that, so each thread has its own.
class CentreSearch {
 public:
  explicit CentreSearch(const Centres& centres) : centres_(centres) {}

  /// `list_of[row]`, for each of `members`, becomes the nearest of
  /// `candidates`, the first of them where several are equally near. No
  /// candidates: of all.
  void nearest(const ByteView& rows, std::span<const std::uint32_t> members,
               std::span<const std::uint32_t> candidates, std::uint32_t* list_of);
  /// As `nearest`, if that is nearer than what was found before, as
  /// `score_of[row]` says, the greater the nearer; written with `list_of[row]`.
  /// At first it is `kNone`.
  void improve(const ByteView& rows, std::span<const std::uint32_t> members,
               std::span<const std::uint32_t> candidates, std::uint32_t* list_of,
               std::int32_t* score_of);
  /// The `n_wanted` nearest to row `i`, in no order, at `out[i * n_wanted]`; at
  /// most `n()`.
  void nearest_few(const ByteView& rows, std::size_t n_wanted, std::uint32_t* out);
  /// `out[i * candidates.size() + j]`: the squared distance of `members[i]` from candidate j, in
  /// units of codes. There are candidates.
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
  std::vector<std::int32_t> biases_;  // of the candidates
  std::vector<std::uint8_t> packed_;  // [kRows, dim]
  std::vector<std::int32_t> scores_;  // [kRows, kCentres]
  std::int32_t greatest_[kRows];
  std::uint32_t best_[kRows];
};

}  // namespace quiver::index::dense
