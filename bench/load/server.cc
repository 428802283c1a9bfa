#include "bench/load/server.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "payload/json/document.h"
#include "service/client/server_connection.h"

namespace quiver::bench {
namespace {

/// GETs `target`; "" unless the status is 200.
std::string body_of(const client::Endpoint& endpoint, const LoadOptions& options,
                    const std::string& target) {
  auto answer =
      client::fetch(endpoint, client::request_text("GET", target, endpoint, options.api_key, ""));
  return answer && answer->status == 200 ? std::move(answer->body) : "";
}

/// Returns `use(result.NAME)` of an answer; false if there is no such member.
template <class Use>
bool with_member(std::string_view answer, std::string_view name, Use use) {
  const auto value = payload::parse_json(answer);
  const payload::Value* result = value ? value->find("result") : nullptr;
  const payload::Value* member = result == nullptr ? nullptr : result->find(name);
  return member != nullptr && use(*member);
}

std::string commit_of(std::string_view version) {
  const auto value = payload::parse_json(version);
  const payload::Value* commit = value ? value->find("commit") : nullptr;
  const std::string* text = commit == nullptr ? nullptr : commit->as_string();
  return text == nullptr ? "" : *text;
}

}  // namespace

std::optional<double> cpu_seconds_of(std::string_view metrics) {
  constexpr std::string_view kName = "process_cpu_seconds_total ";
  while (!metrics.empty()) {
    const std::string_view text = metrics.substr(0, metrics.find('\n'));
    metrics.remove_prefix(std::min(text.size() + 1, metrics.size()));
    const auto found = text.find(kName);
    if (text.starts_with('#') || found == std::string_view::npos) continue;
    const std::string_view number = text.substr(found + kName.size());
    double seconds = 0;
    const auto parsed = std::from_chars(number.data(), number.data() + number.size(), seconds);
    if (parsed.ec == std::errc()) return seconds;
  }
  return std::nullopt;
}

bool is_not_green(std::string_view info) {
  return with_member(info, "status", [](const payload::Value& status) {
    return status.as_string() != nullptr && *status.as_string() != "green";
  });
}

bool names_running(std::string_view optimizations) {
  return with_member(optimizations, "running", [](const payload::Value& running) {
    return running.as_array() != nullptr && !running.as_array()->empty();
  });
}

ServerLook look_at_server(const client::Endpoint& endpoint, const LoadOptions& options) {
  const std::string collection = "/collections/" + client::escape_segment(options.collection);
  ServerLook look;
  look.commit = commit_of(body_of(endpoint, options, "/"));
  look.background = is_not_green(body_of(endpoint, options, collection)) ||
                    names_running(body_of(endpoint, options, collection + "/optimizations"));
  look.cpu_s = cpu_seconds_of(body_of(endpoint, options, "/metrics"));
  return look;
}

}  // namespace quiver::bench
