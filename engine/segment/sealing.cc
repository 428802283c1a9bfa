#include "engine/segment/sealing.h"

#include <string>

#include "engine/segment/attributes.h"
#include "engine/segment/columns.h"

namespace quiver::engine {

Result<SegmentData> write_segment(const NewSegment& segment, Directory& segments,
                                  const std::vector<FieldSchema>& fields, const Cancel& cancel,
                                  const std::function<void(double)>& progress) {
  QV_TRY(auto directory, segments.subdirectory(std::to_string(segment.id)));
  QV_TRY(write_segment_file(*directory, segment.inputs, segment.rows, cancel, progress));
  QV_TRY(auto output, open_segment_file(*directory, segment.id, fields));
  QV_TRY(merge_columns(output, segment.inputs, segment.rows, *directory, segment.indexes));
  QV_TRY(make_attributes(output, *directory, cancel));
  QV_TRY(directory->sync());
  QV_TRY(segments.sync());
  return output;
}

}  // namespace quiver::engine
