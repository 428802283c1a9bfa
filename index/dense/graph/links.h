// Choice of the links of each row.
//
// 1. The posting lists find rows near to a row.
// 2. Of these, nearest first, a row is taken if it is nearer to the row than to any row taken
// before: the rule of relative neighbourhoods (Fu et al., NSG, VLDB 2019, section 3.3). Places that
// are left go to the nearest of the others.
// 3. Each row's links are chosen again among its links and the rows that link to it.
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
/// Fills the places of missing links.
inline constexpr std::uint32_t kNoLink = ~0U;

/// Links of all rows of a source; rows are numbered as in the source.
struct Links {
  std::uint32_t degree = 0;
  std::vector<std::uint32_t> rows;  ///< `[n, degree]`, nearest first, then `kNoLink`

  [[nodiscard]] std::span<const std::uint32_t> of(std::uint32_t i) const {
    return std::span(rows).subspan(std::size_t{i} * degree, degree);
  }
  [[nodiscard]] std::span<std::uint32_t> of(std::uint32_t i) {
    return std::span(rows).subspan(std::size_t{i} * degree, degree);
  }
};

/// The same links for any number of threads.
[[nodiscard]] Result<Links> choose_links(const RowSource& source, const CandidateSearch& lists,
                                         const LinkParams& params, const BuildContext& context);

}  // namespace quiver::index::dense
