// The format of a source, by its name.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "dataset/vectors.h"

namespace quiver::dataset {

enum class Format : std::uint8_t {
  kNpy,
  kVecs,  ///< .fvecs, .ivecs, .bvecs
  kBin,   ///< .fbin, .u8bin, .i8bin, .ibin
  kIdx,
  kHdf5,
  kCsr,
  kPrefix,  ///< any other name: the common prefix of a set of .npy files
};

struct SourceName {
  Format format = Format::kPrefix;
  ValueType type = ValueType::kF32;  ///< value type of kVecs and kBin
  std::string path;                  ///< as given, with any `.zst` or `.gz`
  std::string dataset;               ///< data set of kHdf5; "" if none is named
};

/// Parses names such as "train.fvecs.zst", or "x.hdf5:train" for a data set within a file.
[[nodiscard]] SourceName parse_source(std::string_view source);

/// Known endings, for messages.
inline constexpr std::string_view kKnownEndings =
    ".npy, .fvecs, .ivecs, .bvecs, .fbin, .u8bin, .i8bin, .ibin, .csr, -idx3-ubyte, .hdf5:DATASET "
    "(each also with .zst or .gz)";

}  // namespace quiver::dataset
