#include "engine/model/part_name.h"

#include <fmt/format.h>

#include <charconv>

namespace quiver::engine {

std::string part_name(std::string_view collection, std::uint32_t part) {
  return fmt::format("{}/{}", collection, part);
}

std::optional<PartName> parse_part_name(std::string_view name) {
  const std::size_t slash = name.rfind('/');
  if (slash == std::string_view::npos) return std::nullopt;
  const char* const end = name.data() + name.size();
  std::uint32_t part = 0;
  const auto [rest, error] = std::from_chars(name.data() + slash + 1, end, part);
  if (error != std::errc() || rest != end) return std::nullopt;
  return PartName{std::string(name.substr(0, slash)), part};
}

}  // namespace quiver::engine
