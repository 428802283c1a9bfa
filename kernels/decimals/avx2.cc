// Scalar code: the chain from one decimal's end to the next one's beginning takes the time.
#if defined(__x86_64__)
#include <array>
#include <bit>
#include <cstring>

#include "kernels/levels.h"
#include "kernels/target.h"

QV_TARGET_BEGIN(QV_AVX2)
namespace quiver::avx2 {
namespace {

#include "kernels/decimals/scalar.inc"

DecimalsRead read(const char* text, const char* end, float* out, std::size_t room) {
  return read_list(text, end, out, room, [](const char* at, float*, std::size_t) {
    return DecimalsRead{0, at};
  });
}

}  // namespace

constinit const DecimalKernels kDecimalKernels = {read};

}  // namespace quiver::avx2
QV_TARGET_END
#endif
