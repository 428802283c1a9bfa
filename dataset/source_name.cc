#include "dataset/source_name.h"

#include <algorithm>

#include "dataset/streams/byte_source.h"

namespace quiver::dataset {
namespace {

struct Ending {
  std::string_view text;
  Format format;
  ValueType type = ValueType::kF32;
};
constexpr Ending kEndings[] = {
    {".npy", Format::kNpy},
    {".fvecs", Format::kVecs, ValueType::kF32},
    {".ivecs", Format::kVecs, ValueType::kI32},
    {".bvecs", Format::kVecs, ValueType::kU8},
    {".fbin", Format::kBin, ValueType::kF32},
    {".u8bin", Format::kBin, ValueType::kU8},
    {".i8bin", Format::kBin, ValueType::kI8},
    {".ibin", Format::kBin, ValueType::kI32},
    {".csr", Format::kCsr},
    {".hdf5", Format::kHdf5},
    {".h5", Format::kHdf5},
    {".idx", Format::kIdx},
};

/// Names such as "train-images-idx3-ubyte", "train-images.idx3-ubyte", "x.idx3": "idx", a digit,
/// and optionally a type.
bool is_idx_name(std::string_view path) {
  const std::string_view name = path.substr(path.rfind('/') + 1);
  const auto at = name.rfind("idx");
  if (at == std::string_view::npos || at == 0 || at + 3 >= name.size()) return false;
  const bool is_apart = name[at - 1] == '-' || name[at - 1] == '.';
  const bool has_digit = name[at + 3] >= '1' && name[at + 3] <= '9';
  return is_apart && has_digit && (at + 4 == name.size() || name[at + 4] == '-');
}

const Ending* ending_of(std::string_view path) {
  const std::string_view plain = unpacked_name(path);
  const auto* found =
      std::ranges::find_if(kEndings, [&](const Ending& e) { return plain.ends_with(e.text); });
  return found == std::end(kEndings) ? nullptr : found;
}

}  // namespace

SourceName parse_source(std::string_view source) {
  const auto colon = source.rfind(':');
  if (colon != std::string_view::npos) {
    const Ending* ending = ending_of(source.substr(0, colon));
    if (ending != nullptr && ending->format == Format::kHdf5) {
      return {Format::kHdf5, ValueType::kF32, std::string(source.substr(0, colon)),
              std::string(source.substr(colon + 1))};
    }
  }
  if (const Ending* ending = ending_of(source)) {
    return {ending->format, ending->type, std::string(source), {}};
  }
  const bool is_idx = is_idx_name(unpacked_name(source));
  return {is_idx ? Format::kIdx : Format::kPrefix, ValueType::kF32, std::string(source), {}};
}

}  // namespace quiver::dataset
