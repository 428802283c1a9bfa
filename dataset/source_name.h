// What the name of a source says about its format.
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
  kPrefix,  ///< none of these: what a set of .npy files shares
};

struct SourceName {
  Format format = Format::kPrefix;
  ValueType type = ValueType::kF32;  ///< of kVecs and kBin
  std::string path;                  ///< with `.zst` or `.gz` if that was given
  std::string dataset;               ///< of kHdf5; "" if none is named
};

/// "train.fvecs.zst" and the like; "x.hdf5:train" names a data set within a file.
[[nodiscard]] SourceName parse_source(std::string_view source);

/// For messages: the endings that are known.
inline constexpr std::string_view kKnownEndings =
    ".npy, .fvecs, .ivecs, .bvecs, .fbin, .u8bin, .i8bin, .ibin, .csr, -idx3-ubyte, .hdf5:DATASET "
    "(each "
    "also with .zst or .gz)";

}  // namespace quiver::dataset
