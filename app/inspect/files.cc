#include "app/inspect/files.h"

#include <fmt/format.h>

#include <cstdio>
#include <string_view>

#include "base/observe/log.h"
#include "service/json/writer.h"

namespace quiver::app {
namespace {

std::string facts_of_file(const engine::FileFacts& file) {
  std::string text = fmt::format("{} bytes", file.size_bytes);
  if (!file.format.empty()) text += ", " + file.format;
  if (file.version) text += fmt::format(" version {}", *file.version);
  for (const auto& [what, n] : file.counts) text += fmt::format(", {} {}", n, what);
  return text;
}

void write_file(service::json::Writer& json, const engine::FileFacts& file) {
  json.begin_object();
  json.member("path", std::string_view(file.path));
  json.member("kind", file.kind->name);
  json.member("about", file.kind->about);
  json.member("if_lost", file.kind->if_lost);
  json.member("format", std::string_view(file.format));
  if (file.version) json.member("version", std::uint64_t{*file.version});
  json.member("bytes", file.size_bytes);
  json.key("counts");
  json.begin_object();
  for (const auto& [what, n] : file.counts) json.member(what, n);
  json.end_object();
  if (!file.problem.empty()) json.member("problem", std::string_view(file.problem));
  json.end_object();
}

}  // namespace

std::string files_text(const std::vector<engine::FileFacts>& files) {
  std::string text;
  std::uint64_t bytes = 0;
  for (const auto& file : files) {
    bytes += file.size_bytes;
    text += fmt::format("{}\n  {}: {}. {}. If lost: {}.\n", file.path, file.kind->name,
                        facts_of_file(file), file.kind->about, file.kind->if_lost);
    if (!file.problem.empty()) text += fmt::format("  problem: {}\n", file.problem);
  }
  return text + fmt::format("{} files, {} bytes\n", files.size(), bytes);
}

std::string files_json(const std::vector<engine::FileFacts>& files) {
  std::string text;
  for (const auto& file : files) {
    service::json::Writer json(text);
    write_file(json, file);
    text += '\n';
  }
  return text;
}

Result<> print_files(const InspectOptions& options) {
  set_up_log({.level = LogLevel::kWarning});
  QV_TRY(const auto files, engine::describe_files(options.path));
  const std::string text = options.json ? files_json(files) : files_text(files);
  std::fputs(text.c_str(), stdout);
  return {};
}

}  // namespace quiver::app
