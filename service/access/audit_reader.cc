#include "service/access/audit_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <fstream>
#include <iterator>
#include <string_view>

#include "payload/json/document.h"

namespace quiver::service::access {
namespace {

/// Text or number.
std::string text_of(const payload::Value* value) {
  if (value == nullptr) return "";
  if (const auto* text = value->as_string()) return *text;
  const auto number = value->as_unsigned();
  return number ? std::to_string(*number) : "";
}

/// Qdrant's name of a kind of key.
std::string_view auth_type(std::string_view caller) {
  if (caller == "token") return "Jwt";
  return caller == "api_key" || caller == "read_only_api_key" ? "ApiKey" : "None";
}

const std::string* find_member(const AuditEntry& entry, std::string_view name) {
  const auto found = std::ranges::find_if(entry, [&](const auto& m) { return m.first == name; });
  return found == entry.end() ? nullptr : &found->second;
}

/// Matching entries of one file, oldest first, at most the last `limit`.
Result<std::deque<AuditEntry>> read_file(const std::string& path, const AuditQuery& query,
                                         std::size_t limit) {
  const std::string from = query.from_ms ? audit_time(*query.from_ms) : "";
  const std::string to = query.to_ms ? audit_time(*query.to_ms) : "";
  std::ifstream file(path);
  if (!file) return fail(Code::kUnavailable, fmt::format("cannot read the audit log {}", path));
  std::deque<AuditEntry> window;
  for (std::string line; std::getline(file, line);) {
    auto entry = parse_audit_line(line);
    if (!entry) continue;
    const std::string& time = entry->front().second;
    if (time < from || (query.to_ms && time >= to)) continue;
    const bool matches = std::ranges::all_of(query.filters, [&](const auto& wanted) {
      const auto* member = find_member(*entry, wanted.first);
      return member != nullptr && *member == wanted.second;
    });
    if (!matches) continue;
    if (window.size() == limit) window.pop_front();
    window.push_back(*std::move(entry));
  }
  if (file.bad())
    return fail(Code::kUnavailable, fmt::format("cannot read the audit log {}", path));
  return window;
}

}  // namespace

std::optional<AuditEntry> parse_audit_line(std::string_view line) {
  const auto parsed = payload::parse_json(line);
  if (!parsed || parsed->find("time") == nullptr) return std::nullopt;
  const auto member = [&](std::string_view name) { return text_of(parsed->find(name)); };
  const std::string request_id = member("request_id");
  const std::string outcome = member("outcome");
  AuditEntry entry = {{"timestamp", member("time")},
                      {"api", member("verb")},
                      {"auth_type", std::string(auth_type(member("caller")))},
                      {"subject", member("subject")},
                      {"remote", member("remote")},
                      {"collection", member("collection")},
                      {"tracing_id", request_id.empty() ? member("trace_id") : request_id},
                      {"result", outcome == "denied" ? "denied" : "ok"},
                      {"transport", member("transport")},
                      {"outcome", outcome},
                      {"status", member("status")}};
  std::erase_if(entry, [](const auto& named) { return named.second.empty(); });
  if (entry.front().first != "timestamp") return std::nullopt;
  return entry;
}

Result<std::vector<AuditEntry>> read_audit_log(const AuditLog& log, const AuditQuery& query) {
  QV_TRY(const auto files, log.files());
  std::vector<AuditEntry> entries;
  for (const auto& path : files) {
    if (entries.size() == query.limit) break;
    QV_TRY(auto some, read_file(path, query, query.limit - entries.size()));
    std::move(some.rbegin(), some.rend(), std::back_inserter(entries));
  }
  return entries;
}

}  // namespace quiver::service::access
