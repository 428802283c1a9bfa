// The picture: bytes a vector (logarithmic) against recall, one dot for each effort of each way.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <string_view>
#include <vector>

#include "bench/advise/report.h"
#include "bench/common/text_table.h"

namespace quiver::bench::advise {
namespace {

constexpr double kLeastWidth = 1000, kHeight = 560;
constexpr double kLeft = 70, kRight = 600, kTop = 50, kBottom = 490;
constexpr double kLegendLeft = 640;
/// Of bold text.
constexpr double kWidthOfCharacter = 7.2;

/// Maps values to pixels, in proportion to the value or to its logarithm.
struct Scale {
  double low = 0, high = 1, first = 0, last = 1;
  [[nodiscard]] double at(double value) const {
    return first + (value - low) / (high - low) * (last - first);
  }
};

struct Scales {
  Scale bytes;  ///< of log2
  Scale recall;
  Scale rate;  ///< of log10, to [0, 1]
};

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '&')
      out += "&amp;";
    else if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else
      out += c;
  }
  return out;
}

std::string text_at(double x, double y, std::string_view text, std::string_view more = "") {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" {}>{}</text>\n", x, y, more, escaped(text));
}

std::string line_to(double x1, double y1, double x2, double y2, std::string_view style) {
  return fmt::format("<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" {}/>\n", x1, y1,
                     x2, y2, style);
}

/// From yellow (slow) over green to dark blue (fast); also told apart by their lightness.
std::string colour(double share) {
  constexpr std::array<std::array<double, 3>, 4> kStops = {
      {{240, 200, 50}, {95, 190, 100}, {35, 125, 140}, {60, 15, 85}}};
  const double at = std::clamp(share, 0.0, 1.0) * (kStops.size() - 1);
  const auto stop = std::min<std::size_t>(static_cast<std::size_t>(at), kStops.size() - 2);
  const double part = at - static_cast<double>(stop);
  std::array<int, 3> rgb{};
  for (std::size_t i = 0; i < 3; ++i) {
    rgb[i] = static_cast<int>(kStops[stop][i] * (1 - part) + kStops[stop + 1][i] * part);
  }
  return fmt::format("#{:02x}{:02x}{:02x}", rgb[0], rgb[1], rgb[2]);
}

/// Recall below this is not drawn: the lowest of the recommended efforts, with some room.
double lowest_recall(const Advice& advice) {
  double lowest = advice.limits.recall.value_or(1);
  for (const Point& point : best_points(advice.ways, advice.limits)) {
    lowest = std::min(lowest, point.recall);
  }
  return std::floor(std::max(0.0, lowest - 0.02) * 50) / 50;
}

Scales scales_of(const Advice& advice) {
  const auto points = points_of(advice.ways);
  const auto [fewest, most] = std::ranges::minmax_element(points, {}, &Point::bytes);
  const auto [slowest, fastest] = std::ranges::minmax_element(points, {}, &Point::qps);
  const auto log_of = [](double value) { return std::log10(std::max(value, 1e-3)); };
  return {{std::log2(fewest->bytes) - 0.25, std::log2(most->bytes) + 0.25, kLeft, kRight},
          {lowest_recall(advice), 1.002, kBottom, kTop},
          {log_of(slowest->qps) - 1e-6, log_of(fastest->qps) + 1e-6, 0, 1}};
}

std::string bytes_axis(const Scale& scale) {
  std::string out;
  for (double bytes = 1; std::log2(bytes) <= scale.high; bytes *= 2) {
    for (const double tick : {bytes, bytes * 1.5}) {
      const double log = std::log2(tick);
      if (log < scale.low || log > scale.high) continue;
      out += line_to(scale.at(log), kTop, scale.at(log), kBottom, "stroke=\"#ececec\"");
      out += text_at(scale.at(log), kBottom + 18, grouped(tick, 0), "text-anchor=\"middle\"");
    }
  }
  return out + text_at((kLeft + kRight) / 2, kBottom + 42,
                       "bytes a vector: row and index (logarithmic)", "text-anchor=\"middle\"");
}

std::string recall_axis(const Scale& scale, std::size_t k) {
  std::string out;
  const double span = 1 - scale.low;
  const double step = span > 0.4 ? 0.1 : span > 0.15 ? 0.05 : span > 0.06 ? 0.02 : 0.01;
  for (int i = 0; 1 - i * step >= scale.low - 1e-9; ++i) {
    const double y = scale.at(1 - i * step);
    out += line_to(kLeft, y, kRight, y, "stroke=\"#ececec\"");
    out += text_at(kLeft - 8, y + 4, fmt::format("{:.2f}", 1 - i * step), "text-anchor=\"end\"");
  }
  const double middle = (kTop + kBottom) / 2;
  return out +
         text_at(20, middle, fmt::format("recall@{} against the vectors as given", k),
                 fmt::format("text-anchor=\"middle\" transform=\"rotate(-90 20 {})\"", middle));
}

std::string limit_lines(const Advice& advice, const Scales& scales) {
  constexpr std::string_view kDashes = "stroke=\"#c0392b\" stroke-dasharray=\"6 4\"";
  std::string out;
  if (advice.limits.recall) {
    const double y = scales.recall.at(*advice.limits.recall);
    out += line_to(kLeft, y, kRight, y, kDashes);
  }
  if (advice.limits.bytes) {
    const double log = std::log2(*advice.limits.bytes);
    const double x = scales.bytes.at(std::clamp(log, scales.bytes.low, scales.bytes.high));
    out += line_to(x, kTop, x, kBottom, kDashes);
  }
  return out;
}

double rate_share(const Scales& scales, double qps) {
  return scales.rate.at(std::log10(std::max(qps, 1e-3)));
}

/// Dots of all efforts. The number of a way stands beside the effort that suits the limits best.
std::string dots(const Advice& advice, const Scales& scales) {
  std::string out;
  const Point best = best_point(advice);
  const auto best_of_way = best_points(advice.ways, advice.limits);
  for (const Point& point : points_of(advice.ways)) {
    if (point.recall < scales.recall.low) continue;
    const double x = scales.bytes.at(std::log2(point.bytes));
    const double y = scales.recall.at(point.recall);
    const bool is_chosen = best_of_way[point.way].effort == point.effort;
    const bool is_best = best.way == point.way && best.effort == point.effort;
    out += fmt::format(
        "<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{}\" fill=\"{}\" stroke=\"{}\" "
        "stroke-width=\"{}\"><title>{} {}: {:.0f} bytes, recall {:.4f}, {:.0f} QPS</title>"
        "</circle>\n",
        x, y, is_chosen ? 7 : 4, colour(rate_share(scales, point.qps)),
        is_best ? "#c0392b" : "#444", is_best ? 3 : 0.7,
        escaped(way_text(advice.ways[point.way].way)),
        escaped(params_text(advice.ways[point.way].efforts[point.effort].params)), point.bytes,
        point.recall, point.qps);
    if (is_chosen) {
      out += text_at(x + (point.way % 2 == 0 ? 10 : -10), y + 4, std::to_string(point.way + 1),
                     point.way % 2 == 0 ? "" : "text-anchor=\"end\"");
    }
  }
  return out;
}

std::string rate_legend(const Scales& scales) {
  std::string out;
  constexpr int kSteps = 40;
  constexpr double kX = kLegendLeft, kY = 500, kStep = 4;
  for (int i = 0; i < kSteps; ++i) {
    out += fmt::format("<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"12\" fill=\"{}\"/>\n",
                       kX + i * kStep, kY, kStep + 0.5, colour(i / double{kSteps - 1}));
  }
  const auto rate = [](double log) { return grouped(std::pow(10, log), 0); };
  out += text_at(kX, kY + 28, rate(scales.rate.low));
  out += text_at(kX + kSteps * kStep, kY + 28, rate(scales.rate.high), "text-anchor=\"end\"");
  return out + text_at(kX + kSteps * kStep + 10, kY + 11, "searches/s, one thread");
}

/// One line for each way.
std::vector<std::string> legend_lines(const Advice& advice) {
  std::vector<std::string> lines;
  const auto points = best_points(advice.ways, advice.limits);
  for (std::size_t way = 0; way < advice.ways.size(); ++way) {
    lines.push_back(fmt::format("{}  {}: {} QPS", way + 1, way_text(advice.ways[way].way),
                                grouped(points[way].qps, 0)));
  }
  return lines;
}

std::string way_legend(const std::vector<std::string>& lines, std::size_t best) {
  std::string out;
  for (std::size_t way = 0; way < lines.size(); ++way) {
    out += text_at(kLegendLeft, kTop + 10 + 18 * static_cast<double>(way), lines[way],
                   way == best ? "font-weight=\"bold\" fill=\"#c0392b\"" : "");
  }
  return out;
}

double width_for(const std::vector<std::string>& lines) {
  const auto longest = std::ranges::max(lines, {}, &std::string::size).size();
  return std::max(kLeastWidth, kLegendLeft + kWidthOfCharacter * static_cast<double>(longest));
}

}  // namespace

std::string to_svg(const Advice& advice) {
  const Scales scales = scales_of(advice);
  const auto legend = legend_lines(advice);
  std::string out = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" "
      "viewBox=\"0 0 {0} {1}\" font-family=\"sans-serif\" font-size=\"12\" fill=\"#222\">\n"
      "<rect width=\"{0}\" height=\"{1}\" fill=\"#ffffff\"/>\n",
      width_for(legend), kHeight);
  out += text_at(kLeft, 28,
                 fmt::format("{}: {} rows of {} dimensions", advice.data,
                             grouped(static_cast<double>(advice.n_rows), 0), advice.schema.dim),
                 "font-size=\"15\"");
  out += bytes_axis(scales.bytes) + recall_axis(scales.recall, advice.k);
  out += fmt::format(
      "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"none\" stroke=\"#888\"/>\n", kLeft,
      kTop, kRight - kLeft, kBottom - kTop);
  out += limit_lines(advice, scales) + dots(advice, scales);
  out += way_legend(legend, best_point(advice).way) + rate_legend(scales);
  return out + "</svg>\n";
}

}  // namespace quiver::bench::advise
