#include "app/import/identity.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <string_view>

#include "base/file.h"

namespace quiver::app {
namespace {

namespace fs = std::filesystem;

Result<std::string> file_line(const std::string& path) {
  std::error_code error;
  const auto bytes = fs::file_size(path, error);
  if (error) return fail(file_error(error.value(), "look at", path));
  const auto time = fs::last_write_time(path, error).time_since_epoch().count();
  return fmt::format("file {}, {} bytes, modified {}", fs::absolute(path, error).string(), bytes,
                     time);
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

std::string first_difference(const std::vector<std::string>& before,
                             const std::vector<std::string>& now) {
  const auto [a, b] = std::mismatch(before.begin(), before.end(), now.begin(), now.end());
  if (a == before.end() && b == now.end()) return "";
  return fmt::format("then \"{}\", now \"{}\"", a == before.end() ? "" : *a,
                     b == now.end() ? "" : *b);
}

std::string default_state_path(const ImportOptions& options, const ImportPlan& plan) {
  std::string name =
      options.collection + "." + fs::path(plan.main_source()).filename().string() + ".import";
  std::replace(name.begin(), name.end(), '/', '_');
  return name;
}

}  // namespace quiver::app
