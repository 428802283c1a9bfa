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

#include "base/prefetch.h"

namespace quiver::payload {

/// Each word may be in one of two places of 32 bytes in the same cache line, where a new word takes
/// over from the older of two others; so memory is bounded by 64 Ki places. It grows as new words
/// come. Not thread safe.
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
  /// The same for a word that `n_readable` bytes begin with. Faster if that is 32 or more.
  [[nodiscard]] static Key key_of(std::string_view word, std::size_t n_readable) {
    if (n_readable < sizeof(Key::parts)) return key_of(word);
    Key key;
    std::memcpy(key.parts.data(), word.data(), sizeof(key.parts));
    // No part is written by itself: the processor would wait before it reads two together.
    const auto& [kept, length] = kFrames[word.size()];
    for (std::size_t i = 0; i < key.parts.size(); ++i) {
      key.parts[i] = (key.parts[i] & kept[i]) | length[i];
    }
    return key;
  }
  /// The key of a word of ASCII characters in lower case.
  [[nodiscard]] static Key to_lower(Key key) {
    for (auto& part : key.parts) part = to_lower(part);
    return key;
  }
  [[nodiscard]] static std::uint64_t hash_of(const Key& key) {
    constexpr std::uint64_t kMix = 0x9E3779B97F4A7C15;  // 2^64 / golden ratio
    const auto& [a, b, c, d] = key.parts;
    const auto mix = [](std::uint64_t hash, std::uint64_t part) {
      return (std::rotl(hash, 23) ^ part) * kMix;
    };
    return mix(mix(mix(mix(0, a), b), c), d);
  }

  /// Fetches what `find` will read. `hash`: `hash_of` the key, as below.
  void prefetch(std::uint64_t hash) const {
    if (!places_.empty()) prefetch_line(&places_[place_of(hash)]);
  }
  [[nodiscard]] std::uint32_t find(const Key& key, std::uint64_t hash) const {
    if (places_.empty()) return kUnknown;
    const auto& [first, second] = places_[place_of(hash)];
    const std::uint32_t number = is_key_of(second, key) ? number_in(second) : kUnknown;
    return is_key_of(first, key) ? number_in(first) : number;
  }
  /// `number` is not kUnknown.
  void remember(const Key& key, std::uint64_t hash, std::uint32_t number) {
    if (++n_remembered_ > 2 * places_.size() && places_.size() < kMaxPlaces) {
      places_.assign(std::max(kFirstPlaces, places_.size() * kGrowth), Place{});
      n_remembered_ = 0;
    }
    Place& place = places_[place_of(hash)];
    place.second = place.first;
    place.first = key;
    place.first.parts[3] |= std::uint64_t{number} << 32;
  }
  [[nodiscard]] std::size_t memory_bytes() const { return places_.capacity() * sizeof(Place); }

 private:
  /// Two words with the same place, each with its number in the last four bytes. Free: zeros.
  struct alignas(64) Place {
    Key first, second;
  };
  static_assert(sizeof(Place) == 64);
  static constexpr std::size_t kFirstPlaces = 512;
  static constexpr std::size_t kGrowth = 4;
  static constexpr std::size_t kMaxPlaces = std::size_t{1} << 15;

  /// What makes the key of a word of `n` bytes out of 32 bytes that begin with it.
  struct Frame {
    std::array<std::uint64_t, 4> kept;    ///< the bits of the word
    std::array<std::uint64_t, 4> length;  ///< the bits of its length
  };
  static constexpr auto kFrames = [] {
    std::array<Frame, kMaxBytes + 1> frames{};
    for (std::size_t n = 0; n < frames.size(); ++n) {
      for (std::size_t i = 0; i < n; ++i) {
        frames[n].kept[i / 8] |= std::uint64_t{0xFF} << (8 * (i % 8));
      }
      frames[n].length[3] = std::uint64_t{n} << 24;
    }
    return frames;
  }();

  static bool is_key_of(const Key& slot, const Key& key) {
    const auto& a = slot.parts;
    const auto& b = key.parts;
    const std::uint64_t difference = (a[0] ^ b[0]) | (a[1] ^ b[1]) | (a[2] ^ b[2]) |
                                     std::uint64_t{static_cast<std::uint32_t>(a[3] ^ b[3])};
    return difference == 0;
  }
  static std::uint32_t number_in(const Key& slot) {
    return static_cast<std::uint32_t>(slot.parts[3] >> 32);
  }

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
  [[nodiscard]] std::size_t place_of(std::uint64_t hash) const {
    return (hash >> 40) & (places_.size() - 1);
  }

  std::vector<Place> places_;  ///< a power of two
  std::size_t n_remembered_ = 0;
};

}  // namespace quiver::payload
