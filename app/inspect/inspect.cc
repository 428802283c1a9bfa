#include "app/inspect/inspect.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <variant>
#include <vector>

#include "app/inspect/files.h"
#include "base/observe/log.h"
#include "engine/database.h"
#include "service/json/encode/encode.h"
#include "service/json/writer.h"

namespace quiver::app {
namespace {

std::string text_of(const ParamValue& value) {
  if (const auto* flag = std::get_if<bool>(&value)) return *flag ? "yes" : "no";
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return std::to_string(*integer);
  if (const auto* real = std::get_if<double>(&value)) return fmt::format("{:.4g}", *real);
  return std::get<std::string>(value);
}

std::string facts_of(const index::Description& description) {
  std::string text;
  for (const auto& [name, value] : description.facts) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name, text_of(value));
  }
  return text;
}

std::string line_of(const std::vector<std::string>& cells, const std::vector<std::size_t>& widths) {
  std::string line = "       ";
  for (std::size_t i = 0; i < cells.size(); ++i)
    line += fmt::format(" {:<{}}", cells[i], widths[i]);
  line.erase(line.find_last_not_of(' ') + 1);
  return line + '\n';
}

std::string table_of(const index::Description& description) {
  if (description.columns.empty()) return "";
  std::vector<std::vector<std::string>> lines = {description.columns};
  for (const auto& row : description.rows) {
    auto& line = lines.emplace_back();
    for (const ParamValue& value : row) line.push_back(text_of(value));
  }
  std::vector<std::size_t> widths(description.columns.size());
  for (const auto& line : lines) {
    for (std::size_t i = 0; i < line.size(); ++i) widths[i] = std::max(widths[i], line[i].size());
  }
  std::string text = fmt::format("      {}:\n", description.table);
  for (const auto& line : lines) text += line_of(line, widths);
  return text;
}

void print_json(const std::string& name, const engine::Collection& collection) {
  std::string text;
  service::json::Writer json(text);
  json.begin_object();
  json.member("collection", std::string_view(name));
  json.key("info");
  service::json::write_collection_info(json, collection.info());
  json.key("vectors");
  service::json::write_segment_indexes(json, collection.segment_indexes(),
                                       collection.info().config.vector_indexes,
                                       collection.segment_attributes());
  json.end_object();
  std::puts(text.c_str());
}

Result<> inspect(engine::Database& database, const std::string& name, bool as_json) {
  QV_TRY(const auto collection, database.collection(name));
  if (as_json) {
    print_json(name, *collection);
  } else {
    const auto text = inspection(name, collection->info(), collection->segment_indexes());
    std::fputs(text.c_str(), stdout);
  }
  return {};
}

void print_strangers(const std::vector<std::string>& strangers, bool as_json) {
  if (strangers.empty()) return;
  std::string text;
  if (as_json) {
    service::json::Writer json(text);
    json.begin_object();
    json.key("strangers");
    json.begin_array();
    for (const auto& name : strangers) json.string(name);
    json.end_array();
    json.end_object();
  } else {
    text = "below collections/, belonging to no collection:";
    for (const auto& name : strangers) text += "\n  " + name;
  }
  std::puts(text.c_str());
}

}  // namespace

std::string inspection(const std::string& name, const engine::CollectionInfo& info,
                       const std::vector<engine::SegmentIndexInfo>& indexes) {
  std::string text = fmt::format("collection {}: {} points, {} shards, {} segments\n", name,
                                 info.n_points, info.config.shard_number, info.n_segments);
  for (std::size_t i = 0; i < indexes.size(); ++i) {
    const auto& index = indexes[i];
    const bool is_first =
        i == 0 || indexes[i - 1].shard != index.shard || indexes[i - 1].segment != index.segment;
    if (is_first) {
      text += fmt::format("  shard {}, segment {}{}\n", index.shard, index.segment,
                          index.sealed ? "" : " (being written)");
    }
    const std::string field = index.field.empty() ? "(default)" : index.field;
    text += fmt::format("    {}: {}, {} vectors, {} bytes\n", field, index.index, index.n_vectors,
                        index.n_bytes);
    const std::string facts = facts_of(index.description);
    if (!facts.empty()) text += fmt::format("      {}\n", facts);
    text += table_of(index.description);
  }
  return text;
}

Result<> check_usage(const InspectOptions& options) {
  if (!options.path.empty() || !options.data_dir.empty()) return {};
  return fail(Code::kInvalidArgument, "name a file or a directory, or use --data-dir");
}

Result<> run_inspect(const InspectOptions& options) {
  if (!options.path.empty()) return print_files(options);
  if (!std::filesystem::is_directory(options.data_dir)) {
    return fail(Code::kNotFound, fmt::format("there is no data directory {}", options.data_dir));
  }
  set_up_log({.level = LogLevel::kWarning});
  engine::DatabaseOptions database_options;
  database_options.data_dir = options.data_dir;
  QV_TRY(const auto database, engine::Database::open(std::move(database_options)));
  auto names = database->collection_names();
  std::sort(names.begin(), names.end());
  if (!options.collection.empty()) names = {options.collection};
  Result<> result;
  for (const auto& name : names) {
    if (result) result = inspect(*database, name, options.json);
  }
  if (options.collection.empty()) print_strangers(database->strangers(), options.json);
  const auto closed = database->close();
  return result ? closed : result;
}

}  // namespace quiver::app
