#include "app/export/options.h"

#include <fmt/format.h>

#include <filesystem>

#include "service/client/http.h"

namespace quiver::app {

Result<ExportFormat> export_format(const std::string& out) {
  if (out.ends_with(".jsonl") || out.ends_with(".jsonl.zst")) return ExportFormat::kLines;
  std::error_code ignored;
  const bool is_directory = out.ends_with('/') || std::filesystem::is_directory(out, ignored);
  const bool has_ending = std::filesystem::path(out).has_extension();
  if (is_directory || (!has_ending && !out.empty())) return ExportFormat::kArrays;
  return fail(Code::kInvalidArgument,
              fmt::format("--out {}: wanted FILE.jsonl, FILE.jsonl.zst, or a directory for .npy "
                          "files (a new one with a dot in its name ends in /)",
                          out));
}

Result<> check_usage(const ExportOptions& options) {
  if (options.faiss.empty()) {
    QV_TRY(export_format(options.out));
    if (!options.vectors.empty()) {
      return fail(Code::kInvalidArgument, "--vectors goes with --faiss: other exports have all");
    }
    if (options.row_numbers) {
      return fail(Code::kInvalidArgument,
                  "--row-numbers goes with --faiss: other exports keep ids");
    }
  }
  if (!options.url.empty()) QV_TRY(client::parse_url(options.url));
  return {};
}

}  // namespace quiver::app
