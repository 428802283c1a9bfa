#include "payload/scalar/datetime.h"

#include <fmt/format.h>

#include <chrono>

namespace quiver::payload {
namespace {

constexpr std::int64_t kMicrosPerSecond = 1'000'000;

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// Reads pieces off the front of a text. After nullopt or false the rest is undefined.
class DatetimeReader {
 public:
  explicit DatetimeReader(std::string_view text) : rest_(text) {}

  [[nodiscard]] bool done() const { return rest_.empty(); }
  bool skip(char c) {
    if (rest_.empty() || rest_.front() != c) return false;
    rest_.remove_prefix(1);
    return true;
  }
  bool skip_any(std::string_view characters) {
    if (rest_.empty() || characters.find(rest_.front()) == std::string_view::npos) return false;
    rest_.remove_prefix(1);
    return true;
  }
  std::optional<int> digits(std::size_t n) {
    if (rest_.size() < n) return std::nullopt;
    int value = 0;
    for (std::size_t i = 0; i < n; ++i) {
      if (!is_digit(rest_[i])) return std::nullopt;
      value = value * 10 + (rest_[i] - '0');
    }
    rest_.remove_prefix(n);
    return value;
  }
  /// Reads at least one digit and returns millionths.
  std::optional<std::int64_t> fraction() {
    if (rest_.empty() || !is_digit(rest_.front())) return std::nullopt;
    std::int64_t value = 0;
    for (int i = 0; i < 6; ++i) value = value * 10 + next_digit();
    while (!rest_.empty() && is_digit(rest_.front())) rest_.remove_prefix(1);
    return value;
  }

 private:
  int next_digit() {
    if (rest_.empty() || !is_digit(rest_.front())) return 0;
    const int digit = rest_.front() - '0';
    rest_.remove_prefix(1);
    return digit;
  }

  std::string_view rest_;
};

/// Days since 1970-01-01.
std::optional<std::int64_t> read_date(DatetimeReader& in) {
  const auto year = in.digits(4);
  if (!year || !in.skip('-')) return std::nullopt;
  const auto month = in.digits(2);
  if (!month || !in.skip('-')) return std::nullopt;
  const auto day = in.digits(2);
  if (!day) return std::nullopt;
  const std::chrono::year_month_day date(std::chrono::year(*year),
                                         std::chrono::month(static_cast<unsigned>(*month)),
                                         std::chrono::day(static_cast<unsigned>(*day)));
  if (!date.ok()) return std::nullopt;
  return std::chrono::sys_days(date).time_since_epoch().count();
}

/// Returns microseconds since midnight. Second 60 (a leap second) counts as the first of the next
/// minute.
std::optional<std::int64_t> read_time(DatetimeReader& in) {
  const auto hour = in.digits(2);
  if (!hour || *hour > 23 || !in.skip(':')) return std::nullopt;
  const auto minute = in.digits(2);
  if (!minute || *minute > 59) return std::nullopt;
  const std::int64_t seconds = *hour * 3600 + *minute * 60;
  if (!in.skip(':')) return seconds * kMicrosPerSecond;
  const auto second = in.digits(2);
  if (!second || *second > 60) return std::nullopt;
  std::int64_t micros = 0;
  if (in.skip('.')) {
    const auto fraction = in.fraction();
    if (!fraction) return std::nullopt;
    micros = *fraction;
  }
  return (seconds + *second) * kMicrosPerSecond + micros;
}

/// Returns seconds east of Greenwich; 0 if there is no offset.
std::optional<std::int64_t> read_offset(DatetimeReader& in) {
  if (in.done() || in.skip_any("Zz")) return 0;
  const bool west = in.skip('-');
  if (!west && !in.skip('+')) return std::nullopt;
  const auto hours = in.digits(2);
  if (!hours || *hours > 23) return std::nullopt;
  int minutes = 0;
  if (!in.done()) {
    in.skip(':');
    const auto given = in.digits(2);
    if (!given || *given > 59) return std::nullopt;
    minutes = *given;
  }
  const std::int64_t seconds = *hours * 3600 + minutes * 60;
  return west ? -seconds : seconds;
}

}  // namespace

std::optional<std::int64_t> parse_datetime(std::string_view text) {
  DatetimeReader in(text);
  const auto days = read_date(in);
  if (!days) return std::nullopt;
  const std::int64_t midnight = *days * 86400 * kMicrosPerSecond;
  if (in.done()) return midnight;
  if (!in.skip_any("Tt ")) return std::nullopt;
  const auto time = read_time(in);
  if (!time) return std::nullopt;
  const auto offset = read_offset(in);
  if (!offset || !in.done()) return std::nullopt;
  return midnight + *time - *offset * kMicrosPerSecond;
}

std::string format_datetime(std::int64_t microseconds) {
  using std::chrono::days;
  const std::chrono::sys_time<std::chrono::microseconds> time{
      std::chrono::microseconds(microseconds)};
  const auto day = std::chrono::floor<days>(time);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss clock(time - day);
  std::string out =
      fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}", static_cast<int>(date.year()),
                  static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                  clock.hours().count(), clock.minutes().count(), clock.seconds().count());
  if (const auto micros = clock.subseconds().count(); micros != 0) {
    out += fmt::format(".{:06}", micros);
  }
  return out + "Z";
}

}  // namespace quiver::payload
