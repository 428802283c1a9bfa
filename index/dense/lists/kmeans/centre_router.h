// The nearest of many centres without looking at all of them.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "index/dense/lists/kmeans/nearest.h"

namespace quiver::index::dense {

/// Puts centres into groups, by k-means; of a row it looks at the centres of
/// the eight groups that are nearest. Up to `kMaxFlatCentres` centres: at all. Any thread
/// may call `nearest`.
class CentreRouter {
 public:
  /// Below it, all centres take hardly longer than a choice of them.
  static constexpr std::size_t kMaxFlatCentres = 512;

  /// Borrows `centres`.
  CentreRouter(const Centres& centres, const BuildContext& context);

  /// Writes `list_of[0 .. rows.n)`.
  void nearest(const ByteView& rows, std::uint32_t* list_of) const;

 private:
  struct Groups {
    Centres centres;
    Members members;  ///< the numbers of their centres
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
