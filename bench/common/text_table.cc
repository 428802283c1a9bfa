#include "bench/common/text_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>

namespace quiver::bench {
namespace {

/// Counts characters: continuation bytes of UTF-8 are skipped.
std::size_t width_of(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

std::string padded(const std::string& text, std::size_t width, Align align) {
  const std::string space(width - width_of(text), ' ');
  return align == Align::kLeft ? text + space : space + text;
}

}  // namespace

void TextTable::add_column(std::string head, Align align) {
  heads_.push_back(std::move(head));
  aligns_.push_back(align);
}

void TextTable::add_row(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }

std::string TextTable::to_string() const {
  std::vector<std::size_t> widths;
  for (const auto& head : heads_) widths.push_back(width_of(head));
  for (const auto& row : rows_) {
    for (std::size_t c = 0; c < row.size(); ++c) widths[c] = std::max(widths[c], width_of(row[c]));
  }
  std::string out;
  const auto add = [&](const std::vector<std::string>& cells) {
    std::string line;
    for (std::size_t c = 0; c < cells.size(); ++c) {
      line += (c == 0 ? "" : "  ") + padded(cells[c], widths[c], aligns_[c]);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + "\n";
  };
  add(heads_);
  std::vector<std::string> rule;
  for (const std::size_t width : widths) {
    std::string dashes;
    for (std::size_t i = 0; i < width; ++i) dashes += "─";
    rule.push_back(std::move(dashes));
  }
  add(rule);
  for (const auto& row : rows_) add(row);
  return out;
}

std::string grouped(double value, int decimals) {
  if (std::abs(value) < 100) return fmt::format("{:.{}f}", value, decimals);
  std::string digits = fmt::format("{:.0f}", value);
  for (std::ptrdiff_t at = static_cast<std::ptrdiff_t>(digits.size()) - 3; at > 0; at -= 3) {
    if (digits[static_cast<std::size_t>(at - 1)] == '-') break;
    digits.insert(static_cast<std::size_t>(at), ",");
  }
  return digits;
}

std::string bytes_text(double bytes) {
  constexpr const char* kUnits[] = {"B", "kB", "MB", "GB", "TB"};
  std::size_t unit = 0;
  while (bytes >= 1000 && unit + 1 < std::size(kUnits)) {
    bytes /= 1000;
    ++unit;
  }
  return unit == 0 ? fmt::format("{:.0f} B", bytes) : fmt::format("{:.1f} {}", bytes, kUnits[unit]);
}

}  // namespace quiver::bench
