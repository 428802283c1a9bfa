#include "index/flat/type.h"
#include "index/index.h"

namespace quiver::index {
namespace {
constexpr const IndexType* kTypes[] = {&kFlat};
}  // namespace

std::span<const IndexType* const> index_types() { return kTypes; }

const IndexType* find_index_type(std::string_view name) {
  for (const IndexType* type : kTypes) {
    if (type->name == name) return type;
  }
  return nullptr;
}

WorkCounters& WorkCounters::operator+=(const WorkCounters& other) {
  n_lists += other.n_lists;
  n_blocks += other.n_blocks;
  n_codes_scored += other.n_codes_scored;
  n_rows_scored += other.n_rows_scored;
  n_bytes += other.n_bytes;
  return *this;
}

}  // namespace quiver::index
