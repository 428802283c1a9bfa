// Measures a kernel at every level of this processor beside two limits of the same run: reading as
// many bytes, and the instructions of its loop on registers alone (ports.h).
#pragma once

#include <cstdio>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "bench/micro/random_values.h"
#include "bench/micro/yardstick.h"
#include "kernels/kernels.h"

namespace quiver {

using Loop = void (*)(std::size_t n);

/// Instructions on registers alone, and the units of one step; null: not measured.
struct Ports {
  Loop loop = nullptr;
  double units = 1;
};

struct Step {
  const char* name;
  const char* unit;
  double n;            ///< units
  double bytes;        ///< per unit, read and written
  double operations;   ///< per unit
  Ports avx512, avx2;  ///< instructions of these levels
  std::function<void(const KernelTable&)> run;

  [[nodiscard]] Ports ports(const std::string& level) const {
    return level == "avx512" ? avx512 : level == "avx2" ? avx2 : Ports{};
  }
};

/// Times batches of runs of a quarter of a millisecond; returns the median time of one run.
class Timer {
 public:
  explicit Timer(std::function<void()> work) : work_(std::move(work)) {
    while (seconds() * n_ < 250e-6) n_ *= 2;
  }
  void take() { times_.push_back(seconds()); }
  [[nodiscard]] double result() const { return median(times_); }

 private:
  [[nodiscard]] double seconds() const {
    return thread_seconds([&] {
             for (int i = 0; i < n_; ++i) work_();
           }) /
           n_;
  }
  std::function<void()> work_;
  int n_ = 1;
  std::vector<double> times_;
};

/// Prints a line for each level. Kernels and limits take turns; medians are printed.
inline void measure(const Step& step, int rounds) {
  const auto n_bytes = static_cast<std::size_t>(step.n * step.bytes + 511) / 512 * 512;
  const Memory memory = random_memory(n_bytes, Values::kF32);
  Timer reading([&] { read_all(memory.get(), n_bytes); });
  std::vector<Timer> kernels, ports;
  for (const KernelTable* table : available()) {
    kernels.emplace_back([&step, table] { step.run(*table); });
    const Ports limit = step.ports(table->name);
    const auto n_steps = static_cast<std::size_t>(step.n / limit.units);
    ports.emplace_back([limit, n_steps] {
      if (limit.loop != nullptr) limit.loop(n_steps);
    });
  }
  for (int round = 0; round < rounds; ++round) {
    reading.take();
    for (std::size_t i = 0; i < kernels.size(); ++i) {
      kernels[i].take();
      ports[i].take();
    }
  }
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    const KernelTable& table = *available()[i];
    const double took = kernels[i].result();
    std::printf("%-30s %-8s %-7s %9.3f %8.1f %8.2f %8.0f %%", i == 0 ? step.name : "",
                i == 0 ? step.unit : "", table.name, took / step.n * 1e9,
                step.n * step.bytes / took * 1e-9, step.n * step.operations / took * 1e-9,
                100 * reading.result() / took);
    if (step.ports(table.name).loop == nullptr) {
      std::printf(" %9s\n", "");
    } else {
      std::printf(" %7.0f %%\n", 100 * ports[i].result() / took);
    }
  }
}

}  // namespace quiver
