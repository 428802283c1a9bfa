#include "index/dense/osq/type.h"
#include "index/dense/type.h"
#include "index/exact/type.h"
#include "index/index.h"
#include "index/multi/type.h"
#include "index/sparse/type.h"

namespace quiver::index {
namespace {
constexpr const IndexType* kTypes[] = {&kFlat, &kSeismic, &kIvf, &kOsq, &kMulti};
}  // namespace

std::span<const IndexType* const> index_types() { return kTypes; }

const IndexType* find_index_type(std::string_view name) {
  for (const IndexType* type : kTypes) {
    if (type->name == name) return type;
  }
  return nullptr;
}

}  // namespace quiver::index
