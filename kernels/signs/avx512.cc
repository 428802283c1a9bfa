// A register holds eight query tokens, one in each lane, and the document's words are broadcast, so
// no sum across lanes is needed. vpopcntq, one for each register and word, takes longest. Counts
// fit the lower half of a lane; a minimum of 32 bits takes one cycle, one of 64 bits three.
//
// vpopcntq zmm: latency 2 on Zen 4, 3 on Golden Cove, one per cycle on both; vpminud zmm: latency
// 1, one per cycle on Golden Cove, two on Zen 4. Each eight query tokens have a sum and a minimum;
// up to 32 tokens share a pass over the document. The chains are one addition per word and one
// minimum per document token.
//
// Measured on an Intel processor of two products a cycle (family 6; it calls itself model 167; 2.2
// GHz), g++ 12.2, shared, by steps_bench, one thread, medians; queries of 32 tokens, documents of
// 80, 128 bits each: .22 ns a pair of tokens, 91 % of the rate that the loop's instructions reach
// on registers alone.
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
