#include "app/check/check.h"

#include <fmt/format.h>

#include <cstdio>
#include <filesystem>
#include <memory>
#include <vector>

#include "base/observe/log.h"
#include "engine/database.h"

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

/// Returns the number of problems.
Result<std::size_t> check_one(engine::Database& database, const std::string& name) {
  QV_TRY(const auto shards, database.check(name));
  std::size_t n_problems = 0;
  for (const auto& [number, findings] : shards) {
    std::fputs(findings_text(shard_name(name, number), findings).c_str(), stdout);
    n_problems += findings.rows.size() + findings.segments.size();
  }
  return n_problems;
}

Result<> check_all(engine::Database& database, const std::vector<std::string>& names) {
  std::size_t n_problems = 0;
  for (const auto& name : names) {
    QV_TRY(const std::size_t n, check_one(database, name));
    n_problems += n;
  }
  for (const auto& stranger : database.strangers()) {
    fmt::print("collections/{}: belongs to no collection\n", stranger);
  }
  if (n_problems == 0) return {};
  return fail(Code::kDataLoss, fmt::format("{} problem{}", n_problems, n_problems == 1 ? "" : "s"));
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

std::string findings_text(const std::string& shard, const engine::ShardFindings& findings) {
  std::string text =
      fmt::format("{}: {} rows, {} sound segments\n", shard, findings.n_rows, findings.n_segments);
  for (const auto& problem : findings.rows) {
    text += fmt::format(
        "  rows: {}\n    `quiver repair` saves what can be read, or restore a "
        "backup\n",
        problem);
  }
  for (const auto& problem : findings.segments) {
    text += fmt::format(
        "  segment: {}\n    the server rebuilds it from rows when it opens the collection\n",
        problem);
  }
  return text;
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
  QV_TRY(auto database, open_directory(options.data_dir));
  auto names = database->collection_names();
  if (!options.collection.empty()) names = {options.collection};
  auto result = check_all(*database, names);
  const auto closed = database->close();
  return result ? closed : result;
}

Result<> run_repair(const RepairOptions& options) {
  QV_TRY(auto database, open_directory(options.data_dir));
  auto result = options.leaves_cluster ? database->leave_cluster(options.collection) : Result<>();
  if (result) result = repair_one(*database, options.collection);
  const auto closed = database->close();
  return result ? closed : result;
}

}  // namespace quiver::app
