// Lloyd's algorithm over rows of bytes.
#pragma once

#include <cstdint>
#include <random>
#include <span>
#include <vector>

#include "index/dense/lists/kmeans/nearest.h"

namespace quiver::index::dense {

/// The numbers `[0, n)`.
[[nodiscard]] std::vector<std::uint32_t> all_of(std::size_t n);

/// Sets `list_of[row]` to the nearest centre, for each of `members`.
void assign_all(const ByteView& rows, std::span<const std::uint32_t> members,
                const Centres& centres, const BuildContext& context, std::uint32_t* list_of);

/// Moves centres to the means of their rows.
class Mover {
 public:
  enum class Small : std::uint8_t { kKeep, kRestart };

  Mover(const ByteView& rows, std::uint64_t seed) : rows_(rows), random_(seed) {}

  /// `means`: `[n_lists, dim]` in units of codes. A centre without rows stays. kRestart: a centre
  /// with less than a quarter of the mean number of rows takes half of the largest cluster.
  void move(const Members& members, Small small, const BuildContext& context,
            std::vector<float>& means);

 private:
  void halve(std::span<const std::uint32_t> members, float* mean, float* other);

  ByteView rows_;
  std::mt19937_64 random_;
};

struct LloydOptions {
  std::uint32_t n_clusters = 1;  ///< at most the number of members
  std::uint32_t rounds = 1;
  std::uint64_t seed = 0;
};

/// k-means of `members`, each compared with all centres. Returns means `[n_clusters, dim]` in units
/// of codes, and in `list_of` the lists before the last move. Reports rounds as progress.
std::vector<float> lloyd(const ByteView& rows, std::span<const std::uint32_t> members,
                         const LloydOptions& options, const BuildContext& context,
                         std::uint32_t* list_of);

}  // namespace quiver::index::dense
