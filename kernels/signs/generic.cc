// One document token against the query tokens of a block at a time.
#include <algorithm>
#include <bit>
#include <limits>

#include "kernels/levels.h"

namespace quiver::generic {
namespace {

#include "kernels/signs/blocks.inc"

template <std::size_t blocks>
struct Least {
  static void write(const std::uint64_t* query, std::size_t n_words, const std::uint64_t* doc,
                    std::size_t n_doc, std::uint32_t* least) {
    std::fill_n(least, blocks * kBlock, std::numeric_limits<std::uint32_t>::max());
    for (std::size_t i = 0; i < n_doc; ++i) {
      for (std::size_t lane = 0; lane < blocks * kBlock; ++lane) {
        const std::uint64_t* token = query + lane / kBlock * kBlock * n_words + lane % kBlock;
        std::uint32_t n = 0;
        for (std::size_t w = 0; w < n_words; ++w) {
          n += static_cast<std::uint32_t>(std::popcount(token[w * kBlock] ^ doc[i * n_words + w]));
        }
        least[lane] = std::min(least[lane], n);
      }
    }
  }
};

}  // namespace

constinit const SignKernels kSignKernels = {prepare, least<Least>};

}  // namespace quiver::generic
