#include "engine/segment/attributes.h"

#include <algorithm>
#include <memory>
#include <string_view>
#include <utility>

#include "base/observe/log.h"
#include "payload/attribute/builder.h"
#include "payload/json/document.h"

namespace quiver::engine {
namespace {

constexpr std::string_view kAttributeFile = "attributes.qva";
/// Attributes take at most this share of the payloads, or this many bytes.
constexpr std::uint64_t kAttributeBytesPerHundred = 15;
constexpr std::uint64_t kLeastAttributeBytes = 1 << 18;
constexpr std::uint32_t kDocumentsBetweenChecks = 256;

payload::AttributeLimits attribute_limits(const SegmentData& data) {
  payload::AttributeLimits limits;
  limits.max_bytes = std::max<std::uint64_t>(
      kLeastAttributeBytes, data.documents.bytes.size() * kAttributeBytesPerHundred / 100);
  return limits;
}

Result<> open_attribute_file(SegmentData& data, const Directory& directory) {
  QV_TRY(auto opened, payload::open_attributes(directory, kAttributeFile, data.n_rows));
  data.attributes = std::make_shared<const payload::OpenedAttributes>(std::move(opened));
  return {};
}

/// True if making the file again helps.
bool can_be_made_again(Code code) { return code == Code::kNotFound || code == Code::kDataLoss; }

}  // namespace

Result<> make_attributes(SegmentData& data, Directory& directory, const Cancel& cancel) {
  payload::AttributeBuilder builder(attribute_limits(data));
  for (std::uint32_t row = 0; row < data.n_rows; ++row) {
    if (row % kDocumentsBetweenChecks == 0) QV_TRY(cancel.check());
    const std::string_view text = data.documents[row];
    if (text.empty()) {
      builder.add(payload::Value(payload::Object()));
      continue;
    }
    QV_TRY(const auto document, payload::parse_json(text));
    builder.add(document);
  }
  QV_TRY(data.check_rows());
  if (directory.exists(kAttributeFile)) QV_TRY(directory.remove_file(kAttributeFile));
  QV_TRY(payload::write_attributes(builder.finish(), data.n_rows, directory, kAttributeFile));
  return open_attribute_file(data, directory);
}

Result<> open_attributes(SegmentData& data, Directory& directory, const Cancel& cancel) {
  auto opened = open_attribute_file(data, directory);
  if (opened || !can_be_made_again(opened.error().code())) return opened;
  if (opened.error().code() != Code::kNotFound) {
    log_warning("{}; making it again", opened.error().message());
  }
  QV_TRY(make_attributes(data, directory, cancel));
  return directory.sync();
}

std::vector<AttributeInfo> attribute_infos(const SegmentData& data) {
  std::vector<AttributeInfo> infos;
  if (data.attributes == nullptr) return infos;
  for (const auto& attribute : data.attributes->set.attributes) {
    infos.push_back({attribute.path, attribute.n_entries(), attribute.has_single_values(),
                     attribute.n_bytes()});
  }
  return infos;
}

}  // namespace quiver::engine
