#include "engine/collections/sharding/repeated_ids.h"

#include <algorithm>
#include <cstdint>
#include <set>
#include <utility>

namespace quiver::engine {
namespace {

std::uint64_t sum_or_max(std::uint64_t a, std::uint64_t b) {
  return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

}  // namespace

void drop_repeated(std::vector<Record>& records) {
  std::set<std::pair<PointId, std::optional<OrderValue>>> seen;
  std::erase_if(records, [&](const Record& record) {
    return !seen.emplace(record.id, record.order_value).second;
  });
}

Result<std::vector<Record>> distinct_hits(const Query& query, const SearchHits& search) {
  const bool is_drawn = std::holds_alternative<Sample>(query.kind);  // an offset means nothing
  Query wide = query;
  wide.offset = 0;
  const std::uint64_t offset = is_drawn ? 0 : query.offset;
  const std::uint64_t wanted = sum_or_max(query.limit, offset);
  for (wide.limit = wanted;; wide.limit = sum_or_max(wide.limit, wide.limit)) {
    QV_TRY(auto records, search(wide));
    const bool are_all = records.size() < wide.limit;
    drop_repeated(records);
    if (records.size() < wanted && !are_all) continue;
    const auto first = std::min<std::uint64_t>(offset, records.size());
    records.erase(records.begin(), records.begin() + static_cast<std::ptrdiff_t>(first));
    if (records.size() > query.limit) records.resize(query.limit);
    return records;
  }
}

Result<ScrollPage> distinct_page(const ScrollRequest& request, const ReadPage& read) {
  ScrollRequest wide = request;
  for (std::uint64_t more = 1;; more = sum_or_max(more, more)) {
    wide.limit = sum_or_max(request.limit, more);
    QV_TRY(auto page, read(wide));
    const bool is_last = page.points.size() < wide.limit;
    drop_repeated(page.points);
    if (page.points.size() <= request.limit && !is_last) continue;
    page.next.reset();
    if (page.points.size() > request.limit) {
      if (!request.order_by) page.next = page.points[request.limit].id;
      page.points.resize(request.limit);
    }
    return page;
  }
}

}  // namespace quiver::engine
