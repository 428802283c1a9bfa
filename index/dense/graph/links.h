// Which rows a row of a graph is linked to.
//
// Near rows are found by the index of lists; of these, those come first that are nearer to the row
// than to any that was taken before (the rule of relative neighbourhoods: Fu et al., NSG, VLDB
// 2019, 3.3), then the nearest of the others. Rows are then also linked back from those that they
// link to, and chosen once more among all of these.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "index/dense/graph/params.h"
#include "index/dense/lists/row_source.h"
#include "index/dense/lists/search/candidate_search.h"
#include "index/index.h"

namespace quiver::index::dense {

inline constexpr std::uint32_t kLargestDegree = 128;
/// Stands in the place of a link of a row that has fewer.
inline constexpr std::uint32_t kNoLink = ~0U;

/// The links of every row of a source, by its numbers of rows.
struct Links {
  std::uint32_t degree = 0;
  std::vector<std::uint32_t> rows;  ///< `[n, degree]`, nearest first, then `kNoLink`

  [[nodiscard]] std::span<const std::uint32_t> of(std::uint32_t i) const {
    return std::span(rows).subspan(std::size_t{i} * degree, degree);
  }
};

/// The same for any number of threads.
[[nodiscard]] Result<Links> choose_links(const RowSource& source, const CandidateSearch& lists,
                                         const LinkParams& params, const BuildContext& context);

}  // namespace quiver::index::dense
