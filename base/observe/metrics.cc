#include "base/observe/metrics.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/check.h"

namespace quiver {
namespace {

std::string_view type_name(MetricType type) {
  switch (type) {
    case MetricType::kCounter:
      return "counter";
    case MetricType::kGauge:
      return "gauge";
    case MetricType::kHistogram:
      return "histogram";
  }
  return "untyped";
}

std::string format_value(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "+Inf" : "-Inf";
  if (value == std::trunc(value) && std::abs(value) < 9e15) return fmt::format("{:.0f}", value);
  return fmt::format("{}", value);
}

/// Escapes backslash and newline, and with `quotes` also the quote (for label values).
std::string escape(std::string_view text, bool quotes) {
  std::string out;
  for (const char c : text) {
    if (c == '\n') {
      out += "\\n";
      continue;
    }
    if (c == '\\' || (quotes && c == '"')) out += '\\';
    out += c;
  }
  return out;
}

std::string format_labels(const Labels& labels) {
  if (labels.empty()) return {};
  std::string out = "{";
  for (const auto& [name, value] : labels) {
    if (out.size() > 1) out += ',';
    out += fmt::format("{}=\"{}\"", name, escape(value, /*quotes=*/true));
  }
  return out + "}";
}

Labels with_bound(Labels labels, double bound) {
  labels.emplace_back("le", format_value(bound));
  return labels;
}

void append_sample(std::string& lines, std::string_view name, std::string_view suffix,
                   const Labels& labels, double value) {
  lines += fmt::format("{}{}{} {}\n", name, suffix, format_labels(labels), format_value(value));
}

}  // namespace

Histogram::Histogram(std::vector<double> bounds)
    : bounds_(std::move(bounds)), buckets_(bounds_.size() + 1) {
  QV_CHECK(std::ranges::adjacent_find(bounds_, std::greater_equal<>{}) == bounds_.end());
}

void Histogram::observe(double value) {
  const auto i = std::ranges::lower_bound(bounds_, value) - bounds_.begin();
  buckets_[static_cast<std::size_t>(i)].fetch_add(1, std::memory_order_relaxed);
  sum_.fetch_add(value, std::memory_order_relaxed);
}

std::vector<double> duration_bounds() {
  return {0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025,
          0.05,   0.1,     0.25,   0.5,   1,      2.5,   5,    10};
}

MetricsText::Family& MetricsText::family(std::string_view name, std::string_view help,
                                         MetricType type) {
  const auto found = families_.find(name);
  if (found != families_.end()) return found->second;
  return families_.emplace(name, Family{std::string(help), type, {}}).first->second;
}

void MetricsText::sample(std::string_view name, std::string_view help, MetricType type,
                         const Labels& labels, double value) {
  append_sample(family(name, help, type).lines, name, "", labels, value);
}

void MetricsText::histogram(std::string_view name, std::string_view help, const Labels& labels,
                            const Histogram& histogram) {
  std::string& lines = family(name, help, MetricType::kHistogram).lines;
  const auto& bounds = histogram.bounds();
  std::uint64_t below = 0;  // Prometheus wants cumulative counts
  for (std::size_t i = 0; i <= bounds.size(); ++i) {
    below += histogram.bucket(i);
    const double bound = i < bounds.size() ? bounds[i] : HUGE_VAL;
    append_sample(lines, name, "_bucket", with_bound(labels, bound), static_cast<double>(below));
  }
  append_sample(lines, name, "_sum", labels, histogram.sum());
  append_sample(lines, name, "_count", labels, static_cast<double>(below));
}

std::string MetricsText::finish() const {
  std::string out;
  for (const auto& [name, family] : families_) {
    out += fmt::format("# HELP {} {}\n# TYPE {} {}\n{}", name, escape(family.help, false), name,
                       type_name(family.type), family.lines);
  }
  return out;
}

/// All label sets of one metric; only the map of its type is filled. Map nodes do not move.
struct MetricsRegistry::Family {
  std::string help;
  MetricType type;
  std::map<Labels, Counter> counters;
  std::map<Labels, Gauge> gauges;
  std::map<Labels, Histogram> histograms;
};

MetricsRegistry::MetricsRegistry() = default;
MetricsRegistry::~MetricsRegistry() = default;

MetricsRegistry::Family& MetricsRegistry::family(std::string_view name, std::string_view help,
                                                 MetricType type) {
  auto found = families_.find(name);
  if (found == families_.end()) {
    auto made = std::make_unique<Family>();
    made->help = help;
    made->type = type;
    found = families_.emplace(name, std::move(made)).first;
  }
  QV_CHECK(found->second->type == type);
  return *found->second;
}

Counter& MetricsRegistry::counter(std::string_view name, std::string_view help,
                                  const Labels& labels) {
  MutexLock lock(mutex_);
  return family(name, help, MetricType::kCounter).counters.try_emplace(labels).first->second;
}

Gauge& MetricsRegistry::gauge(std::string_view name, std::string_view help, const Labels& labels) {
  MutexLock lock(mutex_);
  return family(name, help, MetricType::kGauge).gauges.try_emplace(labels).first->second;
}

Histogram& MetricsRegistry::histogram(std::string_view name, std::string_view help,
                                      const Labels& labels, std::vector<double> bounds) {
  MutexLock lock(mutex_);
  return family(name, help, MetricType::kHistogram)
      .histograms.try_emplace(labels, std::move(bounds))
      .first->second;
}

void MetricsRegistry::add_collector(Collector collect) {
  MutexLock lock(mutex_);
  collectors_.push_back(std::move(collect));
}

std::string MetricsRegistry::render() const {
  MetricsText text;
  std::vector<Collector> collectors;
  {
    MutexLock lock(mutex_);
    collectors = collectors_;
    for (const auto& [name, family] : families_) {
      for (const auto& [labels, counter] : family->counters) {
        text.sample(name, family->help, family->type, labels, static_cast<double>(counter.value()));
      }
      for (const auto& [labels, gauge] : family->gauges) {
        text.sample(name, family->help, family->type, labels, gauge.value());
      }
      for (const auto& [labels, histogram] : family->histograms) {
        text.histogram(name, family->help, labels, histogram);
      }
    }
  }
  for (const auto& collect : collectors) collect(text);
  return text.finish();
}

}  // namespace quiver
