// The tables that the instruction levels define. Only dispatch.cc reads them.
#pragma once

#include "base/prefetch.h"
#include "kernels/kernels.h"

#define QV_DECLARE_LEVEL(level)                    \
  namespace quiver::level {                        \
  extern const DenseFamily kDenseFamily;           \
  extern const ByteKernels kByteKernels;           \
  extern const BinaryKernels kBinaryKernels;       \
  extern const SparseKernels kSparseKernels;       \
  extern const MaxSimKernels kMaxSimKernels;       \
  extern const TopKKernels kTopKKernels;           \
  extern const ConvertKernels kConvertKernels;     \
  extern const RecordKernels kRecordKernels;       \
  extern const SumKernels kSumKernels;             \
  extern const TransformKernels kTransformKernels; \
  extern const GridKernels kGridKernels;           \
  extern const CodeKernels kCodeKernels;           \
  extern const SetKernels kSetKernels;             \
  extern const SignKernels kSignKernels;           \
  extern const DecimalKernels kDecimalKernels;     \
  extern const TurboKernels kTurboKernels;         \
  extern const CellKernels kCellKernels;           \
  extern const TextKernels kTextKernels;           \
  extern const ProductKernels kProductKernels;     \
  }

QV_DECLARE_LEVEL(generic)
#if defined(__x86_64__)
QV_DECLARE_LEVEL(avx2)
QV_DECLARE_LEVEL(avx512)
#endif

#undef QV_DECLARE_LEVEL
