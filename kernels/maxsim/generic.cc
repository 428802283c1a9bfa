// One document token against the 16 query tokens of a block at a time, dimensions in order.
#include <cstring>
#include <limits>

#include "kernels/levels.h"
#include "kernels/stored.h"

namespace quiver::generic {
namespace {

#include "kernels/maxsim/prepare.inc"

template <class Term, class Stored>
void raise_best(const float* block, std::uint32_t dim, const std::byte* token, float* best) {
  float sums[kBlock] = {};
  for (std::size_t d = 0; d < dim; ++d) {
    const float value = Stored::at(token, d);
    for (std::size_t lane = 0; lane < kBlock; ++lane) {
      sums[lane] = Term::add(sums[lane], block[d * kBlock + lane], value);
    }
  }
  for (std::size_t lane = 0; lane < kBlock; ++lane) {
    const float similarity = Term::finish(sums[lane]);
    best[lane] = similarity > best[lane] ? similarity : best[lane];
  }
}

template <class Term, class Stored>
float score(const float* prepared, std::size_t n_query, std::uint32_t dim, const std::byte* doc,
            std::size_t stride_bytes, std::size_t n_doc) {
  double total = 0.0;
  for (std::size_t first = 0; first < n_query; first += kBlock) {
    float best[kBlock];
    for (float& b : best) b = -std::numeric_limits<float>::infinity();
    for (std::size_t i = 0; i < n_doc; ++i) {
      raise_best<Term, Stored>(prepared + first * dim, dim, doc + i * stride_bytes, best);
    }
    for (std::size_t lane = 0; lane < kBlock && first + lane < n_query; ++lane) total += best[lane];
  }
  return static_cast<float>(total);
}

// Codes of a document token, plus 128, by dimension.
struct Codes8 {
  static std::int32_t at(const std::byte* token, std::size_t d) {
    return std::to_integer<std::int32_t>(token[d]);
  }
};
struct Codes4 {
  static std::int32_t at(const std::byte* token, std::size_t d) {
    const auto byte = std::to_integer<unsigned>(token[d / 32 * 16 + d % 16]);
    return PackedLevels::k4Bits[byte >> (d % 32 / 16 * 4) & 15];
  }
};
struct Codes2 {
  static std::int32_t at(const std::byte* token, std::size_t d) {
    const auto byte = std::to_integer<unsigned>(token[d / 32 * 8 + d % 8]);
    return PackedLevels::k2Bits[byte >> (d % 32 / 8 * 2) & 3];
  }
};

template <class Codes>
std::int32_t dot_of_codes(const std::int8_t* lane, std::uint32_t dim, const std::byte* token) {
  std::int32_t start;
  std::memcpy(&start, lane, sizeof start);
  std::int32_t sum = start;
  for (std::size_t d = 0; d < dim; ++d) {
    sum += lane[(1 + d / 4) * 4 * kBlock + d % 4] * Codes::at(token, d);
  }
  return sum;
}

template <class Codes>
void best_codes_as(const std::int8_t* prepared, std::size_t n_query, std::uint32_t dim,
                   const std::byte* doc, std::size_t stride_bytes, std::size_t n_doc,
                   std::int32_t* best, std::uint32_t* which) {
  const std::size_t block_bytes = MaxSimKernels::prepared_codes(1, dim);
  for (std::size_t i = 0; i < n_query; ++i) {
    const std::int8_t* lane = prepared + i / kBlock * block_bytes + i % kBlock * 4;
    std::size_t winner = 0;
    best[i] = dot_of_codes<Codes>(lane, dim, doc);
    for (std::size_t j = 1; j < n_doc; ++j) {
      const std::int32_t dot = dot_of_codes<Codes>(lane, dim, doc + j * stride_bytes);
      if (dot <= best[i]) continue;
      best[i] = dot;
      winner = j;
    }
    if (which != nullptr) which[i] = static_cast<std::uint32_t>(winner);
  }
}

template <class Codes>
std::int64_t score_codes_as(const std::int8_t* prepared, std::size_t n_query, std::uint32_t dim,
                            const std::byte* doc, std::size_t stride_bytes, std::size_t n_doc) {
  std::int64_t total = 0;
  for (std::size_t first = 0; first < n_query; first += kBlock) {
    const std::size_t n = n_query - first < kBlock ? n_query - first : kBlock;
    std::int32_t best[kBlock];
    best_codes_as<Codes>(prepared + first / kBlock * MaxSimKernels::prepared_codes(1, dim), n, dim,
                         doc, stride_bytes, n_doc, best, nullptr);
    for (std::size_t i = 0; i < n; ++i) total += best[i];
  }
  return total;
}

void add_products(const float* prepared, std::size_t n_query, std::uint32_t dim, const float* rows,
                  std::size_t stride_floats, std::size_t n_rows, float* out,
                  std::size_t out_stride) {
  for (std::size_t first = 0; first < n_query; first += kBlock) {
    const float* block = prepared + first * dim;
    for (std::size_t i = 0; i < n_rows; ++i) {
      float sums[kBlock] = {};
      for (std::size_t d = 0; d < dim; ++d) {
        const float value = rows[i * stride_floats + d];
        for (std::size_t lane = 0; lane < kBlock; ++lane) {
          sums[lane] = DotTerm::add(sums[lane], block[d * kBlock + lane], value);
        }
      }
      float* at = out + i * out_stride + first;
      for (std::size_t lane = 0; lane < kBlock && first + lane < n_query; ++lane) {
        at[lane] += sums[lane];
      }
    }
  }
}

}  // namespace

constinit const MaxSimKernels kMaxSimKernels = {
    prepare,
    {
        {score<DotTerm, StoredF32>, score<DotTerm, StoredF16>, score<DotTerm, StoredU8>,
         score<DotTerm, StoredBf16>},
        {score<L2Term, StoredF32>, score<L2Term, StoredF16>, score<L2Term, StoredU8>,
         score<L2Term, StoredBf16>},
        {score<L1Term, StoredF32>, score<L1Term, StoredF16>, score<L1Term, StoredU8>,
         score<L1Term, StoredBf16>},
    },
    prepare_codes,
    score_codes_as<Codes8>,
    score_codes_as<Codes4>,
    score_codes_as<Codes2>,
    best_codes_as<Codes8>,
    add_products};

}  // namespace quiver::generic
