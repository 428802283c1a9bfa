// Counts, statistics and histograms of payload values.
#include <cmath>
#include <variant>

#include "payload/scalar/datetime.h"
#include "service/json/encode/encode.h"

namespace quiver::service::json {
namespace {

class AggregateWriter {
 public:
  explicit AggregateWriter(Writer& out) : out_(out) {}

  void operator()(const engine::CountAggregate& count) { out_.member("count", count.count); }
  void operator()(const engine::CardinalityAggregate& cardinality) {
    out_.member("distinct", cardinality.n_distinct);
  }
  void operator()(const engine::TermsAggregate& terms) {
    begin_buckets();
    for (const auto& hit : terms.hits) {
      out_.begin_object();
      out_.key("value");
      std::visit([this](const auto& value) { write(value); }, hit.value);
      end_bucket(hit.count);
    }
    out_.end_array();
    out_.member("distinct", terms.n_distinct);
    out_.member("missing", terms.n_missing);
  }
  void operator()(const payload::NumberStats& stats) {
    out_.member("count", stats.count);
    out_.member("missing", stats.n_missing);
    write_optional("min", stats.min);
    write_optional("max", stats.max);
    out_.key("sum");
    write(stats.sum);
    out_.key("avg");
    if (stats.average) {
      out_.f64(*stats.average);
    } else {
      out_.null();
    }
  }
  void operator()(const engine::NumberHistogram& histogram) {
    write_histogram(histogram, [this](double from) { write_bound(from); });
  }
  void operator()(const engine::CalendarHistogram& histogram) {
    write_histogram(histogram,
                    [this](std::int64_t from) { out_.string(payload::format_datetime(from)); });
  }

 private:
  void write(const std::string& text) { out_.string(text); }
  void write(bool flag) { out_.boolean(flag); }
  void write(std::int64_t number) { out_.i64(number); }
  void write(std::uint64_t number) { out_.u64(number); }
  void write(double number) { out_.f64(number); }
  void write(const payload::Number& number) {
    std::visit([this](auto value) { write(value); }, number);
  }
  void write_optional(std::string_view name, const std::optional<payload::Number>& number) {
    out_.key(name);
    if (number) {
      write(*number);
    } else {
      out_.null();
    }
  }
  /// Whole numbers without a point, as documents mostly have them.
  void write_bound(double bound) {
    constexpr double kTwo53 = 9007199254740992.0;
    if (std::floor(bound) == bound && std::fabs(bound) < kTwo53) {
      out_.i64(static_cast<std::int64_t>(bound));
    } else {
      out_.f64(bound);
    }
  }
  template <class Histogram, class WriteBound>
  void write_histogram(const Histogram& histogram, const WriteBound& write_from) {
    begin_buckets();
    for (const auto& [from, count] : histogram.buckets) {
      out_.begin_object();
      out_.key("from");
      write_from(from);
      end_bucket(count);
    }
    out_.end_array();
    out_.member("missing", histogram.n_missing);
  }
  void begin_buckets() {
    out_.key("buckets");
    out_.begin_array();
  }
  void end_bucket(std::uint64_t count) {
    out_.member("count", count);
    out_.end_object();
  }

  Writer& out_;
};

}  // namespace

void write_aggregate(Writer& out, const engine::Aggregate& aggregate) {
  out.begin_object();
  std::visit(AggregateWriter(out), aggregate);
  out.end_object();
}

}  // namespace quiver::service::json
