// Search for the nearest of many centres without comparing all.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "index/dense/lists/kmeans/nearest.h"

namespace quiver::index::dense {

/// Groups centres by k-means and compares a row with the centres of the eight nearest groups. Up to
/// `kMaxFlatCentres` centres are all compared. Any number of threads may call `nearest`.
class CentreRouter {
 public:
  /// Up to here, comparing all centres takes hardly longer.
  static constexpr std::size_t kMaxFlatCentres = 512;

  /// Borrows `centres`.
  CentreRouter(const Centres& centres, const BuildContext& context);

  /// Writes the nearest centre of each row to `list_of[0 .. rows.n)`.
  void nearest(const ByteView& rows, std::uint32_t* list_of) const;

 private:
  struct Groups {
    Centres centres;
    Members members;  ///< centre numbers of each group
  };
  [[nodiscard]] static std::unique_ptr<const Groups> groups_of(const Centres& centres,
                                                               const BuildContext& context);

  const Centres& centres_;
  std::unique_ptr<const Groups> groups_;  // nullptr: few centres
};

/// As `CentreRouter::nearest`, on all threads.
void route_all(const ByteMatrix& rows, const CentreRouter& router, const BuildContext& context,
               std::uint32_t* list_of);

}  // namespace quiver::index::dense
