// Time to make one vector of a token set: a document of 80 tokens and a query of 32, of 128
// dimensions. One thread; times are medians of the thread's time. The printed floor is the time of
// the products with the planes in f32 at the processor's best rate; a straightforward encoder
// spends most of its time on them.
//
//   fde_bench
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <vector>

#include "bench/micro/peaks.h"
#include "bench/micro/yardstick.h"
#include "encoders/fde/fde_encoder.h"
#include "encoders/mean_encoder.h"
#include "encoders/transforms/random_bits.h"

namespace quiver {
namespace {

using namespace encoders;

constexpr std::uint32_t kDim = 128;
constexpr std::size_t kDocumentTokens = 80;
constexpr std::size_t kQueryTokens = 32;
constexpr std::size_t kSets = 8;  // with their vectors, they stay in L2
constexpr std::size_t kRounds = 101;

/// Sets of unit vectors in random directions: the worst case, with the most buckets.
std::vector<float> random_sets(std::size_t n_tokens, std::uint64_t seed) {
  std::vector<float> values(kSets * n_tokens * kDim);
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<float>(random_unit(seed, i) - 0.5);
  }
  for (std::size_t i = 0; i < values.size(); i += kDim) {
    const double norm = kernels().convert.norm(values.data() + i, kDim);
    kernels().convert.scale(values.data() + i, kDim, 1.0 / norm, values.data() + i);
  }
  return values;
}

double microseconds(const std::function<void()>& work, std::size_t n) {
  work();
  std::vector<double> times;
  for (std::size_t round = 0; round < kRounds; ++round) times.push_back(thread_seconds(work));
  return median(times) * 1e6 / static_cast<double>(n);
}

/// Multiplications and additions of f32 per microsecond.
double peak() {
  constexpr std::size_t kPeakRounds = 20000;
  const Peak peak = float_peak();
  return peak.rate(1, microseconds([&] { peak.run(kPeakRounds); }, kPeakRounds)) / 2.0;
}

struct Times {
  double document;
  double query;
};

Times measure(const SetEncoder& encoder) {
  const std::vector<float> documents = random_sets(kDocumentTokens, 1);
  const std::vector<float> queries = random_sets(kQueryTokens, 2);
  std::vector<TokenSet> sets;
  for (std::size_t i = 0; i < kSets; ++i) {
    sets.push_back({documents.data() + i * kDocumentTokens * kDim, kDocumentTokens});
  }
  std::vector<float> out(kSets * encoder.dim());
  Times times{};
  times.document = microseconds([&] { encoder.encode_documents(sets, out.data()); }, kSets);
  times.query = microseconds(
      [&] {
        for (std::size_t i = 0; i < kSets; ++i) {
          encoder.encode_query({queries.data() + i * kQueryTokens * kDim, kQueryTokens},
                               out.data());
        }
      },
      kSets);
  return times;
}

void print(const char* name, const SetEncoder& encoder, double n_planes) {
  const Times times = measure(encoder);
  const double floor_us = n_planes * kDim / peak();
  std::printf("| %s | %u | %.1f | %.1f | %.1f | %.1f |\n", name, encoder.dim(), times.document,
              floor_us * kDocumentTokens, times.query, floor_us * kQueryTokens);
  std::fflush(stdout);
}

void print_fde(const char* name, const FdeParams& params) {
  const auto encoder = FdeEncoder::make(kDim, params);
  if (encoder) print(name, **encoder, 1.0 * params.repetitions * params.planes);
}

void run() {
  std::printf(
      "%s\n\n| repetitions, planes, dimensions of a block | dimensions | document us | planes in "
      "f32 "
      "us | query us | planes in f32 us |\n|---|---|---|---|---|---|\n",
      kernels().name);
  print_fde("20, 3, 8", {.planes = 3, .projected_dim = 8});
  print_fde("20, 4, 16", {.planes = 4});
  print_fde("20, 5, 16", {});
  print_fde("20, 5, 16, renormalize 0", {.renormalize = 0});
  print_fde("20, 5, 16, renormalize .5", {.renormalize = 0.5});
  print_fde("20, 5, 16, then 2,560", {.final_dim = 2560});
  print_fde("20, 5, whole", {.projected_dim = 0});
  print_fde("40, 6, whole, then 10,240",
            {.repetitions = 40, .planes = 6, .projected_dim = 0, .final_dim = 10240});
  print("mean", MeanEncoder(kDim), 0);
}

}  // namespace
}  // namespace quiver

int main() { quiver::run(); }
