// Metrics of the process in the text format of Prometheus (version 0.0.4).
//
// A metric is provided in one of two ways. A Counter, Gauge or Histogram is updated by the code
// that it measures. A collector runs when the metrics are read, for things that come and go, such
// as collections.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/mutex.h"

namespace quiver {

/// Pairs of name and value. Names match [a-zA-Z_][a-zA-Z0-9_]*; values are any UTF-8.
using Labels = std::vector<std::pair<std::string, std::string>>;

enum class MetricType : std::uint8_t { kCounter, kGauge, kHistogram };

/// A number that only grows. Thread-safe, as Gauge and Histogram are.
class Counter {
 public:
  void add(std::uint64_t n = 1) { value_.fetch_add(n, std::memory_order_relaxed); }
  [[nodiscard]] std::uint64_t value() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::uint64_t> value_ = 0;
};

class Gauge {
 public:
  void set(double value) { value_.store(value, std::memory_order_relaxed); }
  void add(double difference) { value_.fetch_add(difference, std::memory_order_relaxed); }
  [[nodiscard]] double value() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<double> value_ = 0;
};

/// Counts values by size: fixed upper bounds, and one bucket above the last.
class Histogram {
 public:
  /// `bounds` strictly ascending.
  explicit Histogram(std::vector<double> bounds);
  void observe(double value);

  [[nodiscard]] const std::vector<double>& bounds() const { return bounds_; }
  /// Number of values v with bounds[i - 1] < v <= bounds[i]; the last bucket, i = bounds().size(),
  /// has no upper bound.
  [[nodiscard]] std::uint64_t bucket(std::size_t i) const {
    return buckets_[i].load(std::memory_order_relaxed);
  }
  [[nodiscard]] double sum() const { return sum_.load(std::memory_order_relaxed); }

 private:
  const std::vector<double> bounds_;
  std::vector<std::atomic<std::uint64_t>> buckets_;
  std::atomic<double> sum_ = 0;
};

/// Bounds for request durations: 0.1 ms to 10 s, in seconds.
[[nodiscard]] std::vector<double> duration_bounds();

/// Collects samples, grouped by metric, and prints them. One thread.
class MetricsText {
 public:
  /// The first call for a name decides its help and type.
  void sample(std::string_view name, std::string_view help, MetricType type, const Labels& labels,
              double value);
  void histogram(std::string_view name, std::string_view help, const Labels& labels,
                 const Histogram& histogram);
  /// All metrics as text, ordered by name.
  [[nodiscard]] std::string finish() const;

 private:
  struct Family {
    std::string help;
    MetricType type;
    std::string lines;
  };
  Family& family(std::string_view name, std::string_view help, MetricType type);

  std::map<std::string, Family, std::less<>> families_;
};

/// The metrics of a process. The references returned by `counter`, `gauge` and `histogram` are
/// valid as long as the registry; the same name and labels give the same object. Keep the
/// reference, because each lookup takes a lock. Thread-safe.
class MetricsRegistry {
 public:
  using Collector = std::function<void(MetricsText&)>;

  MetricsRegistry();
  ~MetricsRegistry();

  Counter& counter(std::string_view name, std::string_view help, const Labels& labels = {});
  Gauge& gauge(std::string_view name, std::string_view help, const Labels& labels = {});
  Histogram& histogram(std::string_view name, std::string_view help, const Labels& labels = {},
                       std::vector<double> bounds = duration_bounds());
  /// `collect` is called by `render`, from any thread, outside the registry's lock.
  void add_collector(Collector collect);

  [[nodiscard]] std::string render() const;

 private:
  struct Family;
  Family& family(std::string_view name, std::string_view help, MetricType type) QV_REQUIRES(mutex_);

  mutable Mutex mutex_;
  std::map<std::string, std::unique_ptr<Family>, std::less<>> families_ QV_GUARDED_BY(mutex_);
  std::vector<Collector> collectors_ QV_GUARDED_BY(mutex_);
};

/// Adds CPU seconds (user + system), resident and virtual memory, open files and their limit,
/// threads and start time, under the names that Prometheus clients use.
void collect_process_metrics(MetricsText& text);

}  // namespace quiver
