// Small files of sections that are replaced as a whole.
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>

#include "base/io/file.h"
#include "base/io/section_file.h"
#include "base/result.h"

namespace quiver {

/// Calls `write(SectionWriter&)` and puts the finished file in the place of `name`, atomically and
/// durably. The whole file is in memory meanwhile.
template <class Write>
[[nodiscard]] Result<> replace_sections(Directory& directory, const SectionFormat& format,
                                        std::string_view name, std::uint32_t n_rows, Write write) {
  const auto memory = make_memory_directory();
  QV_TRY(auto file, memory->create_file(name));
  SectionWriter writer(format, std::move(file));
  write(writer);
  QV_TRY(writer.finish(n_rows));
  QV_TRY(const auto written, memory->open_mapped(name));
  return directory.replace_file(name, written->bytes());
}

}  // namespace quiver
