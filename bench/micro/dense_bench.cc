// Kernels over rows (dense, bytes, bits), compared with two limits of the same run. One limit reads
// the same memory with eight independent 64-byte sums. The other runs the family's instruction on
// registers alone. Limits and kernels take turns in one process and medians are printed, so that
// other load disturbs all equally.
//
//   dense_bench [rounds [n_rows [dim]]]     defaults: 9 rounds over 100,000 rows of 384 values
//
// Each family is measured twice, over all rows and over as many as fit 256 KiB. Columns: ns per
// (query, row), GB/s of rows read, G operations/s (two for each product and sum; one for each bit),
// and the shares of the two limits. One query against rows in order (many) and in random order
// (gather), and tiles of eight.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "bench/micro/peaks.h"
#include "bench/micro/random_values.h"
#include "bench/micro/yardstick.h"
#include "kernels/kernels.h"

namespace quiver {
namespace {

constexpr std::size_t kTile = 8;
constexpr std::size_t kBlock = 256;  // rows per call, as in a search
constexpr std::size_t kCachedBytes = 256 * 1024;
constexpr std::size_t kPeakRounds = 20'000;

/// The instruction on twelve registers, `n_rounds` times.
#define QV_TWELVE(name, features, code)                                                           \
  __attribute__((target(features))) void name(std::size_t n_rounds) {                             \
    for (std::size_t round = 0; round < n_rounds; ++round) {                                      \
      __asm__ volatile(code "0\n" code "1\n" code "2\n" code "3\n" code "4\n" code "5\n" code     \
                            "6\n" code "7\n" code "8\n" code "9\n" code "10\n" code "11\n" ::     \
                                : "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", \
                                  "xmm8", "xmm9", "xmm10", "xmm11");                              \
    }                                                                                             \
  }
QV_TWELVE(count_bits, "avx512f,avx512vpopcntdq", "vpopcntq %%zmm15, %%zmm")
QV_TWELVE(multiply_add_bf16, "avx512f,avx512bf16", "vdpbf16ps %%zmm15, %%zmm15, %%zmm")
#undef QV_TWELVE

Peak bf16_peak() {
  if (!__builtin_cpu_supports("avx512bf16")) return {};
  return {multiply_add_bf16, 12.0 * 32 * 2};
}
Peak bit_peak() {
  if (!__builtin_cpu_supports("avx512vpopcntdq")) return {};
  return {count_bits, 12.0 * 512};
}

struct Case {
  std::string name;
  double n_queries = 0;
  std::function<void()> work;
  std::vector<double> times = {};
};

struct Shape {
  int rounds;
  std::size_t n_rows;
  std::uint32_t dim;
};

/// Rows of one stored type, queries, and the kernels over them.
template <class Query, class Score>
class Family {
 public:
  Family(std::string name, Shape shape, Values row_values, std::size_t row_bytes,
         Values query_values, std::size_t n_query_values, double operations, Peak port)
      : name_(std::move(name)),
        shape_(shape),
        stride_((row_bytes + 63) / 64 * 64),
        query_stride_((n_query_values * sizeof(Query) + 127) / 128 * 128 / sizeof(Query)),
        operations_(operations),
        port_(port),
        rows_(random_memory(shape.n_rows * stride_, row_values)),
        queries_(random_memory(kTile * query_stride_ * sizeof(Query), query_values)),
        ids_(shape.n_rows),
        scores_(kTile * kBlock) {
    for (std::size_t i = 0; i < ids_.size(); ++i) ids_[i] = static_cast<std::uint32_t>(i);
    std::shuffle(ids_.begin(), ids_.end(), std::mt19937(11));
    cases_.push_back({"(read the rows)", 0, [this] {
                        for (std::size_t i = 0; i < repeats(); ++i) read_all(rows_.get(), bytes());
                      }});
    cases_.push_back({"(port)", 0, [this] { port_.run(kPeakRounds); }});
  }

  /// Borrows `kernel`.
  void add(const std::string& name, const RowKernels<Query, Score>& kernel) {
    cases_.push_back({name + " many", 1, [&kernel, this] {
                        for_blocks([&](std::size_t first, std::size_t n) {
                          kernel.many(query(), shape_.dim, rows_.get() + first * stride_, stride_,
                                      n, scores_.data());
                        });
                      }});
    cases_.push_back({name + " gather", 1, [&kernel, this] {
                        for_blocks([&](std::size_t first, std::size_t n) {
                          kernel.gather(query(), shape_.dim, rows_.get(), stride_,
                                        ids_.data() + first, n, scores_.data());
                        });
                      }});
    cases_.push_back({name + " tile of 8", kTile, [&kernel, this] {
                        for_blocks([&](std::size_t first, std::size_t n) {
                          kernel.tile({query(), query_stride_, kTile}, shape_.dim,
                                      rows_.get() + first * stride_, stride_, n,
                                      {scores_.data(), kBlock});
                        });
                      }});
  }

  void run() {
    for (int round = 0; round < shape_.rounds; ++round) {
      for (Case& c : cases_) c.times.push_back(thread_seconds(c.work));
    }
    const double read = static_cast<double>(bytes() * repeats()) / median(cases_[0].times);
    const double port = port_.rate(kPeakRounds, median(cases_[1].times));
    std::printf("\n%s, %zu rows of %u\n%-22s %9s %8s %9s %10s %8s\n", name_.c_str(), shape_.n_rows,
                shape_.dim, "", "ns", "GB/s", "Gop/s", "bandwidth", "port");
    std::printf("%-22s %9s %8.1f\n%-22s %9s %8s %9.0f\n", "limits: reading", "", read * 1e-9,
                "limits: port", "", "", port * 1e-9);
    for (std::size_t i = 2; i < cases_.size(); ++i) print(cases_[i], read, port);
  }

 private:
  [[nodiscard]] const Query* query() const {
    return reinterpret_cast<const Query*>(queries_.get());
  }
  [[nodiscard]] std::size_t bytes() const { return shape_.n_rows * stride_ / 512 * 512; }
  /// Repeats small sets, so that they are timed for as long as large ones.
  [[nodiscard]] std::size_t repeats() const { return bytes() > 8 * kCachedBytes ? 1 : 40; }

  template <class Work>
  void for_blocks(Work work) const {
    for (std::size_t repeat = 0; repeat < repeats(); ++repeat) {
      for (std::size_t first = 0; first < shape_.n_rows; first += kBlock) {
        work(first, std::min(kBlock, shape_.n_rows - first));
      }
    }
  }

  void print(const Case& c, double read, double port) const {
    const double passes = static_cast<double>(shape_.n_rows * repeats());
    const double seconds = median(c.times);
    const double bytes_per_second = passes * static_cast<double>(stride_) / seconds;
    const double operations_per_second = passes * c.n_queries * operations_ / seconds;
    std::printf("%-22s %9.2f %8.1f %9.0f %9.0f%% %7.0f%%\n", c.name.c_str(),
                seconds / passes / c.n_queries * 1e9, bytes_per_second * 1e-9,
                operations_per_second * 1e-9, 100 * bytes_per_second / read,
                100 * operations_per_second / port);
  }

  std::string name_;
  Shape shape_;
  std::size_t stride_;
  std::size_t query_stride_;
  double operations_;  ///< per query and row
  Peak port_;          ///< rate of the instruction that bounds the family
  Memory rows_;
  Memory queries_;
  std::vector<std::uint32_t> ids_;
  std::vector<Score> scores_;
  std::vector<Case> cases_;
};

void bench_dense(const Shape& shape, RowType type, const char* name, Values values) {
  Family<float, float> family(std::string("f32 query, ") + name + " rows", shape, values,
                              shape.dim * bytes_per_value(values), Values::kF32, shape.dim,
                              2.0 * shape.dim, float_peak());
  for (const KernelTable* table : available()) {
    family.add(std::string(table->name) + " dot", table->dense(Similarity::kDot, type));
  }
  family.add("best l2", kernels().dense(Similarity::kNegL2Squared, type));
  family.add("best l1", kernels().dense(Similarity::kNegL1, type));
  family.run();
}

void bench_bf16(const Shape& shape) {
  Family<std::uint16_t, float> family("bf16 query, bf16 rows", shape, Values::kBf16, shape.dim * 2,
                                      Values::kBf16, shape.dim, 2.0 * shape.dim, bf16_peak());
  for (const KernelTable* table : available()) {
    family.add(std::string(table->name) + " dot", table->dense_family.bf16_dot);
  }
  family.run();
}

void bench_bytes(const Shape& shape) {
  Family<std::uint8_t, std::uint32_t> u8("u8 query, u8 rows", shape, Values::kBytes, shape.dim,
                                         Values::kBytes, shape.dim, 2.0 * shape.dim, code_peak());
  Family<std::uint8_t, std::int32_t> i8("prepared query, i8 rows", shape, Values::kBytes, shape.dim,
                                        Values::kBytes, shape.dim, 2.0 * shape.dim, code_peak());
  for (const KernelTable* table : available()) {
    u8.add(std::string(table->name) + " dot", table->bytes.u8[0]);
    i8.add(std::string(table->name) + " dot", table->bytes.i8_dot);
  }
  u8.add("best l2", kernels().bytes.u8[1]);
  u8.add("best l1", kernels().bytes.u8[2]);
  u8.run();
  i8.run();
}

/// Measures codes of `shape.dim` bytes.
void bench_binary(const Shape& shape) {
  Family<std::uint8_t, std::uint32_t> bits("codes of 1 bit, bytes", shape, Values::kBytes,
                                           shape.dim, Values::kBytes, shape.dim, 8.0 * shape.dim,
                                           bit_peak());
  Family<std::uint8_t, std::uint32_t> planes("4-bit query, codes of 1 bit, bytes", shape,
                                             Values::kBytes, shape.dim, Values::kBytes,
                                             4 * shape.dim, 32.0 * shape.dim, bit_peak());
  for (const KernelTable* table : available()) {
    bits.add(std::string(table->name) + " xor", table->binary.hamming);
    planes.add(std::string(table->name) + " dot", table->binary.dot_4bit);
  }
  bits.add("best and", kernels().binary.common);
  bits.run();
  planes.run();
}

/// The same shape with as many rows as fit the cache.
Shape cached(Shape shape, std::size_t row_bytes) {
  shape.n_rows = std::max<std::size_t>(kBlock, kCachedBytes / row_bytes / kBlock * kBlock);
  return shape;
}

void bench_all(const Shape& shape) {
  for (const Shape& s : {shape, cached(shape, std::size_t{shape.dim} * 4)}) {
    bench_dense(s, RowType::kF32, "f32", Values::kF32);
    bench_dense(s, RowType::kF16, "f16", Values::kF16);
    bench_dense(s, RowType::kBf16, "bf16", Values::kBf16);
    bench_dense(s, RowType::kU8, "u8", Values::kBytes);
    bench_bf16(s);
  }
  for (const Shape& s : {shape, cached(shape, shape.dim)}) bench_bytes(s);
  for (Shape s : {shape, cached(shape, 128)}) {
    s.dim = 128;  // 1,024 bits
    bench_binary(s);
  }
}

}  // namespace
}  // namespace quiver

int main(int argc, char** argv) {
  quiver::Shape shape{9, 100'000, 384};
  if (argc > 1) shape.rounds = std::atoi(argv[1]);
  if (argc > 2) shape.n_rows = static_cast<std::size_t>(std::atoll(argv[2]));
  if (argc > 3) shape.dim = static_cast<std::uint32_t>(std::atoi(argv[3]));
  quiver::bench_all(shape);
}
