// Remembers the numbers of words, so that a frequent word is analyzed and looked up once.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

namespace quiver::payload {

/// Each word has one place of 32 bytes, which another word with the same place takes over; so
/// memory is bounded by 64 Ki places. It grows as new words come. Not thread safe.
class WordNumbers {
 public:
  static constexpr std::size_t kMaxBytes = 27;             ///< longer words have no key
  static constexpr std::uint32_t kUnknown = 0xFFFFFFFF;    ///< the word is not remembered
  static constexpr std::uint32_t kNoToken = kUnknown - 1;  ///< the word gives no token
  static_assert(std::endian::native == std::endian::little);

  /// The bytes of a word, then zeros, its length in byte 27, and four zeros.
  struct Key {
    std::array<std::uint64_t, 4> parts{};
  };
  /// `word`: 1 to kMaxBytes bytes.
  [[nodiscard]] static Key key_of(std::string_view word) {
    Key key;
    std::size_t part = 0;
    for (; word.size() > 8; word.remove_prefix(8)) key.parts[part++] = load(word.data(), 8);
    key.parts[part] = load(word.data(), word.size());
    key.parts[3] |= std::uint64_t{8 * part + word.size()} << 24;
    return key;
  }
  /// The key of `word` in lower case. `word` is ASCII.
  [[nodiscard]] static Key key_of_lower(std::string_view word) {
    Key key = key_of(word);
    for (auto& part : key.parts) part = to_lower(part);
    return key;
  }

  [[nodiscard]] std::uint32_t find(const Key& key) const {
    if (slots_.empty()) return kUnknown;
    const Key& slot = slots_[place_of(key)];
    const auto& a = slot.parts;
    const auto& b = key.parts;
    const std::uint64_t difference = (a[0] ^ b[0]) | (a[1] ^ b[1]) | (a[2] ^ b[2]) |
                                     std::uint64_t{static_cast<std::uint32_t>(a[3] ^ b[3])};
    return difference == 0 ? static_cast<std::uint32_t>(a[3] >> 32) : kUnknown;
  }
  /// `number` is not kUnknown.
  void remember(const Key& key, std::uint32_t number) {
    if (++n_remembered_ > slots_.size() && slots_.size() < kMaxSlots) {
      slots_.assign(std::max(kFirstSlots, slots_.size() * kGrowth), Key{});
      n_remembered_ = 0;
    }
    Key& slot = slots_[place_of(key)];
    slot = key;
    slot.parts[3] |= std::uint64_t{number} << 32;
  }
  [[nodiscard]] std::size_t memory_bytes() const { return slots_.capacity() * sizeof(Key); }

 private:
  static constexpr std::size_t kFirstSlots = 1024;
  static constexpr std::size_t kGrowth = 4;
  static constexpr std::size_t kMaxSlots = std::size_t{1} << 16;

  /// `n` bytes, 1 to 8, and zeros.
  [[nodiscard]] static std::uint64_t load(const char* bytes, std::size_t n) {
    if (n == 8) return load_whole<std::uint64_t>(bytes);
    if (n >= 4) {
      const std::uint64_t last = load_whole<std::uint32_t>(bytes + n - 4);
      return load_whole<std::uint32_t>(bytes) | last << (8 * (n - 4));
    }
    const auto at = [&](std::size_t i) {
      return std::uint64_t{static_cast<unsigned char>(bytes[i])} << (8 * i);
    };
    return at(0) | at(n / 2) | at(n - 1);
  }
  template <class T>
  [[nodiscard]] static T load_whole(const char* bytes) {
    T value;
    std::memcpy(&value, bytes, sizeof(T));
    return value;
  }
  /// Of eight ASCII characters; lengths below 'A' stay.
  [[nodiscard]] static std::uint64_t to_lower(std::uint64_t characters) {
    constexpr std::uint64_t kEach = 0x0101010101010101;
    const std::uint64_t from_a = characters + kEach * (0x80 - 'A');
    const std::uint64_t above_z = characters + kEach * (0x80 - 'Z' - 1);
    return characters | (from_a & ~above_z & (kEach * 0x80)) >> 2;
  }
  [[nodiscard]] std::size_t place_of(const Key& key) const {
    constexpr std::uint64_t kMix = 0x9E3779B97F4A7C15;  // 2^64 / golden ratio
    std::uint64_t hash = 0;
    for (const std::uint64_t part : key.parts) {
      hash = (std::rotl(hash, 23) ^ part) * kMix;
    }
    return (hash >> 40) & (slots_.size() - 1);
  }

  std::vector<Key> slots_;  ///< a power of two; the number is in the last four bytes
  std::size_t n_remembered_ = 0;
};

}  // namespace quiver::payload
