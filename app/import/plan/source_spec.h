// The texts of flags that name sources: "sparse:title=DIR/title", "title=cosine", "1/127".
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/schema.h"

namespace quiver::app {

/// One `--vectors`: which file holds the vectors of which field.
struct SourceSpec {
  FieldKind kind = FieldKind::kDense;
  std::string name;  ///< of the vector; "" is the unnamed one
  std::string source;
  std::string present;  ///< .npy of bytes, 1 where a row has the vector; empty: all have it
  double scale = 1;     ///< values are multiplied by it

  /// "dense vectors \"title\" of title.npy"
  [[nodiscard]] std::string describe() const;
};

/// "[KIND:][NAME=]SOURCE"; KIND is dense (the default), sparse or multi.
[[nodiscard]] Result<SourceSpec> parse_source(std::string_view text);

/// The values of a flag that may be repeated, "VALUE" for all or "NAME=VALUE" for one.
class PerName {
 public:
  explicit PerName(const std::vector<std::string>& texts);

  /// The one for `name`, else the one for all.
  [[nodiscard]] std::optional<std::string> find(std::string_view name) const;
  /// kInvalidArgument if one is for a name that is not in `names`; `flag` is for the message.
  [[nodiscard]] Result<> check_names(std::string_view flag,
                                     const std::vector<std::string>& names) const;

 private:
  std::vector<std::pair<std::optional<std::string>, std::string>> values_;
};

/// "0.5" or "1/127".
[[nodiscard]] Result<double> parse_factor(std::string_view text);

}  // namespace quiver::app
