// Columns of text, aligned.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace quiver::app {

enum class Align : std::uint8_t { kLeft, kRight };

/// Rows of cells under heads; widths count characters of UTF-8.
class TextTable {
 public:
  void add_column(std::string head, Align align = Align::kRight);
  /// As many cells as columns.
  void add_row(std::vector<std::string> cells);
  /// Lines that end in a line feed; two spaces between columns.
  [[nodiscard]] std::string to_string() const;

 private:
  std::vector<std::string> heads_;
  std::vector<Align> aligns_;
  std::vector<std::vector<std::string>> rows_;
};

/// 1234567.8 as "1,234,568", and below 100 with `decimals`.
[[nodiscard]] std::string grouped(double value, int decimals = 1);
/// "12.3 MB"
[[nodiscard]] std::string bytes_text(double bytes);

}  // namespace quiver::app
