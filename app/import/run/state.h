// The progress of an import in a small JSON file, so that the next run can continue there.
//
// Every row before `next_row` is in the collection or was skipped. Later rows may be there too; the
// next run sends them again, which replaces points by id. So the file may lag behind and needs no
// sync.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "app/import/reading/bad_rows.h"
#include "base/result.h"

namespace quiver::app {

struct ImportState {
  /// Sources, target and flags (`import_identity`).
  std::vector<std::string> identity;
  std::uint64_t next_row = 0;
  std::uint64_t n_points = 0;
  bool finished = false;
  /// Digest of the text sources before `next_row`, if a bad row stopped the import and no later row
  /// was sent: the user may then correct the text after it. Empty otherwise.
  std::string text_digest = {};
  std::uint64_t n_bad = 0;
  std::vector<BadRow> bad_rows;  ///< the first `BadRows::kMaxKept` of them
};

/// nullopt if the file does not exist; kDataLoss if it holds something else.
[[nodiscard]] Result<std::optional<ImportState>> load_state(const std::string& path);
/// Atomic: a reader finds the old state or the new one.
[[nodiscard]] Result<> save_state(const std::string& path, const ImportState& state);
/// Succeeds if the file does not exist.
[[nodiscard]] Result<> remove_state(const std::string& path);

[[nodiscard]] std::string to_json(const ImportState& state);
[[nodiscard]] Result<ImportState> parse_state(const std::string& json);

}  // namespace quiver::app
