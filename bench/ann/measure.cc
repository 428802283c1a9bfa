#include "bench/ann/measure.h"

#include <algorithm>
#include <atomic>
#include <numeric>
#include <random>

#include "base/clock.h"
#include "base/mutex.h"
#include "bench/common/machine.h"

namespace quiver::bench {
namespace {

/// One pass. Each thread takes the next call until none is left or one has failed.
class Pass {
 public:
  Pass(const SearchSetup& setup, std::size_t batch, std::span<const std::uint32_t> order,
       std::span<double> latencies_us, std::vector<std::vector<index::Hit>>& hits)
      : setup_(setup), batch_(batch), order_(order), latencies_us_(latencies_us), hits_(hits) {}

  void work() {
    const double cpu = thread_cpu_seconds();
    const Stopwatch busy;
    std::vector<std::vector<index::Hit>> found(batch_);
    index::WorkCounters done;
    for (;;) {
      const std::size_t call = next_.fetch_add(1, std::memory_order_relaxed);
      if (call >= latencies_us_.size() || failed_.load(std::memory_order_relaxed)) break;
      const auto which =
          order_.subspan(call * batch_).first(std::min(batch_, order_.size() - call * batch_));
      const Stopwatch watch;
      auto result = search_call(setup_, which, std::span(found).first(which.size()), done);
      latencies_us_[call] = watch.seconds() * 1e6;
      for (std::size_t i = 0; i < which.size(); ++i) hits_[which[i]].swap(found[i]);
      if (!result) keep(std::move(result));
    }
    MutexLock lock(mutex_);
    done_.work += done;
    done_.busy_seconds += busy.seconds();
    done_.cpu_seconds += thread_cpu_seconds() - cpu;
  }

  /// Sums over all threads.
  struct Done {
    index::WorkCounters work;
    double busy_seconds = 0;  ///< wall time from a thread's first call to its last
    double cpu_seconds = 0;   ///< CPU time in that interval
  };
  [[nodiscard]] Result<Done> done() QV_EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    QV_TRY(std::move(status_));
    return done_;
  }

 private:
  void keep(Result<> result) QV_EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    failed_ = true;
    if (status_) status_ = std::move(result);
  }

  const SearchSetup& setup_;
  const std::size_t batch_;
  const std::span<const std::uint32_t> order_;
  const std::span<double> latencies_us_;        ///< one element per call
  std::vector<std::vector<index::Hit>>& hits_;  ///< one list per query; one call writes each
  std::atomic<std::size_t> next_ = 0;
  std::atomic<bool> failed_ = false;

  Mutex mutex_;
  Result<> status_ QV_GUARDED_BY(mutex_);
  Done done_ QV_GUARDED_BY(mutex_);
};

class Measuring {
 public:
  Measuring(const SearchSetup& setup, const MeasureOptions& method, Executor& executor)
      : setup_(setup), method_(method), executor_(executor), random_(method.seed) {
    order_.resize(setup.queries.size());
    std::iota(order_.begin(), order_.end(), 0U);
    measured_.hits.resize(order_.size());
  }

  Result<Measurement> run() && {
    for (std::size_t i = 0; i < method_.warmup; ++i) QV_TRY(pass());
    measured_.latencies_us.clear();
    seconds_ = cpu_seconds_ = busy_seconds_ = busy_cpu_seconds_ = 0;
    n_queries_ = 0;
    for (std::size_t i = 0; i < method_.repeats; ++i) QV_TRY(repeat());
    measured_.cpu_us = cpu_seconds_ * 1e6 / static_cast<double>(n_queries_);
    measured_.cpu_share = busy_cpu_seconds_ / busy_seconds_;
    return std::move(measured_);
  }

 private:
  Result<> repeat() {
    const double begun = seconds_;
    const std::size_t n_before = n_queries_;
    do {
      QV_TRY(pass());
    } while (seconds_ - begun < method_.min_seconds);
    measured_.qps.push_back(static_cast<double>(n_queries_ - n_before) / (seconds_ - begun));
    return {};
  }

  Result<> pass() {
    std::shuffle(order_.begin(), order_.end(), random_);
    auto& latencies = measured_.latencies_us;
    const std::size_t n_calls = (order_.size() + method_.batch - 1) / method_.batch;
    latencies.resize(latencies.size() + n_calls);
    Pass pass(setup_, method_.batch, order_, std::span(latencies).last(n_calls), measured_.hits);
    const double cpu = process_cpu_seconds();
    const Stopwatch watch;
    if (method_.threads == 1) {
      pass.work();
    } else {
      executor_.parallel_for(method_.threads, [&](std::size_t) { pass.work(); });
    }
    seconds_ += watch.seconds();
    cpu_seconds_ += process_cpu_seconds() - cpu;
    n_queries_ += order_.size();
    QV_TRY(const auto done, pass.done());
    measured_.work = done.work;
    busy_seconds_ += done.busy_seconds;
    busy_cpu_seconds_ += done.cpu_seconds;
    return {};
  }

  const SearchSetup& setup_;
  const MeasureOptions& method_;
  Executor& executor_;
  std::mt19937_64 random_;
  std::vector<std::uint32_t> order_;
  Measurement measured_;
  double seconds_ = 0;
  double cpu_seconds_ = 0;  ///< CPU time of the process
  double busy_seconds_ = 0;
  double busy_cpu_seconds_ = 0;
  std::size_t n_queries_ = 0;
};

}  // namespace

Result<Measurement> measure(const SearchSetup& setup, const MeasureOptions& method,
                            Executor& executor) {
  return Measuring(setup, method, executor).run();
}

}  // namespace quiver::bench
