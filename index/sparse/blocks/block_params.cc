#include "index/sparse/blocks/block_params.h"

#include <fmt/format.h>

#include <algorithm>

namespace quiver::index::sparse {
namespace {

Result<> check_choice(const char* name, const std::string& found,
                      std::initializer_list<std::string_view> known) {
  for (const std::string_view choice : known) {
    if (found == choice) return {};
  }
  return fail(Code::kInvalidArgument, fmt::format("parameter `{}` is \"{}\": wanted one of {}",
                                                  name, found, fmt::join(known, ", ")));
}

}  // namespace

Result<> check(const BlockParams& params) {
  QV_TRY(validate_params(params));
  QV_TRY(check_choice("pruning", params.pruning, {"global", "fixed", "coi"}));
  return check_choice("blocking", params.blocking, {"kmeans", "fixed"});
}

std::uint32_t default_postings(std::uint32_t n_rows) {
  // Close to the best of sweeps at 100,000, 1 million and 8.8 million rows.
  return std::max<std::uint32_t>(300, n_rows / 2000);
}

}  // namespace quiver::index::sparse
