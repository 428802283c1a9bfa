// Answers over several shard keys show a point once, though its id may have a row under each key.
#pragma once

#include <functional>
#include <vector>

#include "base/result.h"
#include "engine/model/query.h"

namespace quiver::engine {

/// Leaves the first record of each id, and of each value of `order_by`.
void drop_repeated(std::vector<Record>& records);

using SearchHits = std::function<Result<std::vector<Record>>(const Query&)>;
/// The hits of `query`, each id once. `search` is asked again, for more, until there are enough.
[[nodiscard]] Result<std::vector<Record>> distinct_hits(const Query& query,
                                                        const SearchHits& search);

using ReadPage = std::function<Result<ScrollPage>(const ScrollRequest&)>;
/// The same for a page of points.
[[nodiscard]] Result<ScrollPage> distinct_page(const ScrollRequest& request, const ReadPage& read);

}  // namespace quiver::engine
