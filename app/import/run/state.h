// How far an import came, in a small JSON file, so that the next run goes on there.
//
// Every row before `next_row` is in the collection (or was left out); those after it may be, and
// are sent again, which changes nothing: points are replaced by id. So the file may lag, and no
// sync of it is needed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "app/import/reading/bad_rows.h"
#include "base/result.h"

namespace quiver::app {

struct ImportState {
  /// What was imported to where, a line each; another import has other lines.
  std::vector<std::string> identity;
  std::uint64_t next_row = 0;
  std::uint64_t n_points = 0;
  bool finished = false;
  /// Of the text sources before `next_row`, where a bad row stopped the import and no row behind it
  /// was sent: what follows there may be mended. Empty otherwise.
  std::string text_digest = {};
  std::uint64_t n_bad = 0;
  std::vector<BadRow> bad_rows;  ///< the first of them
};

/// nullopt if there is no such file; kDataLoss if it holds something else.
[[nodiscard]] Result<std::optional<ImportState>> load_state(const std::string& path);
/// In one step: a reader finds the old state or this one.
[[nodiscard]] Result<> save_state(const std::string& path, const ImportState& state);
/// No file is none to remove.
[[nodiscard]] Result<> remove_state(const std::string& path);

[[nodiscard]] std::string to_json(const ImportState& state);
[[nodiscard]] Result<ImportState> parse_state(const std::string& json);

}  // namespace quiver::app
