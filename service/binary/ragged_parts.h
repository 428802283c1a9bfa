// The parts of ragged bodies: docs/late-interaction.md.
#pragma once

#include <fmt/format.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <utility>

#include "base/schema.h"
#include "engine/model/vector.h"
#include "service/json/error.h"

namespace quiver::service {

// Flags of a header.
inline constexpr std::uint32_t kRaggedUuids = 1;
inline constexpr std::uint32_t kRaggedPayloads = 2;
inline constexpr std::uint32_t kRaggedPoints = 4;

struct RaggedHeader {
  std::array<char, 8> magic{};
  std::uint32_t version = 0;
  std::uint32_t dtype = 0;
  std::uint32_t dim = 0;
  std::uint32_t flags = 0;
  std::uint64_t n_points = 0;
  std::uint64_t n_tokens = 0;
};
static_assert(sizeof(RaggedHeader) == 40);

template <class... Args>
tl::unexpected<ApiError> malformed_ragged(fmt::format_string<Args...> format, Args&&... args) {
  return wrong_input("ragged body: " + fmt::format(format, std::forward<Args>(args)...));
}

template <class T>
T read_at(std::string_view bytes, std::size_t i = 0) {
  T value;
  std::memcpy(&value, bytes.data() + i * sizeof(T), sizeof(T));
  return value;
}

/// Reads a body front to back.
class RaggedParts {
 public:
  explicit RaggedParts(std::string_view body) : body_(body) {}

  /// Takes `n` elements of `size` bytes.
  Decoded<std::string_view> take(std::string_view name, std::uint64_t n, std::uint64_t size);
  /// Takes the zeros up to the next boundary.
  Decoded<> align();
  std::string_view take_rest() { return body_.substr(std::exchange(at_, body_.size())); }
  [[nodiscard]] Decoded<> check_end() const;

 private:
  std::string_view body_;
  std::size_t at_ = 0;
};

/// Takes a header for `field`, whose flags are among `known`.
[[nodiscard]] Decoded<RaggedHeader> take_ragged_header(RaggedParts& parts, const FieldSchema& field,
                                                       std::uint32_t known);

enum class NoTokens : std::uint8_t { kRefused, kTaken };

/// The tokens of a body's points, for one field. Borrows from the body.
class RaggedTokens {
 public:
  /// Takes offsets and matrix. With `NoTokens::kTaken` a point may have no tokens.
  [[nodiscard]] static Decoded<RaggedTokens> take(RaggedParts& parts, const RaggedHeader& header,
                                                  NoTokens no_tokens);

  [[nodiscard]] std::uint64_t n_points() const { return header_.n_points; }
  [[nodiscard]] bool has(std::uint64_t point) const { return offset(point) < offset(point + 1); }
  /// 400 unless all values are finite.
  [[nodiscard]] Decoded<engine::MultiVector> at(std::uint64_t point) const;

 private:
  [[nodiscard]] std::uint64_t offset(std::uint64_t i) const {
    return read_at<std::uint64_t>(offsets_, i);
  }
  [[nodiscard]] Decoded<> check_offsets(NoTokens no_tokens) const;

  RaggedHeader header_;
  std::string_view offsets_;
  std::string_view matrix_;
};

}  // namespace quiver::service
