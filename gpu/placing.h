// Where the vectors of a field shall be.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace quiver::gpu {

enum class Placing : std::uint8_t {
  kAuto = 0,  ///< on a device while searches want them there
  kAlways,    ///< on a device at once; others give way to them, and they give way to none
  kNever,     ///< on none
};
inline constexpr std::array<std::string_view, 3> kPlacingNames = {"auto", "always", "never"};

[[nodiscard]] constexpr std::string_view to_string(Placing placing) {
  return kPlacingNames[static_cast<std::size_t>(placing)];
}
/// nullopt: an unknown name.
[[nodiscard]] constexpr std::optional<Placing> placing_of(std::string_view name) {
  for (std::size_t i = 0; i < kPlacingNames.size(); ++i) {
    if (kPlacingNames[i] == name) return static_cast<Placing>(i);
  }
  return std::nullopt;
}

/// What devices hold of a field of a segment, or shall hold.
struct Held {
  bool rows = false;   ///< what exact searches read
  bool usual = false;  ///< what usual searches read

  [[nodiscard]] bool any() const { return rows || usual; }
};

}  // namespace quiver::gpu
