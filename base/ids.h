// The three kinds of ids. They do not convert into one another.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

namespace quiver {

/// Row number within one segment, dense from 0.
enum class LocalId : std::uint32_t {};

[[nodiscard]] constexpr std::uint32_t to_index(LocalId id) {
  return static_cast<std::uint32_t>(id);
}

/// Position in a shard's operation log, from 1; 0 is "before everything".
enum class Seq : std::uint64_t {};

[[nodiscard]] constexpr std::uint64_t to_number(Seq seq) { return static_cast<std::uint64_t>(seq); }

/// The user's id: an unsigned 64-bit number or a UUID. All numbers order before all UUIDs.
/// 24 bytes without padding: segment files hold arrays of them.
class PointId {
 public:
  enum class Kind : std::uint64_t { kNumber = 0, kUuid = 1 };
  /// Length of `to_key`.
  static constexpr std::size_t kKeyBytes = 17;

  constexpr PointId() = default;
  [[nodiscard]] static constexpr PointId number(std::uint64_t value) {
    return PointId(Kind::kNumber, 0, value);
  }
  [[nodiscard]] static constexpr PointId uuid(std::uint64_t high, std::uint64_t low) {
    return PointId(Kind::kUuid, high, low);
  }
  /// Accepts simple, hyphenated, URN and braced spellings in any case; nullopt for anything else.
  [[nodiscard]] static std::optional<PointId> parse_uuid(std::string_view text);
  /// Parses a decimal number or, if it does not fit 64 bits or is no number, a UUID; nullopt if
  /// neither.
  [[nodiscard]] static std::optional<PointId> parse(std::string_view text);

  [[nodiscard]] constexpr Kind kind() const { return kind_; }
  [[nodiscard]] constexpr std::uint64_t high() const { return high_; }
  [[nodiscard]] constexpr std::uint64_t low() const { return low_; }

  /// 17 bytes whose byte order is the id order: kind, then 128 bits big-endian.
  [[nodiscard]] std::string to_key() const;
  [[nodiscard]] static std::optional<PointId> from_key(std::string_view key);
  /// "42" or "5c56c793-69f3-4fbf-87e6-c4bf54c28c26".
  [[nodiscard]] std::string to_string() const;
  /// Chooses the shard, so it is the same on every machine and in every version.
  [[nodiscard]] std::uint64_t hash() const;

  friend constexpr auto operator<=>(const PointId&, const PointId&) = default;

 private:
  constexpr PointId(Kind kind, std::uint64_t high, std::uint64_t low)
      : kind_(kind), high_(high), low_(low) {}

  Kind kind_ = Kind::kNumber;
  std::uint64_t high_ = 0;
  std::uint64_t low_ = 0;
};

static_assert(sizeof(PointId) == 24 && std::is_trivially_copyable_v<PointId>);

}  // namespace quiver

template <>
struct std::hash<quiver::PointId> {
  std::size_t operator()(const quiver::PointId& id) const noexcept { return id.hash(); }
};
