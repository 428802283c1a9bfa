#include "base/io/section_summary.h"

#include <span>

#include "base/io/section_layout.h"

namespace quiver {

Result<SectionSummary> read_section_summary(const Directory& directory, std::string_view name) {
  QV_TRY(const auto file, directory.open_file(name));
  section_layout::Head head;
  section_layout::Trailer trailer;
  if (file->size() < section_layout::kAlignment + sizeof(trailer)) {
    return fail(file_ends_early(directory.path() + "/" + std::string(name),
                                section_layout::kAlignment + sizeof(trailer), file->size()));
  }
  QV_TRY(file->read(0, std::as_writable_bytes(std::span(&head, 1))));
  QV_TRY(
      file->read(file->size() - sizeof(trailer), std::as_writable_bytes(std::span(&trailer, 1))));
  SectionSummary summary;
  summary.magic.assign(head.magic.data(), head.magic.size());
  summary.end_magic.assign(trailer.magic.data(), trailer.magic.size());
  summary.version = head.version;
  summary.n_sections = trailer.n_sections;
  summary.n_rows = trailer.n_rows;
  summary.origin = head.origin;
  return summary;
}

}  // namespace quiver
