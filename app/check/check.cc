#include "app/check/check.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string_view>
#include <vector>

#include "base/observe/log.h"
#include "engine/database.h"
#include "engine/files/check.h"
#include "service/json/writer.h"

namespace quiver::app {
namespace {

Result<std::unique_ptr<engine::Database>> open_directory(const std::string& data_dir) {
  if (!std::filesystem::is_directory(data_dir)) {
    return fail(Code::kNotFound, fmt::format("there is no data directory `{}`", data_dir));
  }
  set_up_log({.level = LogLevel::kOff});  // this command prints problems itself
  engine::DatabaseOptions options;
  options.data_dir = data_dir;
  return engine::Database::open(std::move(options));
}

std::string shard_name(const std::string& collection, std::uint32_t shard) {
  return fmt::format("collection {}, shard {}", collection, shard);
}

std::string plural(std::size_t n, std::string_view word) {
  return fmt::format("{} {}{}", n, word, n == 1 ? "" : "s");
}

std::size_t count_damage(const engine::CheckReport& report) {
  const auto is_damage = [](const engine::Finding& finding) {
    return finding.severity == engine::Severity::kLoss ||
           finding.severity == engine::Severity::kRebuilt;
  };
  return static_cast<std::size_t>(std::ranges::count_if(report.findings, is_damage));
}

void write_shard(service::json::Writer& json, const engine::ShardCounts& shard) {
  json.begin_object();
  json.member("collection", std::string_view(shard.collection));
  json.member("shard", std::uint64_t{shard.shard});
  json.member("points", shard.n_rows);
  json.member("points_in_segments", shard.n_in_segments);
  json.member("points_not_sealed", shard.n_unsealed);
  json.member("sound_segments", shard.n_segments);
  json.member("files_of_segments", shard.n_files);
  json.member("bytes", shard.bytes);
  json.end_object();
}

void write_finding(service::json::Writer& json, const engine::Finding& finding) {
  json.begin_object();
  json.member("severity", to_string(finding.severity));
  json.member("path", std::string_view(finding.path));
  json.member("problem", std::string_view(finding.problem));
  json.member("remedy", std::string_view(finding.remedy));
  json.end_object();
}

Result<> repair_one(engine::Database& database, const std::string& name) {
  QV_TRY(const auto shards, database.repair(name));
  for (const auto& [number, repair] : shards) {
    const std::string shard = shard_name(name, number);
    const auto text = repair ? repair_text(shard, *repair)
                             : fmt::format("{}: its rows are sound, nothing was done\n", shard);
    std::fputs(text.c_str(), stdout);
  }
  return {};
}

}  // namespace

std::string report_text(const engine::CheckReport& report) {
  std::string text;
  for (const auto& shard : report.shards) {
    text += fmt::format("{}: {} rows, {} sound segments with {} live rows, {} not sealed, {}\n",
                        shard_name(shard.collection, shard.shard), shard.n_rows, shard.n_segments,
                        shard.n_in_segments, shard.n_unsealed, plural(shard.bytes, "byte"));
  }
  if (report.n_snapshots != 0)
    text += fmt::format("{} read\n", plural(report.n_snapshots, "snapshot"));
  for (const auto& finding : report.findings) {
    text += fmt::format("{:<8}  {}: {}\n          {}\n", to_string(finding.severity), finding.path,
                        finding.problem, finding.remedy);
  }
  for (const auto& repair : report.repairs) text += fmt::format("repaired  {}\n", repair);
  return text;
}

std::string report_json(const engine::CheckReport& report) {
  std::string text;
  service::json::Writer json(text);
  json.begin_object();
  json.member("damaged", report.is_damaged());
  json.key("shards");
  json.begin_array();
  for (const auto& shard : report.shards) write_shard(json, shard);
  json.end_array();
  json.member("snapshots", report.n_snapshots);
  json.key("findings");
  json.begin_array();
  for (const auto& finding : report.findings) write_finding(json, finding);
  json.end_array();
  json.key("repairs");
  json.begin_array();
  for (const auto& repair : report.repairs) json.string(repair);
  json.end_array();
  json.end_object();
  return text + "\n";
}

std::string repair_text(const std::string& shard, const engine::ShardRepair& repair) {
  std::string text = fmt::format(
      "{}: points taken from rows: {}, from logs after the damage: {}, from segments: {}\n", shard,
      repair.n_from_store, repair.n_from_logs, repair.n_from_segments);
  if (repair.n_lost != 0) {
    text += fmt::format("  lost: {} points that the rows name but no file holds\n", repair.n_lost);
  }
  if (repair.n_bad_segments != 0) {
    text += fmt::format("  {} segments could not be read\n", repair.n_bad_segments);
  }
  if (repair.n_older != 0) {
    text +=
        fmt::format("  {} points are older versions: the newest cannot be read\n", repair.n_older);
  }
  if (repair.rows_are_gone) {
    text += "  no row could be read: points that were not sealed yet are lost\n";
  }
  if (repair.has_damaged_logs) {
    text += "  changes whose records in the logs are damaged or missing are lost\n";
  }
  if (repair.rows_are_gone || repair.has_damaged_logs || !repair.deletes_are_known) {
    text +=
        "  points deleted or replaced after they were sealed may be back in their old version\n";
  }
  for (const auto& path : repair.kept) text += fmt::format("  kept: {}\n", path);
  return text;
}

Result<> run_check(const CheckOptions& options) {
  set_up_log({.level = LogLevel::kOff});  // this command prints problems itself
  const auto repairs = options.repair ? engine::Repairs::kAsked : engine::Repairs::kNone;
  QV_TRY(const auto report,
         engine::check_data_directory({options.data_dir, options.collection, repairs}));
  const std::string text = options.json ? report_json(report) : report_text(report);
  std::fputs(text.c_str(), stdout);
  if (!report.is_damaged()) return {};
  return fail(Code::kDataLoss, plural(count_damage(report), "problem"));
}

Result<> run_repair(const RepairOptions& options) {
  QV_TRY(auto database, open_directory(options.data_dir));
  auto result = options.leaves_cluster ? database->leave_cluster(options.collection) : Result<>();
  if (result) result = repair_one(*database, options.collection);
  const auto closed = database->close();
  return result ? closed : result;
}

}  // namespace quiver::app
