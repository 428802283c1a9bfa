// Kernels beside two limits of the same run: the bandwidth of a loop with eight independent
// accumulators over the same bytes, and products of f32 on registers alone. Prints nanoseconds per
// row, GB/s, G operations/s (two for each product and sum), and the shares of both limits. Loops
// and kernels take turns in one process and medians are printed, so that other load disturbs all
// equally.
//
//   micro_bench [rounds]        late interaction and the threshold filter; default: 15 rounds, one
//                               thread. Kernels over dense rows have dense_bench.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "bench/micro/peaks.h"
#include "bench/micro/yardstick.h"
#include "kernels/kernels.h"

namespace quiver {
namespace {

/// `n_rows` rows of random values of one type, 64-byte aligned and padded.
class Rows {
 public:
  Rows(std::size_t n_rows, std::uint32_t dim, DType dtype)
      : n_rows_(n_rows), stride_((std::size_t{dim} * bytes_per_value(dtype) + 63) / 64 * 64) {
    memory_.reset(static_cast<std::byte*>(std::aligned_alloc(64, n_rows * stride_)));
    std::mt19937 random(7);
    std::vector<float> row(dim);
    for (std::size_t i = 0; i < n_rows; ++i) {
      for (float& value : row) value = static_cast<float>(random() % 2001) / 1000.0f - 1.0f;
      store(row, dtype, memory_.get() + i * stride_);
    }
  }
  [[nodiscard]] const std::byte* data() const { return memory_.get(); }
  [[nodiscard]] std::size_t stride() const { return stride_; }
  [[nodiscard]] std::size_t bytes() const { return n_rows_ * stride_; }

 private:
  static void store(const std::vector<float>& row, DType dtype, std::byte* to) {
    if (dtype == DType::kF32) std::memcpy(to, row.data(), row.size() * 4);
    if (dtype == DType::kF16) {
      kernels().convert.f32_to_f16(row.data(), row.size(), reinterpret_cast<std::uint16_t*>(to));
    }
    if (dtype == DType::kU8) {
      for (std::size_t i = 0; i < row.size(); ++i) {
        to[i] = static_cast<std::byte>(static_cast<int>((row[i] + 1.0f) * 127.0f));
      }
    }
  }

  std::size_t n_rows_;
  std::size_t stride_;
  std::unique_ptr<std::byte, Free> memory_;
};

struct Case {
  std::string name;
  std::function<void()> work;
  std::vector<double> times = {};
};

/// Bytes and operations of one run of a case.
struct Work {
  std::size_t n_rows;
  std::size_t bytes;
  double operations;  ///< two for each product; 0: none
};

constexpr std::size_t kPeakRounds = 50'000;

/// The first of `cases` only reads the same bytes.
void run(const char* title, std::vector<Case>& cases, int rounds, const Work& work) {
  std::vector<double> products;
  for (int round = 0; round < rounds; ++round) {
    for (Case& c : cases) c.times.push_back(thread_seconds(c.work));
    products.push_back(thread_seconds([] { float_peak().run(kPeakRounds); }));
  }
  const double peak = float_peak().rate(kPeakRounds, median(products));
  const double yardstick = median(cases.front().times);
  std::printf("\n%s; products in registers: %.0f Gop/s\n%-24s %10s %8s %8s %10s %8s\n", title,
              peak * 1e-9, "", "ns/row", "GB/s", "Gop/s", "bandwidth", "products");
  for (const Case& c : cases) {
    const double time = median(c.times);
    std::printf("%-24s %10.2f %8.2f", c.name.c_str(), time / static_cast<double>(work.n_rows) * 1e9,
                static_cast<double>(work.bytes) / time * 1e-9);
    if (work.operations == 0 || &c == &cases.front()) {
      std::printf(" %8s %9.0f%%\n", "", 100.0 * yardstick / time);
    } else {
      std::printf(" %8.1f %9.0f%% %7.0f%%\n", work.operations / time * 1e-9,
                  100.0 * yardstick / time, 100.0 * work.operations / time / peak);
    }
  }
}

struct Shape {
  int rounds;
};

const char* name_of(DType dtype) {
  return dtype == DType::kF32 ? "f32" : dtype == DType::kF16 ? "f16" : "u8";
}

/// 32 query tokens against documents of 100 tokens; a row is one document.
void bench_maxsim(const Shape& shape, DType dtype) {
  constexpr std::size_t kQuery = 32, kDoc = 100, kDocs = 200;
  constexpr std::uint32_t kDim = 128;
  const Rows rows(kDoc * kDocs, kDim, dtype);
  const std::vector<float> query(kQuery * kDim, 0.25f);
  std::vector<float> prepared(MaxSimKernels::prepared_floats(kQuery, kDim));
  kernels().maxsim_family.prepare(query.data(), kQuery, kDim, kDim, prepared.data());
  std::vector<Case> cases;
  cases.push_back({"read all", [&] { read_all(rows.data(), rows.bytes()); }});
  for (const KernelTable* table : available()) {
    cases.push_back({std::string(table->name) + " dot", [&, table] {
                       const auto score = table->maxsim(Similarity::kDot, dtype);
                       for (std::size_t i = 0; i < kDocs; ++i) {
                         g_sink =
                             score(prepared.data(), kQuery, kDim,
                                   rows.data() + i * kDoc * rows.stride(), rows.stride(), kDoc);
                       }
                     }});
  }
  const std::string title = std::string("late interaction 32 x 100 x 128 ") + name_of(dtype);
  run(title.c_str(), cases, shape.rounds,
      {kDocs, rows.bytes(), 2.0 * kQuery * kDoc * kDim * kDocs});
}

void bench_topk(const Shape& shape) {
  const Rows scores(256, 1024, DType::kF32);
  const auto* values = reinterpret_cast<const float*>(scores.data());
  std::vector<std::uint32_t> positions(1024);
  std::vector<Case> cases;
  cases.push_back({"read all", [&] { read_all(scores.data(), scores.bytes()); }});
  for (const KernelTable* table : available()) {
    cases.push_back({std::string(table->name) + " 1 % kept", [&, table] {
                       for (std::size_t i = 0; i < 256; ++i) {
                         table->topk.at_least(values + i * 1024, 1024, 0.98f, positions.data());
                       }
                     }});
  }
  run("threshold filter, per 1024 scores", cases, shape.rounds, {256, scores.bytes(), 0});
}

}  // namespace
}  // namespace quiver

int main(int argc, char** argv) {
  using quiver::DType;
  quiver::Shape shape{15};
  if (argc > 1) shape.rounds = std::atoi(argv[1]);
  for (const DType dtype : {DType::kF32, DType::kF16, DType::kU8})
    quiver::bench_maxsim(shape, dtype);
  quiver::bench_topk(shape);
}
