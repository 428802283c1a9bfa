// Index parameters on the command line: "key=value,…" and grids of them.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/params.h"
#include "base/result.h"

namespace quiver::bench {

/// Parses "a=1,b=0.5,c=true,d=text"; values that read as numbers or bools become such. "" gives no
/// parameters. kInvalidArgument for a part without '=' or a key given twice.
[[nodiscard]] Result<KeyValues> parse_key_values(std::string_view text);

/// Every combination of the sweeps "key=a,b,c"; the last sweep varies fastest. Without sweeps, one
/// empty set. kInvalidArgument as above, or for more than 10,000 combinations.
[[nodiscard]] Result<std::vector<KeyValues>> parse_grid(std::span<const std::string> sweeps);

}  // namespace quiver::bench
