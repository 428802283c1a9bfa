// Eight query tokens in the lanes of a register, the document's words broadcast, so that no sum
// across lanes is needed; one vpopcntq a register and word, which is what takes longest. Counts fit
// the lower half of a lane, whose minimum takes a cycle where that of 64 bits takes three.
//
// vpopcntq zmm: one a cycle on Zen 4 and on Golden Cove.
#if defined(__x86_64__)
#include <immintrin.h>

#include "kernels/levels.h"
#include "kernels/target.h"

QV_TARGET_BEGIN(QV_AVX512)
namespace quiver::avx512 {
namespace {

#include "kernels/signs/blocks.inc"

inline __m512i differing(const std::uint64_t* query, __m512i word) {
  return _mm512_popcnt_epi64(_mm512_xor_si512(_mm512_loadu_si512(query), word));
}

inline __m512i broadcast(std::uint64_t word) {
  return _mm512_set1_epi64(static_cast<long long>(word));
}

template <std::size_t blocks>
struct Least {
  static void write(const std::uint64_t* query, std::size_t n_words, const std::uint64_t* doc,
                    std::size_t n_doc, std::uint32_t* least) {
    __m512i best[blocks];
    QV_UNROLL for (auto& v : best) v = _mm512_set1_epi32(-1);
    for (std::size_t i = 0; i < n_doc; ++i) {
      const std::uint64_t* token = doc + i * n_words;
      __m512i sums[blocks];
      const __m512i first = broadcast(token[0]);
      QV_UNROLL for (std::size_t b = 0; b < blocks; ++b) {
        sums[b] = differing(query + b * n_words * kBlock, first);
      }
      for (std::size_t w = 1; w < n_words; ++w) {
        const __m512i word = broadcast(token[w]);
        QV_UNROLL for (std::size_t b = 0; b < blocks; ++b) {
          sums[b] = _mm512_add_epi64(sums[b], differing(query + (b * n_words + w) * kBlock, word));
        }
      }
      QV_UNROLL for (std::size_t b = 0; b < blocks; ++b) {
        best[b] = _mm512_min_epu32(best[b], sums[b]);
      }
    }
    QV_UNROLL for (std::size_t b = 0; b < blocks; ++b) {
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(least + b * kBlock),
                          _mm512_cvtepi64_epi32(best[b]));
    }
  }
};

}  // namespace

constinit const SignKernels kSignKernels = {prepare, least<Least>};

}  // namespace quiver::avx512
QV_TARGET_END
#endif
