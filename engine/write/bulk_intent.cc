#include "engine/write/bulk_intent.h"

#include <fmt/format.h>

#include <array>
#include <optional>

#include "payload/json/document.h"
#include "storage/rows/row_file.h"

namespace quiver::engine {
namespace {

constexpr std::uint64_t kIntentVersion = 1;

tl::unexpected<Error> damaged_intent(std::string_view what) {
  return fail(Code::kDataLoss, fmt::format("the record of a bulk load is damaged: {}", what));
}

}  // namespace

std::string encode_intent(const BulkIntent& intent) {
  return fmt::format(
      R"({{"version":{},"load":{},"segment":{},"files":{},"first_id":"{}","first_seq":{},"last_seq":{}}})",
      kIntentVersion, intent.load, intent.segment, intent.n_files, intent.first_id.to_string(),
      to_number(intent.first_seq), to_number(intent.last_seq));
}

Result<BulkIntent> decode_intent(std::string_view text) {
  const auto json = payload::parse_json(text);
  if (!json) return damaged_intent(json.error().message());
  if (json->find_unsigned("version") != kIntentVersion) return damaged_intent("version is not 1");
  constexpr std::array<std::string_view, 5> kKeys = {"load", "segment", "files", "first_seq",
                                                     "last_seq"};
  std::array<std::uint64_t, kKeys.size()> values{};
  for (std::size_t i = 0; i < kKeys.size(); ++i) {
    const auto value = json->find_unsigned(kKeys[i]);
    if (!value) return damaged_intent(fmt::format("{} is missing", kKeys[i]));
    values[i] = *value;
  }
  const auto* id_text = json->find("first_id");
  const auto id = id_text == nullptr || id_text->as_string() == nullptr
                      ? std::nullopt
                      : PointId::parse(*id_text->as_string());
  if (!id) return damaged_intent("first_id is missing");
  return BulkIntent{values[0], values[1], values[2], *id, Seq{values[3]}, Seq{values[4]}};
}

std::string row_file_name(std::uint64_t segment, std::uint64_t i) {
  return fmt::format("{}-{}{}", segment, i, storage::kRowFileSuffix);
}

std::vector<std::string> row_file_names(const BulkIntent& intent) {
  std::vector<std::string> names;
  for (std::uint64_t i = 0; i < intent.n_files; ++i) {
    names.push_back(row_file_name(intent.segment, i));
  }
  return names;
}

}  // namespace quiver::engine
