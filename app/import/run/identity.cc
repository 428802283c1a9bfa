#include "app/import/run/identity.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <time.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <string_view>

#include "base/io/file.h"

namespace quiver::app {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kFile = "file ";
constexpr std::string_view kSize = ": ";

/// "2026-04-01T12:30:05.123456789Z"
std::string iso_text(const timespec& time) {
  tm parts = {};
  ::gmtime_r(&time.tv_sec, &parts);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:09}Z", parts.tm_year + 1900,
                     parts.tm_mon + 1, parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec,
                     time.tv_nsec);
}

Result<std::string> file_line(const std::string& path) {
  struct stat status = {};
  if (::stat(path.c_str(), &status) != 0) return fail(file_error(errno, "look at", path));
  return fmt::format("{}{}{} bytes, modified {}", file_text(path), kSize, status.st_size,
                     iso_text(status.st_mtim));
}

Result<> add_files(const std::string& source, std::vector<std::string>& lines) {
  if (source.empty()) return {};
  for (const std::string& file : files_of(source)) {
    QV_TRY(std::string line, file_line(file));
    lines.push_back(std::move(line));
  }
  return {};
}

std::string joined(const std::vector<std::string>& texts) {
  std::string out;
  for (const std::string& text : texts) out += (out.empty() ? "" : ",") + text;
  return out;
}

std::string target_line(const ImportOptions& options) {
  return fmt::format("to {} collection {}",
                     options.url.empty() ? "directory " + options.data_dir : options.url,
                     options.collection);
}

}  // namespace

Result<std::vector<std::string>> import_identity(const ImportOptions& options,
                                                 const ImportPlan& plan) {
  std::vector<std::string> lines = {target_line(options)};
  for (const SourceSpec& spec : plan.vectors) {
    lines.push_back(fmt::format("{} times {}", spec.describe(), spec.scale));
    QV_TRY(add_files(spec.source, lines));
    QV_TRY(add_files(spec.present, lines));
  }
  for (const std::string& source : {plan.points, plan.payload, plan.ids}) {
    QV_TRY(add_files(source, lines));
  }
  lines.push_back(fmt::format("rows {}:{}", plan.rows.first,
                              plan.rows.end == UINT64_MAX ? "" : std::to_string(plan.rows.end)));
  lines.push_back(
      fmt::format("ids: column {}, offset {}", plan.id_column.value_or("none"), plan.id_offset));
  lines.push_back("payload keys: " + joined(plan.payload_keys));
  return lines;
}

std::string file_text(const std::string& path) {
  std::error_code error;
  return fmt::format("{}{}", kFile, fs::absolute(path, error).string());
}

std::string_view file_part(std::string_view line) {
  const auto end = line.rfind(kSize);
  if (!line.starts_with(kFile) || end == std::string_view::npos) return {};
  return line.substr(0, end);
}

std::string first_difference(const std::vector<std::string>& before,
                             const std::vector<std::string>& now) {
  const auto [a, b] = std::mismatch(before.begin(), before.end(), now.begin(), now.end());
  if (a == before.end() && b == now.end()) return "";
  const std::string_view then_line = a == before.end() ? std::string_view() : *a;
  const std::string_view now_line = b == now.end() ? std::string_view() : *b;
  const std::string_view file = file_part(then_line);
  if (file.empty() || file != file_part(now_line)) {
    return fmt::format("then \"{}\", now \"{}\"", then_line, now_line);
  }
  const std::size_t size = file.size() + kSize.size();
  return fmt::format("{} has changed: it had {}; now {}", file, then_line.substr(size),
                     now_line.substr(size));
}

std::string default_state_path(const ImportOptions& options, const ImportPlan& plan) {
  std::string name =
      options.collection + "." + fs::path(plan.main_source()).filename().string() + ".import";
  std::replace(name.begin(), name.end(), '/', '_');
  return name;
}

}  // namespace quiver::app
