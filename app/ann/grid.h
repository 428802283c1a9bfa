// Parameters on the command line: key=value,… and grids of them.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/params.h"
#include "base/result.h"

namespace quiver::app {

/// "a=1,b=0.5,c=true,d=text": numbers and bools where they look like such. "" is none.
/// kInvalidArgument for a part without '=' or a key given twice.
[[nodiscard]] Result<KeyValues> parse_key_values(std::string_view text);

/// Every combination of sweeps "key=a,b,c", the last one varying fastest; one empty set for no
/// sweeps. kInvalidArgument as above, or for more than 10,000 combinations.
[[nodiscard]] Result<std::vector<KeyValues>> parse_grid(std::span<const std::string> sweeps);

}  // namespace quiver::app
