#include "engine/indexing/unwanted_indexes.h"

#include <string>

namespace quiver::engine {

std::shared_ptr<const SegmentData> without_unwanted_indexes(std::shared_ptr<const SegmentData> data,
                                                            Directory& segments,
                                                            const IndexPolicy& policy) {
  const auto fields = unwanted_indexes(*data, policy);
  if (fields.empty()) return data;
  auto changed = std::make_shared<SegmentData>(*data);
  auto directory = segments.open_subdirectory(std::to_string(data->id));
  for (const std::size_t field : fields) {
    uninstall_index(*changed, field);
    if (directory) remove_indexes(**directory, field);
  }
  return changed;
}

}  // namespace quiver::engine
