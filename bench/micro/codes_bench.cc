// Scans of codes (FastScan blocks of 16 rows), compared with two limits of the same run. One limit
// reads the same lists in the same order with eight independent 64-byte sums. The other runs the
// instructions of the scan on registers alone (nan where the processor lacks them). All take turns
// in one process and medians are printed, so that other load disturbs all equally.
//
//   codes_bench [rounds [dim [rows_per_list]]]      defaults: 9 rounds, 384 dimensions, 160 rows
//
// Lists are scanned in random order, as a search does, over memory that fits L2, L3, and neither;
// the threshold lets about one row in a hundred pass. ns per row, GB/s, Gop/s (a look-up of four
// dimensions and its addition are two operations), and the share of the better limit that is
// reached.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <random>
#include <vector>

#include "bench/micro/yardstick.h"
#include "kernels/kernels.h"

namespace quiver {
namespace {

/// Instructions for 16 rows of 32 dimensions: two look-ups, two sums, and two operations for the
/// indices of each look-up.
__attribute__((target("avx512f,avx512bw,avx512vbmi,avx512vnni"))) void look_up_lines(
    std::size_t n) {
  for (std::size_t line = 0; line < n; ++line) {
    __asm__ volatile(
        "vpternlogd $0xea, %%zmm15, %%zmm14, %%zmm0\n vpsrld $4, %%zmm13, %%zmm1\n"
        "vpternlogd $0xea, %%zmm15, %%zmm14, %%zmm1\n"
        "vpermb %%zmm12, %%zmm0, %%zmm2\n vpermb %%zmm12, %%zmm1, %%zmm3\n"
        "vpdpbusd %%zmm11, %%zmm2, %%zmm4\n vpdpbusd %%zmm11, %%zmm3, %%zmm5\n" ::
            : "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5");
  }
}

class Scan {
 public:
  Scan(std::uint32_t dim, std::size_t rows_per_list, std::size_t n_bytes)
      : blocks_{nullptr, dim / 32, 1, std::max<std::size_t>(1, rows_per_list / 16)},
        n_lists_(std::max<std::size_t>(1, n_bytes / list_bytes())),
        memory_(static_cast<std::byte*>(
            std::aligned_alloc(64, (n_lists_ * list_bytes() + 511) / 512 * 512))),
        order_(n_lists_),
        tables_(static_cast<std::byte*>(std::aligned_alloc(64, std::size_t{dim} * 4))),
        scores_(4096),
        positions_(4096) {
    std::mt19937 random(7);
    auto* words = reinterpret_cast<std::uint32_t*>(memory_.get());
    for (std::size_t i = 0; i < n_lists_ * list_bytes() / 4; ++i) words[i] = random();
    for (std::size_t b = 0; b < n_lists_ * blocks_.n; ++b) {
      auto* factors =
          reinterpret_cast<float*>(memory_.get() + (b + 1) * blocks_.block_bytes() - 128);
      for (std::size_t i = 0; i < 32; ++i) factors[i] = i < 16 ? 1.0F : 0.0F;
    }
    for (std::size_t i = 0; i < n_lists_; ++i) order_[i] = i;
    std::shuffle(order_.begin(), order_.end(), random);
    std::vector<float> query(dim);
    std::normal_distribution<float> normal;
    for (auto& value : query) value = normal(random);
    query_ = kernels().codes.prepare(query.data(), dim / 32,
                                     reinterpret_cast<std::uint8_t*>(tables_.get()));
    // Half of a row's products are positive: the sum's deviation is sqrt(dim) / 2.
    threshold_ = 2.33F * 0.5F * std::sqrt(static_cast<float>(dim));
  }

  void scan() {
    for (std::size_t i = 0; i < n_lists_; ++i) {
      CodeBlocks blocks = blocks_;
      blocks.first = list(i);
      blocks.next = list((i + 1) % n_lists_);
      CodeHits hits{scores_.data(), positions_.data(), scores_.size(), 0};
      kernels().codes.scan(query_, blocks, 0, threshold_, nullptr, 0, hits);
      g_sink = static_cast<float>(hits.n);
    }
  }
  void read() const {
    for (std::size_t i = 0; i < n_lists_; ++i) read_all(list(i), list_bytes() / 512 * 512);
  }
  void ports() const {
    if (has_ports()) look_up_lines(n_lists_ * blocks_.n * blocks_.n_lines);
  }
  /// True if the processor has the instructions of that limit.
  static bool has_ports() {
    return __builtin_cpu_supports("avx512vbmi") && __builtin_cpu_supports("avx512vnni");
  }

  [[nodiscard]] double rows() const { return static_cast<double>(n_lists_ * blocks_.n * 16); }
  [[nodiscard]] double operations() const { return rows() * blocks_.n_lines * (2 * 32 / 4); }
  [[nodiscard]] double bytes() const { return static_cast<double>(n_lists_ * list_bytes()); }

 private:
  [[nodiscard]] std::size_t list_bytes() const { return blocks_.n * blocks_.block_bytes(); }
  [[nodiscard]] const std::byte* list(std::size_t i) const {
    return memory_.get() + order_[i] * list_bytes();
  }

  CodeBlocks blocks_;
  std::size_t n_lists_;
  Memory memory_;
  std::vector<std::size_t> order_;
  Memory tables_;
  CodeTables query_;
  float threshold_ = 0;
  std::vector<float> scores_;
  std::vector<std::uint32_t> positions_;
};

void measure(const char* name, int rounds, Scan scan) {
  const auto repeats = static_cast<int>(std::max(1.0, 64e6 / scan.bytes()));
  const auto seconds = [&](auto work) {
    return thread_seconds([&] {
             for (int i = 0; i < repeats; ++i) work();
           }) /
           repeats;
  };
  std::vector<double> scans;
  std::vector<double> reads;
  std::vector<double> ports;
  for (int round = 0; round < rounds; ++round) {
    scans.push_back(seconds([&] { scan.scan(); }));
    reads.push_back(seconds([&] { scan.read(); }));
    ports.push_back(seconds([&] { scan.ports(); }));
  }
  const double took = median(scans);
  const double ports_s = Scan::has_ports() ? median(ports) : std::nan("");
  const double floor = std::fmax(median(reads), ports_s);
  std::printf("%-14s %8.2f %8.1f %8.1f %12.2f %12.2f %8.0f %%\n", name, took / scan.rows() * 1e9,
              scan.bytes() / took * 1e-9, scan.operations() / took * 1e-9,
              median(reads) / scan.rows() * 1e9, ports_s / scan.rows() * 1e9, floor / took * 100);
}

}  // namespace
}  // namespace quiver

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 9;
  const auto dim = static_cast<std::uint32_t>(argc > 2 ? std::atoi(argv[2]) : 384);
  const auto rows = static_cast<std::size_t>(argc > 3 ? std::atoi(argv[3]) : 160);
  std::printf("%s, %u dimensions, lists of %zu rows\n%-14s %8s %8s %8s %12s %12s %10s\n",
              quiver::kernels().name, dim, rows, "memory", "ns/row", "GB/s", "Gop/s", "reading ns",
              "ports ns", "reached");
  quiver::measure("256 KiB (L2)", rounds, quiver::Scan(dim, rows, 256 << 10));
  quiver::measure("6 MiB (L3)", rounds, quiver::Scan(dim, rows, 6 << 20));
  quiver::measure("256 MiB (RAM)", rounds, quiver::Scan(dim, rows, 256 << 20));
}
