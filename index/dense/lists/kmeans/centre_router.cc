#include "index/dense/lists/kmeans/centre_router.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "index/dense/lists/kmeans/lloyd.h"
#include "index/progress.h"

namespace quiver::index::dense {
namespace {

/// Groups searched per row. Of 28 groups over 800 centres, eight gave distances .02 % above the
/// least on average, four .1 %.
constexpr std::size_t kGroupsPerRow = 8;
constexpr std::uint32_t kRouterRounds = 6;

}  // namespace

CentreRouter::CentreRouter(const Centres& centres, const BuildContext& context)
    : centres_(centres),
      groups_(centres.n() <= kMaxFlatCentres ? nullptr : groups_of(centres, context)) {}

std::unique_ptr<const CentreRouter::Groups> CentreRouter::groups_of(const Centres& centres,
                                                                    const BuildContext& context) {
  const ByteMatrix rows = centres.as_rows();
  const auto n = static_cast<std::uint32_t>(std::lround(std::sqrt(rows.n())));
  std::vector<std::uint32_t> group_of(rows.n());
  const std::vector<std::uint32_t> all = all_of(rows.n());
  std::vector<float> means =
      lloyd(rows.view(), all, {n, kRouterRounds, rows.n()}, quiet(context), group_of.data());
  assign_all(rows.view(), all, Centres(means, rows.dim()), context, group_of.data());
  for (float& value : means) value *= centres.scale();
  return std::make_unique<const Groups>(Groups{Centres(means, rows.dim()), Members(group_of, n)});
}

void CentreRouter::nearest(const ByteView& rows, std::uint32_t* list_of) const {
  if (groups_ == nullptr) {
    return CentreSearch(centres_).nearest(rows, all_of(rows.n), {}, list_of);
  }
  const std::size_t n_few = std::min(groups_->centres.n(), kGroupsPerRow);
  std::vector<std::uint32_t> few(rows.n * n_few);
  CentreSearch(groups_->centres).nearest_few(rows, n_few, few.data());
  Members visitors(few, groups_->centres.n());
  for (std::uint32_t& row : visitors.rows) row /= static_cast<std::uint32_t>(n_few);
  std::vector<std::int32_t> score_of(rows.n, CentreSearch::kNone);
  std::fill(list_of, list_of + rows.n, 0);
  CentreSearch search(centres_);
  for (std::size_t group = 0; group < visitors.n_lists(); ++group) {
    const auto centres = groups_->members.of(group);
    if (centres.empty()) continue;
    search.improve(rows, visitors.of(group), centres, list_of, score_of.data());
  }
}

void route_all(const ByteMatrix& rows, const CentreRouter& router, const BuildContext& context,
               std::uint32_t* list_of) {
  constexpr std::size_t kBlockRows = 8192;
  for_each(context, (rows.n() + kBlockRows - 1) / kBlockRows, [&](std::size_t block) {
    if (context.cancel.poll()) return;
    const std::size_t first = block * kBlockRows;
    router.nearest(rows.view(first, std::min(kBlockRows, rows.n() - first)), list_of + first);
  });
}

}  // namespace quiver::index::dense
