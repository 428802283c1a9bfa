// Arithmetic on raw memory, one table of functions per instruction level. The only header of this
// room.
//
// Take the table once per query (`const KernelTable& k = kernels();`) and prefer the forms for many
// rows. Nothing here fails, throws, allocates or locks; any thread may call. Shapes were checked by
// the caller.
//
// Larger is better everywhere: distances come out negated.
//
// Same question, same bits: within one level a similarity is one function of the bits of (query,
// row). One-to-one, one-to-many and gathered forms add in the same order, so block sizes, positions
// and tiles never show. Between levels results differ by rounding only: |error| <= dim * 2^-22 *
// sum |terms|. Families marked *exact* have the same bits on every level.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/schema.h"

namespace quiver {

/// What a dense kernel computes of a query and a row.
enum class Similarity : std::uint8_t { kDot = 0, kNegL2Squared = 1, kNegL1 = 2 };
inline constexpr std::size_t kSimilarities = 3;
inline constexpr std::size_t kDTypes = 3;

/// Cosine is the dot product of rows that were normalised when they were stored.
[[nodiscard]] constexpr Similarity similarity_of(Metric metric) {
  return metric == Metric::kEuclid      ? Similarity::kNegL2Squared
         : metric == Metric::kManhattan ? Similarity::kNegL1
                                        : Similarity::kDot;
}

/// Types of stored values; the first three are those of fields (`DType`), by the same numbers.
enum class RowType : std::uint8_t { kF32 = 0, kF16 = 1, kU8 = 2, kI8 = 3, kBf16 = 4 };
inline constexpr std::size_t kRowTypes = 5;
[[nodiscard]] constexpr RowType row_type(DType dtype) { return static_cast<RowType>(dtype); }

/// Prepared queries that are scored on one pass over the rows: query j at `first + j * stride`.
template <class Query>
struct QueryTile {
  const Query* first = nullptr;
  std::size_t stride = 0;
  std::size_t n = 0;  ///< any number; 8 are fastest
};

/// Scores of a tile: of query j and row i at `first[j * stride + i]`.
template <class Score>
struct ScoreTile {
  Score* first = nullptr;
  std::size_t stride = 0;
};

/// The forms of one similarity; all give a (query, row) pair the same bits. A row is `dim` values
/// at any byte alignment (64 is fastest); nothing is read beyond `dim` values of query or row.
template <class Query, class Score>
struct RowKernels {
  Score (*one)(const Query* query, std::uint32_t dim, const std::byte* row);
  /// Row i at `rows + i * stride_bytes`; writes `out[0 .. n)`.
  void (*many)(const Query* query, std::uint32_t dim, const std::byte* rows,
               std::size_t stride_bytes, std::size_t n, Score* out);
  /// Row `ids[i]` at `base + ids[i] * stride_bytes`; writes `out[0 .. n)`. Prefetches ahead.
  void (*gather)(const Query* query, std::uint32_t dim, const std::byte* base,
                 std::size_t stride_bytes, const std::uint32_t* ids, std::size_t n, Score* out);
  /// As `many`, several queries on one pass over the rows.
  void (*tile)(const QueryTile<Query>& queries, std::uint32_t dim, const std::byte* rows,
               std::size_t stride_bytes, std::size_t n, const ScoreTile<Score>& out);
  /// As `gather`, several queries on one pass over the rows.
  void (*tile_gather)(const QueryTile<Query>& queries, std::uint32_t dim, const std::byte* base,
                      std::size_t stride_bytes, const std::uint32_t* ids, std::size_t n,
                      const ScoreTile<Score>& out);
};

/// An f32 query against stored rows of one type, which are converted to f32 in registers.
using DenseKernels = RowKernels<float, float>;
struct DenseFamily {
  DenseKernels table[kSimilarities][kRowTypes];
  /// Dot product of bf16 and bf16, summed in f32. Subnormal values and sums may count as zero.
  RowKernels<std::uint16_t, float> bf16_dot;
};

/// Which indices a sparse query may have, by their lowest ten bits: tells most entries of a row
/// apart from those of the query without a look-up.
struct SparseFilter {
  std::uint32_t words[32] = {};

  void add(std::uint32_t index) { words[index / 32 % 32] |= 0x80000000u >> (index % 32); }
};

/// A sparse query, prepared and borrowed. Indices are strictly ascending, values finite.
struct SparseQuery {
  /// As a query holds a value: zero is kept as -0, so that no bits are those of "not there".
  [[nodiscard]] static constexpr float stored(float value) { return value == 0.0f ? -0.0f : value; }

  const std::uint32_t* indices = nullptr;
  const float* values = nullptr;  ///< `stored`
  std::size_t n = 0;
  /// `[dim + 1]`: the values at their indices and +0 elsewhere, the last +0 for all that lies
  /// beyond; nullptr: not worth its memory, `values` are looked up instead, to the same bits.
  const float* scattered = nullptr;
  std::uint32_t dim = 0;  ///< above every index, below 2^31
  SparseFilter filter;    ///< of `indices`
};

/// Compressed rows: row i has entries `[offsets[i], offsets[i + 1])`. Indices are strictly
/// ascending, values finite.
struct SparseRows {
  const std::uint64_t* offsets;
  const std::uint32_t* indices;
  const float* values;
};

/// Dot products of sparse vectors; NaN for a row that shares no index with the query. Entry j of a
/// row always adds to partial sum j mod 16, and zero comes out as +0.
struct SparseKernels {
  /// Rows `first, first + 1, ...`; writes `out[0 .. n)`.
  void (*many)(const SparseQuery& query, const SparseRows& rows, std::size_t first, std::size_t n,
               float* out);
  /// Rows `ids[i]`; writes `out[0 .. n)`. Prefetches ahead.
  void (*gather)(const SparseQuery& query, const SparseRows& rows, const std::uint32_t* ids,
                 std::size_t n, float* out);
};

/// Packed codes of document tokens: a code of 4 or 2 bits stands for one of `PackedLevels`.
/// In 16 bytes of 4-bit codes of 32 dimensions, byte j has dimensions j and 16 + j; in 8 bytes of
/// 2-bit codes, byte j has dimensions j, 8 + j, 16 + j and 24 + j; the first one in the lowest
/// bits. Dimensions are a multiple of 32.
struct PackedLevels {
  /// The 16 and the 4 numbers with which a normal distribution is rounded best (Max, IRE
  /// Transactions on Information Theory 6, 1960, table I), times 127 / the largest, plus 128.
  static constexpr std::uint8_t k4Bits[16] = {1,   32,  53,  70,  84,  97,  110, 122,
                                              134, 146, 159, 172, 186, 203, 224, 255};
  static constexpr std::uint8_t k2Bits[4] = {1, 90, 166, 255};
};

/// Sum over query tokens of the greatest similarity to any document token (late interaction).
/// A query is prepared once into blocks of 16 tokens, `[n_blocks, dim, 16]` f32, the last one
/// zero-padded; the layout is the same on every level. Similarities that are NaN (overflow) never
/// win. What follows a document in memory is prefetched.
///
/// Codes: all tokens share one scale. A query token is i8, a document token is u8: its i8 codes
/// plus 128, because instructions multiply u8 by i8 and what the 128 adds is the same for every
/// document token. Exact; `dim` <= 65,536.
struct MaxSimKernels {
  /// `tokens` is `[n_query, dim]` f32, row i at `tokens + i * stride_floats`; writes
  /// `prepared_floats(n_query, dim)` floats. Exact.
  void (*prepare)(const float* tokens, std::size_t n_query, std::uint32_t dim,
                  std::size_t stride_floats, float* prepared);
  /// `doc` is `[n_doc, dim]` of the stored type, `n_doc` >= 1. Indexed by [Similarity][DType].
  float (*score[kSimilarities][kDTypes])(const float* prepared, std::size_t n_query,
                                         std::uint32_t dim, const std::byte* doc,
                                         std::size_t stride_bytes, std::size_t n_doc);

  /// `tokens` is `[n_query, dim]`; writes `prepared_codes(n_query, dim)` bytes: blocks of
  /// `[1 + dim / 4 rounded up, 16]` groups of four bytes, the first -128 * the sum of the token's
  /// codes as i32, then its codes, zero-padded.
  void (*prepare_codes)(const std::int8_t* tokens, std::size_t n_query, std::uint32_t dim,
                        std::size_t stride_bytes, std::int8_t* prepared);
  /// `doc` is `[n_doc, dim]` u8, `n_doc` >= 1. The dot products are those of the i8 codes.
  std::int64_t (*score_codes)(const std::int8_t* prepared, std::size_t n_query, std::uint32_t dim,
                              const std::byte* doc, std::size_t stride_bytes, std::size_t n_doc);
  /// As `score_codes`, of packed codes (`PackedLevels`) of 4 and 2 bits; `dim` is a multiple of 32.
  std::int64_t (*score_codes_4bit)(const std::int8_t* prepared, std::size_t n_query,
                                   std::uint32_t dim, const std::byte* doc,
                                   std::size_t stride_bytes, std::size_t n_doc);
  std::int64_t (*score_codes_2bit)(const std::int8_t* prepared, std::size_t n_query,
                                   std::uint32_t dim, const std::byte* doc,
                                   std::size_t stride_bytes, std::size_t n_doc);
  /// What `score_codes` adds, `best[i]` for query token i; and, unless `which` is nullptr, the
  /// first document token that has it in `which[i]`, which takes several times as long.
  void (*best_codes)(const std::int8_t* prepared, std::size_t n_query, std::uint32_t dim,
                     const std::byte* doc, std::size_t stride_bytes, std::size_t n_doc,
                     std::int32_t* best, std::uint32_t* which);

  /// Products of matrices: adds the dot product of query token i and row j, one chain over the
  /// dimensions, to `out[j * out_stride + i]`. `rows` is `[n_rows, dim]`.
  void (*add_products)(const float* prepared, std::size_t n_query, std::uint32_t dim,
                       const float* rows, std::size_t stride_floats, std::size_t n_rows, float* out,
                       std::size_t out_stride);

  [[nodiscard]] static constexpr std::size_t prepared_floats(std::size_t n_query,
                                                             std::uint32_t dim) {
    return (n_query + 15) / 16 * 16 * dim;
  }
  [[nodiscard]] static constexpr std::size_t prepared_codes(std::size_t n_query,
                                                            std::uint32_t dim) {
    return (n_query + 15) / 16 * 64 * (1 + (std::size_t{dim} + 3) / 4);
  }
};

/// Bytes against bytes in integers. Exact; `dim` <= 65,536. Distances come out positive here.
struct ByteKernels {
  /// u8 query, u8 rows: dot product, squared and absolute distance, indexed by Similarity.
  RowKernels<std::uint8_t, std::uint32_t> u8[kSimilarities];
  /// i8 query, u8 rows: dot product. A format that stores i8 as u8, plus 128, subtracts 128 times
  /// the sum of the query.
  RowKernels<std::int8_t, std::int32_t> u8_dot_i8;
  /// i8 rows; the query is prepared as u8, plus 128. Its dot product is that of the prepared query:
  /// a format subtracts 128 times the sum of the row, which it stores.
  RowKernels<std::uint8_t, std::int32_t> i8_dot;
  /// i8 rows and a query prepared as for `i8_dot`: the distances of the values themselves.
  RowKernels<std::uint8_t, std::uint32_t> i8_l2;
  RowKernels<std::uint8_t, std::uint32_t> i8_l1;
};

/// Codes of one bit a dimension, `dim` bytes of them, <= 65,536; what bits mean is the format's.
/// Exact.
struct BinaryKernels {
  /// Bits that differ.
  RowKernels<std::uint8_t, std::uint32_t> hamming;
  /// Bits set in both.
  RowKernels<std::uint8_t, std::uint32_t> common;
  /// Dot product of a query of 4-bit integers and the bits: the query is four planes of `dim`
  /// bytes, plane p with bit p of each value.
  RowKernels<std::uint8_t, std::uint32_t> dot_4bit;
};

/// Forward records of learned-sparse indexes: terms and their values, of which a query's table says
/// the weights. Between levels results differ by rounding.
struct RecordKernels {
  /// The sum of `table[terms[i]] * values[i]` for `n` terms, a multiple of 16. `terms` are u16 or
  /// u32, on 32-byte boundaries; `values` f32, f16 or u8 as numbers from 0 to 255. Indexed by
  /// [terms are u32][RowType], for those three.
  float (*score[2][kDTypes])(const float* table, const std::byte* terms, const std::byte* values,
                             std::size_t n);
  /// The same of a record that keeps its ascending terms as differences, the first from 0: `n / 8`
  /// bytes with a bit for each difference, set if it takes two bytes, lowest first; `n` values of
  /// u8; the differences, of one byte or two, low byte first. At most 32 bytes behind the record
  /// are read. `record` is on a 2-byte boundary.
  float (*score_gaps)(const float* table, const std::byte* record, std::size_t n);
};

/// Sums of 16 bits, one a row. `n` is a multiple of 64 and `sums` starts on a cache line. Exact.
struct SumKernels {
  /// Writes the positions of `sums[i] >= threshold` in ascending order and returns how many, those
  /// alone whose bit in `allowed` is set unless it is nullptr. `positions` has room for `n`.
  std::size_t (*at_least)(const std::uint16_t* sums, std::size_t n, std::uint16_t threshold,
                          const std::uint64_t* allowed, std::uint16_t* positions);
  /// How many that would be.
  std::size_t (*count_at_least)(const std::uint16_t* sums, std::size_t n, std::uint16_t threshold,
                                const std::uint64_t* allowed);
};

/// A query as tables (FastScan: André et al., PVLDB 2015), made by `CodeKernels::prepare`.
struct CodeTables {
  /// `[n_lines, 2, 4, 16]` on a cache line: of the low and the high half of each of the four bytes
  /// of a line's dword, what each of the 16 values adds to the sum.
  const std::uint8_t* tables = nullptr;
  float step = 0;      ///< what one unit of the sum stands for
  float absolute = 0;  ///< sum of the absolute values of the query
};

/// Rows as codes of one or more bits a dimension, in blocks of 16 rows on cache lines: for each
/// bit, highest first, `n_lines` lines of 16 dwords, of which dword r has the bits of dimensions 32
/// * line
/// + 0, 1, ... of row r, lowest first; then 16 f32 `scale` and 16 f32 `add`, one a row.
struct CodeBlocks {
  const std::byte* first = nullptr;
  std::uint32_t n_lines = 0;  ///< dimensions / 32
  std::uint32_t n_bits = 1;   ///< 1 to 8
  std::size_t n = 0;          ///< blocks
  /// What will be read after them, fetched ahead; nullptr: unknown.
  const std::byte* next = nullptr;

  static constexpr std::size_t kRows = 16;
  [[nodiscard]] constexpr std::size_t block_bytes() const {
    return (std::size_t{n_lines} * n_bits + 2) * 64;
  }
};

/// Rows that were found, `n` of them; both arrays have room for `room`, all of which may be
/// written.
struct CodeHits {
  float* scores = nullptr;
  std::uint32_t* positions = nullptr;
  std::size_t room = 0;
  std::size_t n = 0;
};

/// Scans of codes. With u the code of a row in [0, 2^bits) and y = u - (2^bits - 1) / 2, a row's
/// estimate is `base + add + scale * <query, y>`, where the product is taken with a query whose
/// groups of four dimensions are rounded to 8 bits. Exact.
struct CodeKernels {
  /// `query`: `[32 * n_lines]`, finite; writes 128 * n_lines bytes of `tables`.
  CodeTables (*prepare)(const float* query, std::uint32_t n_lines, std::uint8_t* tables);
  /// Appends each row whose estimate is greater than `threshold` and, unless `allowed` is nullptr,
  /// whose bit in `allowed[block]` is set; its position is `first_position` + 16 * block + row.
  /// Stops in front of a block that `hits` might have no room for; returns how many blocks were
  /// scanned. Prefetches what follows the blocks, too.
  std::size_t (*scan)(const CodeTables& query, const CodeBlocks& blocks, float base,
                      float threshold, const std::uint16_t* allowed, std::uint32_t first_position,
                      CodeHits& hits);
  /// `allowed[b]`: the bits of the 16 rows at `rows + 16 * b` in a bitmap of rows.
  void (*allowed)(const std::uint32_t* rows, std::size_t n_blocks, const std::uint64_t* bits,
                  std::uint16_t* allowed);
  /// `out[i]`: the whole number nearest to `in[i] * scale`, at most 127 in absolute value; returns
  /// their sum. `n` is a multiple of 16, values are finite.
  std::int32_t (*to_bytes)(const float* in, std::size_t n, float scale, std::int8_t* out);
  /// Keeps the `want` best of `hits` in their order, and some more if they lie close (about want /
  /// 16, more only if equal); returns a threshold that all others were below. Scores are not NaN.
  float (*keep_best)(CodeHits& hits, std::size_t want);
};

/// Steps of orthonormal maps. Exact.
struct TransformKernels {
  /// Multiplies by the Hadamard matrix of `n` rows, in place and not normalised; `n` is a power of
  /// two, >= 64.
  void (*hadamard)(float* values, std::size_t n);
  /// `out[i] = in[i] * factor`, or times `-factor` where bit i % 32 of `signs[i / 32]` is set. `in`
  /// and `out` may be equal.
  void (*flip_signs)(const float* in, std::size_t n, const std::uint32_t* signs, float factor,
                     float* out);
  /// Each pair (a, b) of `first[i]` and `second[i]` becomes ((a + b) * factor, (a - b) * factor).
  void (*butterfly)(float* first, float* second, std::size_t n, float factor);
};

/// Of the points y of a grid that are nearest to scaled values v.
struct GridSums {
  float dot = 0;      ///< <v, y>
  float squares = 0;  ///< |y|^2
};

/// Rounding to the grid of the `2 * half` numbers from `0.5 - half` to `half - 0.5`; `half` is a
/// whole number from 1 to 128. Exact; values are finite, also scaled.
struct GridKernels {
  /// The largest absolute value.
  float (*largest)(const float* in, std::size_t n);
  GridSums (*measure)(const float* in, std::size_t n, float scale, float half);
  /// The number of the nearest point of each `in[i] * scale`, the lowest being 0.
  void (*encode)(const float* in, std::size_t n, float scale, float half, std::uint8_t* codes);
};

/// Planes through the origin: `[n_words, n_steps, 16, 4]` u8, of each of 16 planes four whole
/// numbers a step, plus 128.
struct SignPlanes {
  const std::uint8_t* planes = nullptr;
  std::uint32_t n_words = 0;
  std::uint32_t n_steps = 0;  ///< <= 16,384
};

/// Those of a set's tokens that `ids[first]`, `ids[first + 1]`, ... number, `n` >= 1 of them.
struct TokenRange {
  std::uint32_t first = 0;
  std::uint32_t n = 0;
};

/// Where lines of 16 values go: value `lanes[i][j]` of line i, negated if bit j of `signs[i]` is
/// set, is added to value j of line `slots[i]` of the output.
struct LineSketch {
  const std::uint32_t* slots = nullptr;  ///< `[n_lines]`, below n_slots
  const std::uint8_t* lanes = nullptr;   ///< `[n_lines, 16]`, below 16
  const std::uint16_t* signs = nullptr;  ///< `[n_lines]`
  std::size_t n_lines = 0;
  std::size_t n_slots = 0;
};

/// Where rows go: row i, times `factors[i]`, is added to `[n_slots, 16]` values, the `places[i]`-th
/// of `out`. Places differ.
struct SketchRows {
  const std::uint32_t* places = nullptr;
  const float* factors = nullptr;
  std::size_t n = 0;
  float* out = nullptr;
};

/// Steps of fixed-size vectors of token sets (encoders/fde). Exact.
struct SetKernels {
  /// `tokens` is `[n, 4 * n_steps]` i8, `sums[i]` the sum of token i. Bit p of `words[i * n_words +
  /// w]` is set if the product of token i and plane 16 w + p is greater than 0.
  void (*sign_words)(const SignPlanes& planes, const std::int8_t* tokens, const std::int32_t* sums,
                     std::size_t n, std::uint16_t* words);
  /// `tokens` is `[.., n_lines, 16]`. Writes the sum of each range's tokens, in their order, to
  /// `sums` `[n_ranges, n_lines, 16]` and its squared length to `squares` `[n_ranges]`.
  void (*pool)(const float* tokens, std::size_t n_lines, const std::uint32_t* ids,
               const TokenRange* ranges, std::size_t n_ranges, float* sums, float* squares);
  /// `in` is `[rows.n, n_lines, 16]`.
  void (*sketch)(const LineSketch& sketch, const float* in, const SketchRows& rows);
};

/// MaxSim of tokens' signs: one bit a dimension in 64-bit words, bits beyond the dimensions alike
/// in all. The fewer bits differ, the greater the product.
struct SignKernels {
  static constexpr std::size_t kBlock = 8;  ///< query tokens

  [[nodiscard]] static constexpr std::size_t prepared_words(std::size_t n_query,
                                                            std::size_t n_words) {
    return (n_query + kBlock - 1) / kBlock * kBlock * n_words;
  }
  /// `tokens` is `[n_query, n_words]`; writes `prepared_words(n_query, n_words)` words: blocks of
  /// `[n_words, kBlock]`, zero-padded.
  void (*prepare)(const std::uint64_t* tokens, std::size_t n_query, std::size_t n_words,
                  std::uint64_t* prepared);
  /// `least[i]`: in how many bits query token i differs from the document token that it differs
  /// least from. `doc` is `[n_doc, n_words]`, `n_doc` >= 1.
  void (*least)(const std::uint64_t* prepared, std::size_t n_query, std::size_t n_words,
                const std::uint64_t* doc, std::size_t n_doc, std::uint32_t* least);
};

/// How many decimals were read, and where the last of them ends.
struct DecimalsRead {
  std::size_t n = 0;
  const char* end = nullptr;
};

/// Decimal text. Exact.
struct DecimalKernels {
  /// Digits of a fraction, at most.
  static constexpr unsigned kMaxFraction = 23;
  /// Bytes behind a point that must be there for its decimal to be read.
  static constexpr std::ptrdiff_t kReadAfterPoint = 25;
  /// Bytes before the text that may be looked at.
  static constexpr std::ptrdiff_t kReadBefore = 16;

  /// Reads decimals like `-0.0123` from `text` on to the floats nearest to their nearest doubles:
  /// one digit, or two of which the first is not 0, a point, digits; no exponent. Between two
  /// stand a comma and at most one space. Stops behind the one that is not followed by a comma,
  /// before the first that is none or of which sixteen digits do not tell the float, or after
  /// `room` of them, all of which may be written. `kReadBefore` bytes before `text` can be read, of
  /// which the last is no part of a number; nothing is read from `end` on.
  DecimalsRead (*read)(const char* text, const char* end, float* out, std::size_t room);
};

/// Selection for a top-k heap. Exact.
struct TopKKernels {
  /// Writes the positions of `scores[i] >= threshold` in ascending order and returns how many;
  /// equal scores are kept, so that ties can be settled by id; NaN is never kept. `positions` has
  /// room for `n`, all of which may be written.
  std::size_t (*at_least)(const float* scores, std::size_t n, float threshold,
                          std::uint32_t* positions);
};

/// Conversions and normalisation. Exact. `in` and `out` may not overlap, but for `scale`, where
/// they may be equal.
struct ConvertKernels {
  /// Rounds to nearest even. Returns how many finite values became infinite (|x| >= 65520).
  std::size_t (*f32_to_f16)(const float* in, std::size_t n, std::uint16_t* out);
  void (*f16_to_f32)(const std::uint16_t* in, std::size_t n, float* out);
  void (*u8_to_f32)(const std::uint8_t* in, std::size_t n, float* out);
  /// Rounds to nearest even; NaN stays NaN.
  void (*f32_to_bf16)(const float* in, std::size_t n, std::uint16_t* out);
  void (*bf16_to_f32)(const std::uint16_t* in, std::size_t n, float* out);
  /// Euclidean length, summed in f64: neither overflows nor loses small values.
  double (*norm)(const float* in, std::size_t n);
  /// `out[i] = float(double(in[i]) * factor)`; `scale(v, n, 1.0 / norm(v, n), v)` normalises unless
  /// the norm is 0.
  void (*scale)(const float* in, std::size_t n, double factor, float* out);
};

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

  [[nodiscard]] const DenseKernels& dense(Similarity similarity, RowType type) const {
    return dense_family.table[static_cast<std::size_t>(similarity)][static_cast<std::size_t>(type)];
  }
  [[nodiscard]] const DenseKernels& dense(Similarity similarity, DType dtype) const {
    return dense(similarity, row_type(dtype));
  }
  [[nodiscard]] auto maxsim(Similarity similarity, DType dtype) const {
    return maxsim_family
        .score[static_cast<std::size_t>(similarity)][static_cast<std::size_t>(dtype)];
  }
};

/// The level in use: the best that this machine has, or the one that `QUIVER_SIMD` (generic, avx2,
/// avx512) names. Chosen at the first call; a name that is unknown or not available is reported on
/// stderr and ignored.
[[nodiscard]] const KernelTable& kernels();

/// Every level of this machine, best first; `generic` is always the last.
[[nodiscard]] std::span<const KernelTable* const> available();

}  // namespace quiver
