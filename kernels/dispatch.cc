#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include <array>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "kernels/kernels.h"
#include "kernels/levels.h"

namespace quiver {
namespace {

#define QV_LEVEL(level)                                                                           \
  KernelTable {                                                                                   \
#level, level::kDenseFamily, level::kSparseKernels, level::kMaxSimKernels,                    \
        level::kTopKKernels, level::kConvertKernels, level::kByteKernels, level::kBinaryKernels,  \
        level::kRecordKernels, level::kSumKernels, level::kTransformKernels, level::kGridKernels, \
        level::kCodeKernels, level::kSetKernels, level::kSignKernels, level::kDecimalKernels,     \
        level::kTurboKernels, level::kCellKernels, level::kTextKernels, level::kProductKernels    \
  }

constinit const KernelTable kGeneric = QV_LEVEL(generic);
#if defined(__x86_64__)
constinit const KernelTable kAvx2 = QV_LEVEL(avx2);
constinit const KernelTable kAvx512 = QV_LEVEL(avx512);

// clang 14 does not know the name "f16c".
bool has_f16c() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & bit_F16C) != 0;
}

// __builtin_cpu_supports also asks whether the operating system saves the wide registers.
bool has_avx2() {
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && has_f16c() &&
         __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("popcnt");
}

bool has_avx512() {
  return has_avx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq") &&
         __builtin_cpu_supports("avx512vnni") && __builtin_cpu_supports("avx512vpopcntdq") &&
         __builtin_cpu_supports("avx512vbmi") && __builtin_cpu_supports("avx512vbmi2") &&
         __builtin_cpu_supports("avx512bf16");
}
#endif

struct Levels {
  std::array<const KernelTable*, 3> tables{};
  std::size_t n = 0;
};

Levels find_levels() {
  Levels levels;
#if defined(__x86_64__)
  if (has_avx512()) levels.tables[levels.n++] = &kAvx512;
  if (has_avx2()) levels.tables[levels.n++] = &kAvx2;
#endif
  levels.tables[levels.n++] = &kGeneric;
  return levels;
}

const KernelTable& choose() {
  const KernelTable& best = *available().front();
  const char* wanted = std::getenv("QUIVER_SIMD");
  if (wanted == nullptr || *wanted == '\0') return best;
  for (const KernelTable* table : available()) {
    if (std::string_view(table->name) == wanted) return *table;
  }
  std::fprintf(stderr, "QUIVER_SIMD=%s is not available here, using %s (available:", wanted,
               best.name);
  for (const KernelTable* table : available()) std::fprintf(stderr, " %s", table->name);
  std::fprintf(stderr, ")\n");
  return best;
}

}  // namespace

std::span<const KernelTable* const> available() {
  static const Levels levels = find_levels();
  return {levels.tables.data(), levels.n};
}

const KernelTable& kernels() {
  static const KernelTable& chosen = choose();
  return chosen;
}

}  // namespace quiver
