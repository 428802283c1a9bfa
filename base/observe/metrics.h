// Numbers about the process, in the text format that Prometheus reads (version 0.0.4).
//
// Two ways to give one: a Counter, Gauge or Histogram that is updated as things happen, or a
// collector that is asked when somebody looks (for what comes and goes, as collections do).
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

/// Names and values; names match [a-zA-Z_][a-zA-Z0-9_]*, values are any UTF-8.
using Labels = std::vector<std::pair<std::string, std::string>>;

enum class MetricType : std::uint8_t { kCounter, kGauge, kHistogram };

/// Only grows. Thread-safe, as the other two are.
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

/// Counts of values by size, with fixed upper bounds and one bucket above the last.
class Histogram {
 public:
  /// `bounds` strictly ascending.
  explicit Histogram(std::vector<double> bounds);
  void observe(double value);

  [[nodiscard]] const std::vector<double>& bounds() const { return bounds_; }
  /// Number of values v with bounds[i - 1] < v <= bounds[i]; i = bounds().size() is the rest.
  [[nodiscard]] std::uint64_t bucket(std::size_t i) const {
    return buckets_[i].load(std::memory_order_relaxed);
  }
  [[nodiscard]] double sum() const { return sum_.load(std::memory_order_relaxed); }

 private:
  const std::vector<double> bounds_;
  std::vector<std::atomic<std::uint64_t>> buckets_;
  std::atomic<double> sum_ = 0;
};

/// Seconds from 0.1 ms to 10 s: for the duration of requests.
[[nodiscard]] std::vector<double> duration_bounds();

/// Samples on their way to text, grouped by metric. One thread.
class MetricsText {
 public:
  /// The first call for a name decides its help and type.
  void sample(std::string_view name, std::string_view help, MetricType type, const Labels& labels,
              double value);
  void histogram(std::string_view name, std::string_view help, const Labels& labels,
                 const Histogram& histogram);
  /// Metrics in the order of their names.
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

/// The metrics of a process. What `counter`, `gauge` and `histogram` return lives as long as the
/// registry; asking again with the same name and labels returns the same one. Keep the reference:
/// looking it up takes a lock. Thread-safe.
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

/// CPU seconds (user + system), resident and virtual memory, open files and their limit, threads,
/// start time; under the names that Prometheus clients use.
void collect_process_metrics(MetricsText& text);

}  // namespace quiver
