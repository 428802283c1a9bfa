// Arithmetic on raw memory: one table of functions per instruction level. Other rooms include this
// header; a family of functions is declared in its own folder (`kernels/dense/dense.h`, ...).
//
// Take the table once per query (`const KernelTable& k = kernels();`) and prefer the forms for many
// rows. Nothing here fails, throws, allocates or locks; any thread may call. Callers check shapes.
//
// Larger scores are better everywhere: distances are negated.
//
// Same question, same bits: within one level a similarity is one function of the bits of (query,
// row). One-to-one, one-to-many and gathered forms add in the same order, so block sizes, positions
// and tiles never show. Levels differ by rounding only: |error| <= dim * 2^-22 * sum |terms|.
// Families marked *exact* have the same bits on every level.
#pragma once

#include <cstddef>
#include <span>

#include "base/schema.h"
#include "kernels/binary/binary.h"
#include "kernels/bytes/bytes.h"
#include "kernels/cells/cells.h"
#include "kernels/codes/codes.h"
#include "kernels/convert/convert.h"
#include "kernels/decimals/decimals.h"
#include "kernels/dense/dense.h"
#include "kernels/grid/grid.h"
#include "kernels/maxsim/maxsim.h"
#include "kernels/products/products.h"
#include "kernels/records/records.h"
#include "kernels/sets/sets.h"
#include "kernels/signs/signs.h"
#include "kernels/similarity.h"
#include "kernels/sparse/sparse.h"
#include "kernels/sums/sums.h"
#include "kernels/texts/texts.h"
#include "kernels/topk/topk.h"
#include "kernels/transform/transform.h"
#include "kernels/turbo/turbo.h"

namespace quiver {

/// The functions of one instruction level.
struct KernelTable {
  const char* name;  ///< "generic", "avx2" or "avx512"
  const DenseFamily& dense_family;
  const SparseKernels& sparse;
  const MaxSimKernels& maxsim_family;
  const TopKKernels& topk;
  const ConvertKernels& convert;
  const ByteKernels& bytes;
  const BinaryKernels& binary;
  const RecordKernels& records;
  const SumKernels& sums;
  const TransformKernels& transform;
  const GridKernels& grid;
  const CodeKernels& codes;
  const SetKernels& sets;
  const SignKernels& signs;
  const DecimalKernels& decimals;
  const TurboKernels& turbo;
  const CellKernels& cells;
  const TextKernels& texts;
  const ProductKernels& products;

  [[nodiscard]] const DenseKernels& dense(Similarity similarity, RowType type) const {
    return dense_family.table[static_cast<std::size_t>(similarity)][static_cast<std::size_t>(type)];
  }
  [[nodiscard]] const DenseKernels& dense(Similarity similarity, DType dtype) const {
    return dense(similarity, row_type(dtype));
  }
  [[nodiscard]] auto maxsim(Similarity similarity, DType dtype) const {
    return maxsim_family.score[static_cast<std::size_t>(similarity)][token_type(dtype)];
  }
};

/// The level in use, chosen at the first call: the best one of this machine, or the one named by
/// `QUIVER_SIMD` (generic, avx2, avx512). A name that is unknown or not available is reported on
/// stderr and ignored.
[[nodiscard]] const KernelTable& kernels();

/// All levels of this machine, best first; `generic` is always the last.
[[nodiscard]] std::span<const KernelTable* const> available();

}  // namespace quiver
