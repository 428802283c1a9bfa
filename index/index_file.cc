#include "index/index_file.h"

#include <fmt/format.h>

namespace quiver::index {

Result<SectionReader> open_index_file(const Directory& directory, std::string_view name,
                                      const SectionFormat& format, std::uint32_t n_rows,
                                      std::uint64_t& n_bytes, Reads reads) {
  QV_TRY(auto reader, SectionReader::open(format, directory, name));
  n_bytes += reader.file()->bytes().size();
  if (reader.n_rows() != n_rows) {
    return reader.damaged(fmt::format("{} rows, expected {}", reader.n_rows(), n_rows));
  }
  if (reads == Reads::kScattered) (void)reader.file()->hold_in_huge_pages();
  return reader;
}

}  // namespace quiver::index
