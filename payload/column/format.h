// Bytes of a sealed column file, as specified in docs/formats/payload-column.md.
#pragma once

#include <cstdint>

namespace quiver::payload::format {

/// "QVPAYCOL" read as a little-endian number.
inline constexpr std::uint64_t kMagic = 0x4C4F435941505651;
inline constexpr std::uint32_t kVersion = 1;
inline constexpr std::uint32_t kVersionWithOrigin = 2;
inline constexpr std::uint64_t kAlignment = 64;

struct Header {
  std::uint64_t magic = kMagic;
  std::uint32_t version = kVersion;
  std::uint32_t kind = 0;  ///< IndexKind
  std::uint32_t n_rows = 0;
  std::uint32_t n_sections = 0;
  std::uint64_t file_bytes = 0;
  std::uint64_t checksum = 0;  ///< covers the whole file with this field set to 0
  std::uint64_t owner = 0;     ///< version 2 only: FileOrigin::owner, base/io/file.h
  std::uint64_t path = 0;      ///< version 2 only: FileOrigin::path
  std::uint64_t reserved = 0;
};
static_assert(sizeof(Header) == 64);

enum class SectionId : std::uint32_t {
  kIndex = 1,
  kFacts = 2,
  kOffsets = 3,
  kIrregular = 4,
  kTerms = 5,
  kIntegers = 6,
  kDoubles = 7,
  kPoints = 8,
  kTermOffsets = 9,
  kTermBytes = 10,
  kPostingOffsets = 11,
  kPostingRows = 12,
  kSortedIntegers = 13,
  kSortedDoubles = 14,
  kSortedRows = 15,
  kPostingCounts = 16,
  kTextLengths = 17,
  kBlockCounts = 18,
  kBlockLengths = 19,
};
inline constexpr std::uint32_t kMaxSections = 19;

struct Section {
  std::uint32_t id = 0;
  std::uint32_t element_bytes = 0;
  std::uint64_t offset = 0;  ///< from the start of the file, a multiple of kAlignment
  std::uint64_t n_elements = 0;
};
static_assert(sizeof(Section) == 24);

/// Section kIndex: this record, then the bytes of the key, then the u64 hash of
/// `analysis_identity` if that is not empty.
struct IndexRecord {
  std::uint32_t tokenizer = 0;
  std::uint32_t lowercase = 0;
  std::uint32_t phrase_matching = 0;
  std::uint32_t min_token_len = 0;
  std::uint32_t max_token_len = 0;
};
static_assert(sizeof(IndexRecord) == 20);

}  // namespace quiver::payload::format
