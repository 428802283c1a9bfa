// Lloyd's algorithm over rows as bytes.
#pragma once

#include <cstdint>
#include <random>
#include <span>
#include <vector>

#include "index/dense/lists/kmeans/nearest.h"

namespace quiver::index::dense {

/// `[0, n)`.
[[nodiscard]] std::vector<std::uint32_t> all_of(std::size_t n);

/// `list_of[row]`, for each of `members`, becomes the nearest of all centres.
void assign_all(const ByteView& rows, std::span<const std::uint32_t> members,
                const Centres& centres, const BuildContext& context, std::uint32_t* list_of);

/// Moves centres to the means of their rows.
class Mover {
 public:
  enum class Small : std::uint8_t { kKeep, kRestart };

  Mover(const ByteView& rows, std::uint64_t seed) : rows_(rows), random_(seed) {}

  /// `means` is `[n_lists, dim]` in units of codes. A centre without rows stays
  /// where it is; `kRestart`: one of less than a quarter of the mean number
  /// takes half of the largest cluster.
  void move(const Members& members, Small small, const BuildContext& context,
            std::vector<float>& means);

 private:
  void halve(std::span<const std::uint32_t> members, float* mean, float* other);

  ByteView rows_;
  std::mt19937_64 random_;
};

struct LloydOptions {
  std::uint32_t n_clusters = 1;  ///< at most as many as there are members
  std::uint32_t rounds = 1;
  std::uint64_t seed = 0;
};

/// k-means of `members`, each against all centres: `[n_clusters, dim]` in units
/// of codes. `list_of` says the lists of `members` before the last move. Tells of
/// rounds done.
std::vector<float> lloyd(const ByteView& rows, std::span<const std::uint32_t> members,
                         const LloydOptions& options, const BuildContext& context,
                         std::uint32_t* list_of);

}  // namespace quiver::index::dense
