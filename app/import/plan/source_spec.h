// Parses flags about sources: "sparse:title=DIR/title", "title=cosine", "1/127".
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/schema.h"

namespace quiver::app {

/// One `--vectors`: the file with the vectors of one field.
struct SourceSpec {
  FieldKind kind = FieldKind::kDense;
  std::string name;  ///< vector name; "" is the unnamed vector
  std::string source;
  std::string present;  ///< .npy mask, 1 where a row has the vector; empty: no mask
  double scale = 1;     ///< factor for all values

  /// "dense vectors \"title\" of title.npy"
  [[nodiscard]] std::string describe() const;
};

/// Parses "[KIND:][NAME=]SOURCE"; KIND is dense (default), sparse or multi.
[[nodiscard]] Result<SourceSpec> parse_source(std::string_view text);

/// The values of a repeatable flag: "VALUE" for all names or "NAME=VALUE" for one.
class PerName {
 public:
  explicit PerName(const std::vector<std::string>& texts);

  /// The value for `name`, else the value for all names.
  [[nodiscard]] std::optional<std::string> find(std::string_view name) const;
  /// kInvalidArgument if a value is for a name outside `names`; `flag` is for the message.
  [[nodiscard]] Result<> check_names(std::string_view flag,
                                     const std::vector<std::string>& names) const;

 private:
  std::vector<std::pair<std::optional<std::string>, std::string>> values_;
};

/// Parses "0.5" or "1/127".
[[nodiscard]] Result<double> parse_factor(std::string_view text);

}  // namespace quiver::app
