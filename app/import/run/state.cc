#include "app/import/run/state.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <fstream>
#include <sstream>

#include "base/io/file.h"
#include "payload/json/document.h"
#include "service/json/writer.h"

namespace quiver::app {
namespace {

using payload::Value;
using service::json::Writer;

constexpr std::uint64_t kStateVersion = 1;

void write_bad_rows(Writer& json, const std::vector<BadRow>& rows) {
  json.key("bad_rows");
  json.begin_array();
  for (const BadRow& bad : rows) {
    json.begin_object();
    json.member("row", bad.row);
    json.member("text", std::string_view(bad.text));
    json.end_object();
  }
  json.end_array();
}

Result<std::uint64_t> number(const Value& object, std::string_view key) {
  const Value* value = object.find(key);
  const auto* found = value == nullptr ? nullptr : value->as_i64();
  if (found != nullptr && *found >= 0) return static_cast<std::uint64_t>(*found);
  return fail(Code::kDataLoss, fmt::format("\"{}\" is no number", key));
}

Result<std::string> text(const Value& value) {
  if (const auto* found = value.as_string()) return *found;
  return fail(Code::kDataLoss, payload::to_json(value) + " is not a string");
}

Result<const payload::Array*> array(const Value& object, std::string_view key) {
  const Value* value = object.find(key);
  if (value != nullptr && value->as_array() != nullptr) return value->as_array();
  return fail(Code::kDataLoss, fmt::format("\"{}\" is not a list", key));
}

Result<BadRow> parse_bad_row(const Value& value) {
  BadRow bad;
  QV_TRY(bad.row, number(value, "row"));
  const Value* found = value.find("text");
  if (found == nullptr) return fail(Code::kDataLoss, "a bad row has no text");
  QV_TRY(bad.text, text(*found));
  return bad;
}

}  // namespace

std::string to_json(const ImportState& state) {
  std::string out;
  Writer json(out);
  json.begin_object();
  json.member("quiver_import", kStateVersion);
  json.key("identity");
  json.begin_array();
  for (const std::string& line : state.identity) json.string(line);
  json.end_array();
  json.member("next_row", state.next_row);
  json.member("points", state.n_points);
  json.member("finished", state.finished);
  json.member("text_digest", std::string_view(state.text_digest));
  json.member("bad", state.n_bad);
  write_bad_rows(json, state.bad_rows);
  json.end_object();
  out += '\n';
  return out;
}

Result<ImportState> parse_state(const std::string& json) {
  QV_TRY(const Value value, payload::parse_json(json));
  QV_TRY(const std::uint64_t version, number(value, "quiver_import"));
  if (version != kStateVersion) {
    return fail(Code::kDataLoss, fmt::format("version {}, wanted {}", version, kStateVersion));
  }
  ImportState state;
  QV_TRY(const auto* identity, array(value, "identity"));
  for (const Value& line : *identity) {
    QV_TRY(std::string found, text(line));
    state.identity.push_back(std::move(found));
  }
  QV_TRY(state.next_row, number(value, "next_row"));
  QV_TRY(state.n_points, number(value, "points"));
  const Value* finished = value.find("finished");
  state.finished = finished != nullptr && finished->as_bool() != nullptr && *finished->as_bool();
  if (const Value* digest = value.find("text_digest")) {
    QV_TRY(state.text_digest, text(*digest));
  }
  QV_TRY(state.n_bad, number(value, "bad"));
  QV_TRY(const auto* bad_rows, array(value, "bad_rows"));
  for (const Value& row : *bad_rows) {
    QV_TRY(BadRow bad, parse_bad_row(row));
    state.bad_rows.push_back(std::move(bad));
  }
  return state;
}

Result<std::optional<ImportState>> load_state(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    if (errno == ENOENT) return std::optional<ImportState>();
    return fail(file_error(errno, "open", path));
  }
  std::ostringstream bytes;
  bytes << file.rdbuf();
  auto state = parse_state(std::move(bytes).str());
  if (state) return std::optional(*std::move(state));
  return fail(Code::kDataLoss,
              fmt::format("{} is no state of an import ({}): remove it, give --restart, or another "
                          "file with --state",
                          path, state.error().message()));
}

Result<> save_state(const std::string& path, const ImportState& state) {
  const std::string temporary = path + ".tmp";
  {
    std::ofstream file(temporary, std::ios::binary | std::ios::trunc);
    file << to_json(state);
    if (!file.flush()) return fail(file_error(errno, "write", temporary));
  }
  if (std::rename(temporary.c_str(), path.c_str()) == 0) return {};
  return fail(file_error(errno, "rename", temporary));
}

Result<> remove_state(const std::string& path) {
  if (std::remove(path.c_str()) == 0 || errno == ENOENT) return {};
  return fail(file_error(errno, "remove", path));
}

}  // namespace quiver::app
