#include <array>
#include <bit>
#include <cstring>

#include "kernels/levels.h"

namespace quiver::generic {
namespace {

#include "kernels/decimals/scalar.inc"

DecimalsRead read(const char* text, const char* end, float* out, std::size_t room) {
  return read_list(text, end, out, room, [](const char* at, float*, std::size_t) {
    return DecimalsRead{0, at};
  });
}

}  // namespace

constinit const DecimalKernels kDecimalKernels = {read};

}  // namespace quiver::generic
