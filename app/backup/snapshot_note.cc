#include "app/backup/snapshot_note.h"

#include <fmt/format.h>

#include "app/common/signals.h"
#include "base/io/file.h"
#include "payload/json/document.h"
#include "payload/json/escape.h"

namespace quiver::app {
namespace {

constexpr std::string_view kNoteFile = ".snapshot";

}  // namespace

Result<std::optional<NotedSnapshot>> SnapshotNote::read() const {
  QV_TRY(const auto directory, open_real_directory(folder_));
  std::optional<NotedSnapshot> noted;
  if (!directory->exists(kNoteFile)) return noted;
  QV_TRY(const auto bytes, directory->read_file(kNoteFile));
  const auto json = payload::parse_json(as_text(bytes));
  const auto* place = json ? json->find("place") : nullptr;
  const auto* name = json ? json->find("name") : nullptr;
  const bool is_known = place != nullptr && place->as_string() != nullptr && name != nullptr &&
                        name->as_string() != nullptr;
  if (is_known) noted = NotedSnapshot{*place->as_string(), *name->as_string()};
  return noted;
}

Result<> SnapshotNote::write(const NotedSnapshot& noted) const {
  QV_TRY(const auto directory, open_real_directory(folder_));
  std::string text = R"({"place":)";
  payload::append_string(text, noted.place);
  text += R"(,"name":)";
  payload::append_string(text, noted.name);
  text += "}\n";
  return directory->replace_file(kNoteFile, as_byte_span(text));
}

Result<> SnapshotNote::clear() const {
  QV_TRY(const auto directory, open_real_directory(folder_));
  if (!directory->exists(kNoteFile)) return {};
  return directory->remove_file(kNoteFile);
}

Result<> check_not_stopped() {
  const int signal = stop_signal();
  if (signal == 0) return {};
  return fail(Code::kCancelled, fmt::format("stopped by signal {}", signal));
}

}  // namespace quiver::app
