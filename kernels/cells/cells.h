// Which rows have a byte of a set: filters over quantized values.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace quiver {

/// A set of bytes: bit `b % 64` of word `b / 64` for each byte `b`.
using CellSet = std::array<std::uint64_t, 4>;

/// A class for each value of a byte: yes, open or neither. Bytes are added in ascending order.
struct CellClasses {
  CellSet yes{};
  CellSet open{};
  /// Yes is an interval and open at most two bytes, as for a range of ordered values.
  bool is_simple = true;
  std::uint8_t yes_low = 1, yes_high = 0;    ///< if simple; `low > high`: none
  std::uint8_t n_open = 0;                   ///< 0 to 2, if simple
  std::array<std::uint8_t, 2> open_cells{};  ///< if simple

  constexpr void add_yes(std::uint8_t cell) {
    if (yes_low > yes_high) {
      yes_low = cell;
    } else if (yes_high + 1 != cell) {
      is_simple = false;
    }
    yes_high = cell;
    yes[cell / 64] |= std::uint64_t{1} << cell % 64;
  }
  constexpr void add_open(std::uint8_t cell) {
    if (n_open < 2) {
      open_cells[n_open++] = cell;
    } else {
      is_simple = false;
    }
    open[cell / 64] |= std::uint64_t{1} << cell % 64;
  }
  /// True if a byte of `[low, high]` is yes or open.
  [[nodiscard]] constexpr bool has_any(std::uint8_t low, std::uint8_t high) const {
    for (unsigned word = low / 64U; word <= high / 64U; ++word) {
      std::uint64_t bits = yes[word] | open[word];
      if (word == low / 64U) bits &= ~std::uint64_t{0} << low % 64;
      if (word == high / 64U) bits &= ~std::uint64_t{0} >> (63 - high % 64);
      if (bits != 0) return true;
    }
    return false;
  }
};

/// Codes of 16 bits from `low` to `high`, each included. `low > high`: none.
struct CodeInterval {
  std::uint16_t low = 1;
  std::uint16_t high = 0;
  bool operator==(const CodeInterval&) const = default;
};

/// Exact.
struct CellKernels {
  /// Writes a bit for each of `n` cells, 64 to a word; bits from `n` on are 0.
  void (*classify)(const std::uint8_t* cells, std::size_t n, const CellClasses& classes,
                   std::uint64_t* yes, std::uint64_t* open);
  /// The same for codes with the high byte in `cells` and the low one in `rests`: is the code in
  /// the interval?
  void (*between)(const std::uint8_t* cells, const std::uint8_t* rests, std::size_t n,
                  const CodeInterval& interval, std::uint64_t* yes);
};

}  // namespace quiver
