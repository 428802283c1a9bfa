#include "service/http/exchange/uri.h"

#include <algorithm>

#include "base/utf8.h"

namespace quiver::service {
namespace {

int hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

/// "http://host:port/path" → "/path".
std::string_view without_authority(std::string_view target) {
  const auto scheme = target.find("://");
  if (target.starts_with('/') || scheme == std::string_view::npos) return target;
  const auto path = target.find('/', scheme + 3);
  return path == std::string_view::npos ? std::string_view("/") : target.substr(path);
}

void split_path(std::string_view path, Target& out) {
  // A base address that ends in a slash gives "//collections".
  path.remove_prefix(std::min(path.find_first_not_of('/'), path.size()));
  if (path.ends_with('/')) path.remove_suffix(1);
  while (!path.empty()) {
    if (out.n_segments == Target::kMaxSegments) {
      out.too_long = true;
      return;
    }
    const auto slash = path.find('/');
    out.segments[out.n_segments++] = path.substr(0, slash);
    if (slash == std::string_view::npos) return;
    path.remove_prefix(slash + 1);
  }
}

}  // namespace

std::optional<Target> split_target(std::string_view target) {
  target = without_authority(target.substr(0, target.find('#')));
  if (!target.starts_with('/')) return std::nullopt;
  Target out;
  const auto question = target.find('?');
  if (question != std::string_view::npos) out.query = target.substr(question + 1);
  split_path(target.substr(0, question), out);
  return out;
}

std::optional<std::string> percent_decode(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out += text[i];
      continue;
    }
    if (text.size() - i < 3) return std::nullopt;
    const int high = hex_value(text[i + 1]);
    const int low = hex_value(text[i + 2]);
    if (high < 0 || low < 0) return std::nullopt;
    out += static_cast<char>(high * 16 + low);
    i += 2;
  }
  if (!is_utf8(out)) return std::nullopt;
  return out;
}

std::vector<std::string> query_parameters(std::string_view query, std::string_view name) {
  std::vector<std::string> values;
  while (!query.empty()) {
    const auto ampersand = query.find('&');
    const auto pair = query.substr(0, ampersand);
    query = ampersand == std::string_view::npos ? std::string_view() : query.substr(ampersand + 1);
    const auto equals = pair.find('=');
    if (pair.substr(0, equals) != name) continue;
    std::string value(equals == std::string_view::npos ? "" : pair.substr(equals + 1));
    std::replace(value.begin(), value.end(), '+', ' ');
    values.push_back(percent_decode(value).value_or(value));
  }
  return values;
}

std::optional<std::string> query_parameter(std::string_view query, std::string_view name) {
  auto values = query_parameters(query, name);
  return values.empty() ? std::nullopt : std::optional(std::move(values.front()));
}

}  // namespace quiver::service
