// A text table with aligned columns.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace quiver::bench {

enum class Align : std::uint8_t { kLeft, kRight };

/// Rows of cells under column heads. Widths count UTF-8 characters.
class TextTable {
 public:
  void add_column(std::string head, Align align = Align::kRight);
  /// `cells` has one cell per column.
  void add_row(std::vector<std::string> cells);
  /// Every line ends in a line feed; two spaces separate columns.
  [[nodiscard]] std::string to_string() const;

 private:
  std::vector<std::string> heads_;
  std::vector<Align> aligns_;
  std::vector<std::vector<std::string>> rows_;
};

/// 1234567.8 gives "1,234,568"; values below 100 keep `decimals` decimals.
[[nodiscard]] std::string grouped(double value, int decimals = 1);
/// "12.3 MB"
[[nodiscard]] std::string bytes_text(double bytes);

}  // namespace quiver::bench
