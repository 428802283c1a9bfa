#include "base/bits.h"

#include <bit>

namespace quiver {
namespace {

template <class Word>
std::size_t count_plain(std::span<const Word> words) {
  std::size_t n = 0;
  for (const Word word : words) n += static_cast<std::size_t>(std::popcount(word));
  return n;
}

#if defined(__x86_64__)
template <class Word>
[[gnu::target("popcnt")]] std::size_t count_by_instruction(std::span<const Word> words) {
  std::size_t n = 0;
  for (const Word word : words) n += static_cast<std::size_t>(__builtin_popcountll(word));
  return n;
}
#endif

template <class Word>
std::size_t count(std::span<const Word> words) {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("popcnt") != 0) return count_by_instruction(words);
#endif
  return count_plain(words);
}

}  // namespace

std::size_t count_bits(std::span<const std::uint64_t> words) { return count(words); }
std::size_t count_bits(std::span<const std::uint16_t> words) { return count(words); }

}  // namespace quiver
