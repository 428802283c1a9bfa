#include "engine/segment/sealing.h"

#include <memory>
#include <span>
#include <string>
#include <utility>

#include "base/io/checked_files.h"
#include "engine/segment/attributes.h"
#include "engine/segment/columns.h"

namespace quiver::engine {
namespace {

/// Verifies again what a new segment was made of: its checksums would vouch for bytes that changed
/// since its inputs were opened. All files that differ are damaged afterwards; the first error.
Result<> verify(std::span<const Segment> inputs) {
  Result<> first;
  const auto verify_file = [&](const std::shared_ptr<const MappedFile>& file) {
    if (file == nullptr) return;
    auto verified = check_again(*file);
    if (!verified && first) first = std::move(verified);
  };
  for (const Segment& input : inputs) {
    verify_file(input.data->file);
    for (const auto& [key, column] : input.data->columns) verify_file(column.file);
  }
  return first;
}

Result<SegmentData> write_files(const NewSegment& segment, Directory& segments,
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

}  // namespace

Result<SegmentData> write_segment(const NewSegment& segment, Directory& segments,
                                  const std::vector<FieldSchema>& fields, const Cancel& cancel,
                                  const std::function<void(double)>& progress) {
  auto output = write_files(segment, segments, fields, cancel, progress);
  // Changed bytes may also be why the output is none.
  if (output || output.error().code() == Code::kDataLoss) {
    QV_TRY(verify(segment.inputs));
  }
  return output;
}

}  // namespace quiver::engine
