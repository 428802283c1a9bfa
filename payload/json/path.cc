#include "payload/json/path.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace quiver::payload {
namespace {

bool is_key_character(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
         (byte >= '0' && byte <= '9') || byte == '_' || byte == '-' || byte >= 0x80;
}

/// Reads steps off the front of a text. Each function returns whether it succeeded.
class PathReader {
 public:
  explicit PathReader(std::string_view text) : rest_(text) {}

  bool read_all(std::vector<PathStep>& steps) {
    if (!read_key(steps)) return false;
    while (!rest_.empty()) {
      if (!read_step(steps)) return false;
    }
    return true;
  }

 private:
  bool read_step(std::vector<PathStep>& steps) {
    if (skip(".")) return read_key(steps);
    if (skip("[]")) {
      steps.push_back({PathStep::Kind::kEach, {}, 0});
      return true;
    }
    return skip("[") && read_index(steps) && skip("]");
  }
  bool read_key(std::vector<PathStep>& steps) {
    if (skip("\"")) return read_quoted(steps);
    const auto end = std::find_if_not(rest_.begin(), rest_.end(), is_key_character);
    const auto length = static_cast<std::size_t>(end - rest_.begin());
    if (length == 0) return false;
    steps.push_back({PathStep::Kind::kKey, std::string(rest_.substr(0, length)), 0});
    rest_.remove_prefix(length);
    return true;
  }
  bool read_quoted(std::vector<PathStep>& steps) {
    const std::size_t end = rest_.find_first_of("\"\\");
    if (end == std::string_view::npos || rest_[end] != '"') return false;
    steps.push_back({PathStep::Kind::kKey, std::string(rest_.substr(0, end)), 0});
    rest_.remove_prefix(end + 1);
    return true;
  }
  bool read_index(std::vector<PathStep>& steps) {
    std::uint64_t index = 0;
    const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), index);
    if (error != std::errc()) return false;
    steps.push_back({PathStep::Kind::kIndex, {}, index});
    rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
    return true;
  }
  bool skip(std::string_view token) {
    if (!rest_.starts_with(token)) return false;
    rest_.remove_prefix(token.size());
    return true;
  }

  std::string_view rest_;
};

void write_step(const PathStep& step, bool first, std::string& out) {
  if (step.kind == PathStep::Kind::kEach) {
    out += "[]";
  } else if (step.kind == PathStep::Kind::kIndex) {
    fmt::format_to(std::back_inserter(out), "[{}]", step.index);
  } else {
    if (!first) out += '.';
    const char* quote = is_plain_key(step.key) ? "" : "\"";
    fmt::format_to(std::back_inserter(out), "{}{}{}", quote, step.key, quote);
  }
}

}  // namespace

Result<JsonPath> JsonPath::parse(std::string_view text) {
  std::vector<PathStep> steps;
  if (!PathReader(text).read_all(steps)) {
    return fail(Code::kInvalidArgument, fmt::format("Invalid json path: '{}'", text));
  }
  return JsonPath(std::move(steps));
}

bool is_plain_key(std::string_view key) {
  return !key.empty() && std::all_of(key.begin(), key.end(), is_key_character);
}

std::string JsonPath::to_string() const {
  std::string out;
  for (std::size_t i = 0; i < steps_.size(); ++i) write_step(steps_[i], i == 0, out);
  return out;
}

JsonPath JsonPath::each() const {
  auto steps = steps_;
  if (steps.back().kind != PathStep::Kind::kEach) steps.push_back({PathStep::Kind::kEach, {}, 0});
  return JsonPath(std::move(steps));
}

JsonPath JsonPath::join(const JsonPath& tail) const {
  auto steps = steps_;
  steps.insert(steps.end(), tail.steps_.begin(), tail.steps_.end());
  return JsonPath(std::move(steps));
}

}  // namespace quiver::payload
