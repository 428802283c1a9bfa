// The steps between scans, kernel by kernel and level by level: conversions, transforms, grids,
// sums, records, sets, signs and codes. Prints ns a unit (value, entry, token, ...), GB/s read and
// written, Gop/s, and the shares of two limits of the same run: reading as many bytes from the same
// cache with eight independent sums, and the instructions of a step on registers alone (ports.h;
// for records and `allowed`, a gather a value). Kernels and limits take turns, and medians are
// printed.
//
//   steps_bench [rounds [part of a name]]      default: 25 rounds, all
//
// Operations are counted by a kernel's definition, not by the instructions of a level: additions,
// products, comparisons, conversions, roundings, absolute values and exclusive ors; for codes, a
// look-up of four dimensions and its addition. Data lie in L1, records and documents in L2. A
// kernel that writes cannot reach the bandwidth of reading, and one that waits for itself not the
// rate of the ports.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "bench/micro/ports.h"
#include "bench/micro/random_values.h"
#include "bench/micro/steps.h"
#include "bench/micro/yardstick.h"
#include "kernels/kernels.h"

namespace quiver {
namespace {

constexpr std::size_t kN = 2048;  // values: 8 KiB of f32

/// Zeros on cache lines, for as long as the program runs. Offsets within a page differ between
/// arrays, so that loads from one are not taken for stores to another (4 KiB aliasing).
template <class T>
T* room_for(std::size_t n) {
  constexpr std::size_t kPage = 4096, kOffsetStep = 320;
  static std::vector<Memory> all;
  const std::size_t n_bytes = (n * sizeof(T) + 2 * kPage - 1) / kPage * kPage;
  all.emplace_back(static_cast<std::byte*>(std::aligned_alloc(kPage, n_bytes)));
  std::memset(all.back().get(), 0, n_bytes);
  return reinterpret_cast<T*>(all.back().get() +
                              (kPage - all.size() * kOffsetStep % kPage) % kPage);
}

template <class T>
T* random_below(std::uint32_t bound, std::size_t n) {
  std::mt19937 random(7);
  T* values = room_for<T>(n);
  std::generate_n(values, n, [&] { return static_cast<T>(random() % bound); });
  return values;
}

float* random_floats(std::size_t n) {
  std::mt19937 random(7);
  auto* values = room_for<float>(n);
  fill_floats(random, Values::kF32, n, reinterpret_cast<std::byte*>(values));
  return values;
}

std::uint16_t* random_halves(std::size_t n) {
  auto* halves = room_for<std::uint16_t>(n);
  kernels().convert.f32_to_f16(random_floats(n), n, halves);
  return halves;
}

using Steps = std::vector<Step>;
using K = const KernelTable&;
using namespace ports;

void add_conversions(Steps& steps) {
  const float* in = random_floats(kN);
  const auto* halves = random_halves(kN);
  const auto* bytes = random_below<std::uint8_t>(256, kN);
  auto* out = room_for<float>(kN);
  auto* narrow = room_for<std::uint16_t>(kN);
  const auto add = [&](const char* name, double bytes_of_value, double operations, Ports limit,
                       std::function<void(K)> run) {
    steps.push_back({name, "value", kN, bytes_of_value, operations, limit, limit, std::move(run)});
  };
  add("convert.f32_to_f16", 6, 1, {to_f16, 8}, [=](K k) { k.convert.f32_to_f16(in, kN, narrow); });
  add("convert.f16_to_f32", 6, 1, {from_f16, 8},
      [=](K k) { k.convert.f16_to_f32(halves, kN, out); });
  add("convert.u8_to_f32", 5, 1, {from_u8, 8}, [=](K k) { k.convert.u8_to_f32(bytes, kN, out); });
  add("convert.f32_to_bf16", 6, 1, {}, [=](K k) { k.convert.f32_to_bf16(in, kN, narrow); });
  add("convert.bf16_to_f32", 6, 1, {}, [=](K k) { k.convert.bf16_to_f32(halves, kN, out); });
  add("convert.norm", 4, 2, {length, 16},
      [=](K k) { g_sink = static_cast<float>(k.convert.norm(in, kN)); });
  add("convert.scale", 8, 1, {scaled, 8}, [=](K k) { k.convert.scale(in, kN, 0.5, out); });
}

void add_maps(Steps& steps) {
  const float* in = random_floats(kN);
  auto* zeros = room_for<float>(kN);  // which stay, however often they are transformed
  auto* out = room_for<float>(kN);
  auto* codes = room_for<std::uint8_t>(kN);
  const auto* signs = random_below<std::uint32_t>(0xFFFFFFFF, kN / 32);
  const auto add = [&](const char* name, double bytes_of_value, double operations, Ports wide,
                       Ports narrow, std::function<void(K)> run) {
    steps.push_back({name, "value", kN, bytes_of_value, operations, wide, narrow, std::move(run)});
  };
  add("transform.hadamard of 1,024", 8, 10, {hadamard_16, 16}, {hadamard_8, 8}, [=](K k) {
    k.transform.hadamard(zeros, 1024);
    k.transform.hadamard(zeros + 1024, 1024);
  });
  add("transform.flip_signs", 8.125, 1, {flip_16, 16}, {flip_8, 8},
      [=](K k) { k.transform.flip_signs(in, kN, signs, 0.5F, out); });
  add("transform.butterfly", 8, 2, {pair_16, 32}, {pair_8, 16},
      [=](K k) { k.transform.butterfly(zeros, zeros + kN / 2, kN / 2, 0.5F); });
  add("grid.largest", 4, 2, {largest_512, 64}, {largest_256, 64},
      [=](K k) { g_sink = k.grid.largest(in, kN); });
  add("grid.measure", 4, 9, {measure_512, 16}, {measure_256, 16},
      [=](K k) { g_sink = k.grid.measure(in, kN, 7.3F, 8).dot; });
  add("grid.encode", 5, 6, {encode_512, 16}, {encode_256, 16},
      [=](K k) { k.grid.encode(in, kN, 7.3F, 8, codes); });
}

/// Records of differences, a fifth of which take two bytes, over 4,096 weights.
const std::byte* random_gaps(std::size_t n_records, std::size_t n, std::size_t record_bytes) {
  auto* records = reinterpret_cast<std::byte*>(
      random_below<std::uint8_t>(static_cast<int>(4096 / n), n_records * record_bytes));
  for (std::size_t r = 0; r < n_records; ++r) {
    std::byte* record = records + r * record_bytes;
    std::byte* gap = record + n / 8 + n;
    for (std::size_t i = 0; i < n / 8; ++i) record[i] = i % 2 == 0 ? std::byte{17} : std::byte{2};
    for (std::size_t i = 0; i < n; ++i) {
      const bool wide = (static_cast<unsigned>(record[i / 8]) >> i % 8 & 1) != 0;
      if (wide) gap[1] = std::byte{0};
      gap += wide ? 2 : 1;
    }
  }
  return records;
}

/// One sum in a hundred reaches the threshold; an entry of a record is a term and a value.
void add_sparse(Steps& steps) {
  constexpr std::size_t kSums = 8192, kRecord = 192, kEntries = 100 * kRecord;
  const auto* sums = random_below<std::uint16_t>(65536, kSums);
  auto* positions = room_for<std::uint16_t>(kSums);
  steps.push_back({"sums.at_least", "sum", kSums, 2, 1, {reach_512, 64}, {reach_256, 64}, [=](K k) {
                     k.sums.at_least(sums, kSums, 64880, nullptr, positions);
                   }});
  steps.push_back(
      {"sums.count_at_least", "sum", kSums, 2, 1, {reach_512, 64}, {reach_256, 64}, [=](K k) {
         const std::size_t n = k.sums.count_at_least(sums, kSums, 64880, nullptr);
         g_code_sink = static_cast<int>(n);
       }});
  const auto* terms = reinterpret_cast<std::byte*>(random_below<std::uint16_t>(4096, kEntries));
  const auto add = [&](const char* name, RowType type, std::size_t value_bytes, void* of_type) {
    const auto* values = static_cast<const std::byte*>(of_type);
    steps.push_back({name,
                     "entry",
                     kEntries,
                     2.0 + static_cast<double>(value_bytes),
                     2,
                     {gather_16, 64},
                     {gather_8, 64},
                     [=](K k) {
                       const auto score = k.records.score[0][static_cast<std::size_t>(type)];
                       for (std::size_t i = 0; i < kEntries; i += kRecord) {
                         g_sink = score(g_table, kLastWeight, terms + i * 2,
                                        values + i * value_bytes, kRecord);
                       }
                     }});
  };
  add("records.score u16, f32", RowType::kF32, 4, random_floats(kEntries));
  add("records.score u16, f16", RowType::kF16, 2, random_halves(kEntries));
  add("records.score u16, u8", RowType::kU8, 1, random_below<std::uint8_t>(256, kEntries));
  constexpr std::size_t kBytes = 512;
  const std::byte* gaps = random_gaps(kEntries / kRecord, kRecord, kBytes);
  steps.push_back({"records.score_gaps, u8",
                   "entry",
                   kEntries,
                   2.3,
                   2,
                   {gather_16, 64},
                   {gather_8, 64},
                   [=](K k) {
                     for (std::size_t i = 0; i < kEntries / kRecord; ++i) {
                       g_sink =
                           k.records.score_gaps(g_table, kLastWeight, gaps + i * kBytes, kRecord);
                     }
                   }});
}

/// Documents of 80 tokens of 128 dimensions with 96 planes. Sketches: 32 rows to one line each, and
/// one row of 512 lines to 64 lines.
void add_sets(Steps& steps) {
  constexpr std::size_t kTokens = 80, kDim = 128, kWords = 6, kLines = kDim / 16;
  constexpr std::size_t kPooled = 32, kRows = 32, kLong = 512, kSlots = 64;
  constexpr double kTiles = kWords * kDim / 4;
  const float* values = random_floats(kTokens * kDim);
  const auto* planes = random_below<std::uint8_t>(256, kWords * kDim * 16);
  const auto* tokens = random_below<std::int8_t>(256, kTokens * kDim);
  const auto* token_sums = room_for<std::int32_t>(kTokens);
  auto* words = room_for<std::uint16_t>(kTokens * kWords);
  steps.push_back(
      {"sets.sign_words",
       "token",
       kTokens,
       kDim,
       2 * kDim * kWords * 16,
       {products_512, 16 / kTiles},
       {products_256, 1 / kTiles},
       [=](K k) {
         k.sets.sign_words({planes, kWords, kDim / 4}, tokens, token_sums, kTokens, words);
       }});
  const auto* ids = random_below<std::uint32_t>(kPooled, kPooled);
  auto* ranges = room_for<TokenRange>(kPooled / 4);
  for (std::uint32_t i = 0; i < kPooled / 4; ++i) ranges[i] = {4 * i, 4};
  auto* out = room_for<float>(kTokens * kDim);
  auto* squares = room_for<float>(kTokens);
  steps.push_back({"sets.pool of 4", "value", kPooled * kDim, 5, 1, {}, {}, [=](K k) {
                     k.sets.pool(values, kLines, ids, ranges, kPooled / 4, out, squares);
                   }});
  const auto* slots = random_below<std::uint32_t>(kSlots, kLong);
  const auto* lanes = random_below<std::uint8_t>(16, kLong * 16);
  const auto* signs = random_below<std::uint16_t>(65536, kLong);
  const float* factors = random_floats(kRows);
  auto* places = room_for<std::uint32_t>(kRows);
  for (std::uint32_t i = 0; i < kRows; ++i) places[i] = i;
  const auto add = [&](const char* name, std::size_t n_rows, std::size_t n_lines,
                       std::size_t n_slots, double bytes_of_value) {
    const double n = static_cast<double>(n_rows * n_lines) * 16;
    steps.push_back(
        {name, "value", n, bytes_of_value, 2, {sketch_512, 16}, {sketch_256, 16}, [=](K k) {
           std::memset(out, 0, n_rows * n_slots * 64);  // sums must not grow
           k.sets.sketch({slots, lanes, signs, n_lines, n_slots}, values,
                         {places, factors, n_rows, out});
         }});
  };
  add("sets.sketch to a line", kRows, kLines, 1, 4);
  add("sets.sketch to 64 lines", 1, kLong, kSlots, 13.4);
}

/// 16 documents of 80 tokens against a query of 32, 128 bits each.
void add_signs(Steps& steps) {
  constexpr std::size_t kTokens = 80, kDocs = 16, kQuery = 32, kWords = 2;
  const auto* docs = reinterpret_cast<std::uint64_t*>(
      random_below<std::uint32_t>(0xFFFFFFFF, kDocs * kTokens * kWords * 2));
  auto* prepared = room_for<std::uint64_t>(SignKernels::prepared_words(kQuery, kWords));
  auto* least = room_for<std::uint32_t>(kQuery);
  steps.push_back({"signs.prepare", "token", kQuery, 32, 0, {}, {}, [=](K k) {
                     k.signs.prepare(docs, kQuery, kWords, prepared);
                   }});
  steps.push_back({"signs.least of 128 bits",
                   "pair",
                   kDocs * kTokens * kQuery,
                   16.0 / kQuery,
                   6,
                   {least_512, 8},
                   {least_256, 8},
                   [=](K k) {
                     for (std::size_t i = 0; i < kDocs; ++i) {
                       k.signs.least(prepared, kQuery, kWords, docs + i * kTokens * kWords, kTokens,
                                     least);
                     }
                   }});
}

constexpr std::uint32_t kDim = 384, kLines = kDim / 32;

/// 64 blocks of random codes. The threshold lets one row in a hundred pass. Products with uniform
/// values have a third of the variance of those with normal values; with 4 bits it is 85 times as
/// large.
void add_scan(Steps& steps, const char* name, std::uint32_t n_bits, float threshold) {
  CodeBlocks blocks{nullptr, kLines, n_bits, 64};
  const std::size_t n_floats = blocks.block_bytes() / 4;
  auto* codes = random_below<std::uint32_t>(0xFFFFFFFF, blocks.n * n_floats);
  for (std::size_t b = 1; b <= blocks.n; ++b) {
    auto* factors = reinterpret_cast<float*>(codes + b * n_floats - 32);
    for (std::size_t i = 0; i < 32; ++i) factors[i] = i < 16 ? 1.0F : 0.0F;
  }
  blocks.first = reinterpret_cast<const std::byte*>(codes);
  const CodeTables query =
      kernels().codes.prepare(random_floats(kDim), kLines, room_for<std::uint8_t>(kLines * 128));
  auto* scores = room_for<float>(kN);
  auto* positions = room_for<std::uint32_t>(kN);
  const double lines = kLines * n_bits / 16.0;  // a row
  steps.push_back({name,
                   "row",
                   static_cast<double>(blocks.n) * 16,
                   static_cast<double>(n_floats) / 4,
                   2.0 * kDim / 4 * n_bits,
                   {line_512, 1 / lines},
                   {line_256, 1 / lines},
                   [=](K k) {
                     CodeHits hits{scores, positions, kN, 0};
                     k.codes.scan(query, blocks, 0, threshold, nullptr, 0, hits);
                     g_code_sink = static_cast<int>(hits.n);
                   }});
}

void add_codes(Steps& steps) {
  const float* in = random_floats(kN);
  auto* tables = room_for<std::uint8_t>(kLines * 128);
  steps.push_back({"codes.prepare", "value", kDim, 8, 24, {table_512, 4}, {table_256, 4}, [=](K k) {
                     g_sink = k.codes.prepare(in, kLines, tables).step;
                   }});
  add_scan(steps, "codes.scan of 1 bit", 1, 13.2F);
  add_scan(steps, "codes.scan of 4 bits", 4, 121.0F);
  constexpr std::size_t kOf = 100'000;
  const auto* rows = random_below<std::uint32_t>(kOf, kN);
  const auto* bits = random_below<std::uint64_t>(0xFFFFFFFF, kOf / 64 + 1);
  auto* allowed = room_for<std::uint16_t>(kN / 16);
  steps.push_back({"codes.allowed", "row", kN, 4, 1, {gather_16, 64}, {gather_8, 64}, [=](K k) {
                     k.codes.allowed(rows, kN / 16, bits, kOf - 1, allowed);
                   }});
  auto* bytes = room_for<std::int8_t>(kN);
  steps.push_back({"codes.to_bytes", "value", kN, 5, 5, {to_bytes_512, 16}, {}, [=](K k) {
                     g_code_sink = k.codes.to_bytes(in, kN, 127.0F, bytes);
                   }});
  // One operation a hit, kept or not. The copy of the hits is timed, too.
  auto* scores = room_for<float>(kN);
  auto* positions = room_for<std::uint32_t>(kN);
  steps.push_back({"codes.keep_best 256 of 2,048", "hit", kN, 8, 1, {}, {}, [=](K k) {
                     std::copy(in, in + kN, scores);
                     CodeHits hits{scores, positions, kN, kN};
                     g_sink = k.codes.keep_best(hits, 256);
                   }});
}

}  // namespace
}  // namespace quiver

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 25;
  const std::string part = argc > 2 ? argv[2] : "";
  quiver::Steps steps;
  quiver::add_conversions(steps);
  quiver::add_maps(steps);
  quiver::add_sparse(steps);
  quiver::add_sets(steps);
  quiver::add_signs(steps);
  quiver::add_codes(steps);
  std::printf("%-30s %-8s %-7s %9s %8s %8s %10s %9s\n", "", "unit", "level", "ns", "GB/s", "Gop/s",
              "of reading", "of ports");
  for (const auto& step : steps) {
    if (std::string(step.name).find(part) != std::string::npos) quiver::measure(step, rounds);
  }
}
