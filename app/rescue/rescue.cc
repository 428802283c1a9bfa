#include "app/rescue/rescue.h"

#include <fmt/format.h>

#include <cstdio>
#include <string_view>

#include "base/observe/log.h"
#include "service/json/writer.h"

namespace quiver::app {
namespace {

void write_part(service::json::Writer& json, const engine::RescuedPart& part) {
  json.begin_object();
  json.member("collection", std::string_view(part.collection));
  json.member("shard", std::uint64_t{part.shard});
  json.member("points", part.n_points);
  json.member("from_rows", part.repair.n_from_store);
  json.member("from_logs", part.repair.n_from_logs);
  json.member("from_segments", part.repair.n_from_segments);
  json.member("older_versions", part.repair.n_older);
  json.end_object();
}

void write_lines(service::json::Writer& json, std::string_view name,
                 const std::vector<std::string>& lines) {
  json.key(name);
  json.begin_array();
  for (const auto& line : lines) json.string(line);
  json.end_array();
}

}  // namespace

std::string rescue_text(const engine::RescueReport& report) {
  std::string text;
  for (const auto& part : report.shards) {
    text += fmt::format(
        "collection {}, shard {}: {} points; taken from rows: {}, from logs after damage: {}, from "
        "segments: {}\n",
        part.collection, part.shard, part.n_points, part.repair.n_from_store,
        part.repair.n_from_logs, part.repair.n_from_segments);
  }
  if (report.n_aliases != 0) text += fmt::format("aliases: {}\n", report.n_aliases);
  for (const auto& line : report.lost) text += fmt::format("lost      {}\n", line);
  for (const auto& line : report.left_over) text += fmt::format("left out  {}\n", line);
  return text;
}

std::string rescue_json(const engine::RescueReport& report) {
  std::string text;
  service::json::Writer json(text);
  json.begin_object();
  json.key("shards");
  json.begin_array();
  for (const auto& part : report.shards) write_part(json, part);
  json.end_array();
  json.member("aliases", report.n_aliases);
  write_lines(json, "lost", report.lost);
  write_lines(json, "left_out", report.left_over);
  json.end_object();
  return text + "\n";
}

Result<> run_rescue(const RescueOptions& options) {
  set_up_log({.level = LogLevel::kOff});  // this command prints problems itself
  QV_TRY(const auto report,
         engine::rescue_data_directory({options.from, options.to, options.collection}));
  const std::string text = options.json ? rescue_json(report) : rescue_text(report);
  std::fputs(text.c_str(), stdout);
  if (report.lost.empty()) return {};
  return fail(Code::kDataLoss, "not everything could be taken");
}

}  // namespace quiver::app
