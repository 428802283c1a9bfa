// Two passes over a stretch of text. The first classifies 64 bytes at a time (digits, points,
// commas) and stops at two neighbours that no list of decimals has; it yields the offsets of points
// and commas. The second reads eight decimals at once, because it need not find the end of one
// before the next. vpmaddubsw, vpmaddwd and a product turn the sixteen bytes before each end into
// numbers, twice four in a register. Eight doubles are rounded to floats at both ends of their
// error interval.
//
// Measured on an Intel processor (family 6; it calls itself model 167; 2.2 GHz), g++ 12.2, shared,
// minimum of 300 rounds over 15 rows of 128 numbers. Numbers of nine significant digits take 7.2 to
// 7.6 ns each, with six digits after the point 6.8 to 8.8, of seventeen digits 8.6 to 11.7. Read
// one by one, they take 30 to 34 ns.
#if defined(__x86_64__)
#include <immintrin.h>

#include <array>
#include <bit>
#include <cstring>

#include "kernels/levels.h"
#include "kernels/target.h"

// BMI1 is older than BMI2, and no processor has the newer one alone.
QV_TARGET_BEGIN(QV_AVX512 ",bmi")
namespace quiver::avx512 {
namespace {

#include "kernels/decimals/scalar.inc"

/// Largest number of decimals that are located before they are read; their offsets stay in L1.
constexpr std::uint32_t kStretch = 128;
/// Largest number of points, or of commas, in 64 bytes: two of a kind are never adjacent.
constexpr std::uint32_t kMaxMarksPerBlock = 32;
constexpr std::ptrdiff_t kMaxBytes = 1 << 30;
/// Offset behind all text; differences from it do not wrap around.
constexpr std::uint32_t kNowhere = 0x7FFFFFFF;

/// Offsets of marks of one kind in a stretch, ascending.
struct MarkOffsets {
  std::uint32_t at[kStretch + kMaxMarksPerBlock + 16];
  std::uint32_t n = 0;

  /// Writes eight at a time; entries beyond the last one are overwritten later.
  void add(std::uint64_t mask, std::uint32_t offset) {
    const auto n_more = static_cast<std::uint32_t>(_mm_popcnt_u64(mask));
    for (std::uint32_t first = 0; first < n_more; first += 8) {
      QV_UNROLL
      for (std::uint32_t i = 0; i < 8; ++i) {
        at[n + first + i] = offset + static_cast<std::uint32_t>(_tzcnt_u64(mask));
        mask = _blsr_u64(mask);
      }
    }
    n += n_more;
  }
};

/// Points and commas, up to the first bytes that no list of decimals has.
struct Marks {
  MarkOffsets points;
  MarkOffsets commas;
};

/// Classes of 64 bytes, one bit a byte.
struct Classes {
  std::uint64_t digits, points, commas, signs, spaces;
};

Classes classify(__m512i bytes) {
  const auto are = [&](char c) { return _mm512_cmpeq_epi8_mask(bytes, _mm512_set1_epi8(c)); };
  const __m512i offset = _mm512_sub_epi8(bytes, _mm512_set1_epi8('0'));
  return {_mm512_cmplt_epu8_mask(offset, _mm512_set1_epi8(10)), are('.'), are(','), are('-'),
          are(' ')};
}

/// Bytes that may follow their predecessor; `before` has the classes moved by a byte. The number of
/// points of a decimal is not checked here.
std::uint64_t fitting(const Classes& now, const Classes& before) {
  return now.digits | ((now.points | now.commas) & before.digits) |
         (now.signs & (before.commas | before.spaces)) | (now.spaces & before.commas);
}

std::uint64_t moved(std::uint64_t now, std::uint64_t& carry) {
  const std::uint64_t result = now << 1 | carry;
  carry = now >> 63;
  return result;
}

void find_marks(const char* text, std::size_t n_bytes, Marks& marks) {
  Classes carry{0, 0, 0, 0, 1};  // as if a space came before
  marks.points.n = marks.commas.n = 0;
  const auto has_room = [&] { return marks.points.n < kStretch && marks.commas.n < kStretch; };
  for (std::size_t i = 0; i < n_bytes && has_room(); i += 64) {
    const std::uint64_t n_here = n_bytes - i;
    const __mmask64 inside = n_here < 64 ? _bzhi_u64(~0ULL, static_cast<unsigned>(n_here)) : ~0ULL;
    const Classes now = classify(_mm512_maskz_loadu_epi8(inside, text + i));
    const Classes before{moved(now.digits, carry.digits), 0, moved(now.commas, carry.commas), 0,
                         moved(now.spaces, carry.spaces)};
    const std::uint64_t bad = ~fitting(now, before);
    const std::uint64_t good = bad == 0 ? ~0ULL : _blsmsk_u64(bad) >> 1;
    marks.points.add(now.points & good, static_cast<std::uint32_t>(i));
    marks.commas.add(now.commas & good, static_cast<std::uint32_t>(i));
    if (bad != 0) break;
  }
  const __m512i nowhere = _mm512_set1_epi32(static_cast<int>(kNowhere));
  _mm512_storeu_si512(marks.points.at + marks.points.n, nowhere);
}

/// Eight decimals: points and ends as offsets from `text`, and which lanes hold one.
struct Lanes {
  __m256i points;
  __m256i n_digits;  ///< digits of the fraction
  __mmask8 are;
};

__m256i load_eight_of(const std::uint32_t* from) {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
}

/// Decimals that `read_decimal` might read: with one point, a fraction that is not too long, and
/// enough text behind them.
Lanes lanes_at(const Marks& marks, std::uint32_t first, std::uint32_t n, std::uint32_t n_bytes) {
  const __m256i points = load_eight_of(marks.points.at + first);
  const __m256i next_points = load_eight_of(marks.points.at + first + 1);
  const __m256i ends = load_eight_of(marks.commas.at + first);
  const __m256i n_digits = _mm256_sub_epi32(_mm256_sub_epi32(ends, points), _mm256_set1_epi32(1));
  const __m256i least_left = _mm256_set1_epi32(DecimalKernels::kReadAfterPoint + 1);
  __mmask8 are = _bzhi_u32(0xFF, n);
  // As unsigned numbers, a point behind the end counts as very many digits.
  are &= _mm256_cmple_epu32_mask(n_digits, _mm256_set1_epi32(DecimalKernels::kMaxFraction));
  are &= _mm256_cmpgt_epu32_mask(next_points, ends);
  are &= _mm256_cmple_epu32_mask(_mm256_add_epi32(points, least_left),
                                 _mm256_set1_epi32(static_cast<int>(n_bytes)));
  return {points, n_digits, are};
}

__mmask8 are(__m256i values, char c) {
  return _mm256_cmpeq_epi32_mask(values, _mm256_set1_epi32(c));
}

__mmask8 are_digits(__m256i values) {
  return _mm256_cmplt_epu32_mask(_mm256_sub_epi32(values, _mm256_set1_epi32('0')),
                                 _mm256_set1_epi32(10));
}

/// Whole parts and signs of eight decimals, from the four bytes before their points.
struct Wholes {
  __m256i values;
  __m256i sign_bits;
  __mmask8 are;  ///< one or two digits, the first of two not 0
};

Wholes wholes_of(const char* text, const Lanes& lanes) {
  const __m256i bytes =
      _mm256_mmask_i32gather_epi32(_mm256_setzero_si256(), lanes.are, lanes.points, text - 4, 1);
  const auto byte = [&](int i) {
    return _mm256_and_si256(_mm256_srli_epi32(bytes, 8 * i), _mm256_set1_epi32(0xFF));
  };
  const __m256i value_bits = _mm256_set1_epi32(0xF);
  const __m256i second = byte(2);
  const __m256i third = byte(1);
  const __mmask8 have_two = are_digits(second);
  const __m256i tens =
      _mm256_mullo_epi16(_mm256_and_si256(second, value_bits), _mm256_set1_epi32(10));
  const __m256i ones = _mm256_and_si256(_mm256_srli_epi32(bytes, 24), value_bits);
  const __mmask8 negative = are(second, '-') | (have_two & are(third, '-'));
  const __mmask8 wrong = have_two & (are(second, '0') | are_digits(third));
  return {_mm256_mask_add_epi32(ones, have_two, ones, tens),
          _mm256_maskz_set1_epi32(negative, static_cast<int>(0x80000000)),
          static_cast<__mmask8>(lanes.are & ~wrong)};
}

/// `[4, 16]` bytes of text at `first[0]`, `first[2]`, `first[4]` and `first[6]`.
__m512i four_of(const char* text, const std::uint32_t* first) {
  const auto load = [&](int i) {
    return _mm_loadu_si128(reinterpret_cast<const __m128i*>(text + first[2 * i]));
  };
  const __m256i low = _mm256_inserti128_si256(_mm256_castsi128_si256(load(0)), load(1), 1);
  const __m256i high = _mm256_inserti128_si256(_mm256_castsi128_si256(load(2)), load(3), 1);
  return _mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1);
}

/// The last digits of each sixteen bytes, as four numbers of four digits. Their count is the low
/// byte of a dword of `n_digits`; `dwords` chooses the dword for each lane.
__m512i by_fours(__m512i text, __m256i n_digits, __m512i dwords) {
  const __m512i counts = _mm512_shuffle_epi8(
      _mm512_permutexvar_epi32(dwords, _mm512_castsi256_si512(n_digits)), _mm512_setzero_si512());
  const __m512i from_end =
      _mm512_broadcast_i32x4(_mm_setr_epi8(16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1));
  const __mmask64 are = _mm512_cmple_epu8_mask(from_end, counts);
  const __m512i values = _mm512_maskz_sub_epi8(are, text, _mm512_set1_epi8('0'));
  const __m512i pairs = _mm512_maddubs_epi16(values, _mm512_set1_epi16(1 << 8 | 10));
  return _mm512_madd_epi16(pairs, _mm512_set1_epi32(1 << 16 | 100));
}

/// Fractions of sixteen digits at most as whole numbers.
__m512i digits_of(const char* text, const Lanes& lanes, __m256i n_read) {
  alignas(32) std::uint32_t first[8];
  // Sixteen bytes before the end of what is read; `text` is read from sixteen bytes before it.
  const __m256i starts = _mm256_maskz_add_epi32(lanes.are, _mm256_add_epi32(lanes.points, n_read),
                                                _mm256_set1_epi32(1));
  _mm256_store_si256(reinterpret_cast<__m256i*>(first), starts);
  const __m512i even = _mm512_setr_epi32(0, 0, 0, 0, 2, 2, 2, 2, 4, 4, 4, 4, 6, 6, 6, 6);
  const __m512i odd = _mm512_add_epi32(even, _mm512_set1_epi32(1));
  const __m512i fours = _mm512_packus_epi32(by_fours(four_of(text - 16, first), n_read, even),
                                            by_fours(four_of(text - 16, first + 1), n_read, odd));
  const __m512i eights = _mm512_madd_epi16(fours, _mm512_set1_epi32(1 << 16 | 10000));
  return _mm512_add_epi64(_mm512_mul_epu32(eights, _mm512_set1_epi64(100'000'000)),
                          _mm512_srli_epi64(eights, 32));
}

/// `kScales` from one digit on, for look-ups in two registers.
struct ScaleTables {
  std::array<double, kFractionDigits> inverses{};
  std::array<std::uint64_t, kFractionDigits> powers{};
};
constexpr auto kTables = [] {
  ScaleTables tables;
  for (unsigned n = 1; n <= kFractionDigits; ++n) {
    tables.inverses[n - 1] = kScales[n].inverse;
    tables.powers[n - 1] = kScales[n].power;
  }
  return tables;
}();

/// Reads up to eight decimals; returns how many it read before the first that it cannot read.
std::uint32_t read_eight(const char* text, const Lanes& found, float* out) {
  const Wholes wholes = wholes_of(text, found);
  const Lanes lanes{found.points, found.n_digits, wholes.are};
  const __m256i most = _mm256_set1_epi32(kFractionDigits);
  const __m256i n_read = _mm256_min_epu32(lanes.n_digits, most);
  const __m512i digits = digits_of(text, lanes, n_read);
  const __m512i index = _mm512_cvtepu32_epi64(_mm256_sub_epi32(n_read, _mm256_set1_epi32(1)));
  const __m512d inverse = _mm512_permutex2var_pd(_mm512_loadu_pd(kTables.inverses.data()), index,
                                                 _mm512_loadu_pd(kTables.inverses.data() + 8));
  const __m512i power = _mm512_permutex2var_epi64(_mm512_loadu_si512(kTables.powers.data()), index,
                                                  _mm512_loadu_si512(kTables.powers.data() + 8));
  const __m512i all =
      _mm512_add_epi64(_mm512_mullo_epi64(_mm512_cvtepu32_epi64(wholes.values), power), digits);
  const __m512d value = _mm512_mul_pd(_mm512_cvtepi64_pd(all), inverse);
  const __m512d off = _mm512_mul_pd(value, _mm512_set1_pd(kUncertain));
  const __m512d width = _mm512_maskz_mov_pd(_mm256_cmpgt_epu32_mask(lanes.n_digits, most), inverse);
  const __m256 low = _mm512_cvtpd_ps(_mm512_sub_pd(value, off));
  const __m256 high = _mm512_cvtpd_ps(_mm512_add_pd(_mm512_add_pd(value, off), width));
  const __mmask8 certain = _mm256_mask_cmp_ps_mask(lanes.are, low, high, _CMP_EQ_OQ);
  const auto n = static_cast<std::uint32_t>(std::countr_one(static_cast<std::uint8_t>(certain)));
  const __m256i bits = _mm256_or_si256(_mm256_castps_si256(low), wholes.sign_bits);
  _mm256_mask_storeu_epi32(out, _bzhi_u32(0xFF, n), bits);
  return n;
}

/// Decimals with commas behind them.
DecimalsRead read_stretch(const char* text, const char* end, float* out, std::size_t room) {
  Marks marks;
  const auto n_bytes = static_cast<std::uint32_t>(end - text < kMaxBytes ? end - text : kMaxBytes);
  find_marks(text, n_bytes, marks);
  const auto n_most = static_cast<std::uint32_t>(room < marks.commas.n ? room : marks.commas.n);
  std::uint32_t n = 0;
  while (n < n_most) {
    const std::uint32_t n_wanted = n_most - n < 8 ? n_most - n : 8;
    const std::uint32_t n_here = read_eight(text, lanes_at(marks, n, n_wanted, n_bytes), out + n);
    n += n_here;
    if (n_here < n_wanted) break;
  }
  return {n, n == 0 ? text : text + marks.commas.at[n - 1]};
}

DecimalsRead read(const char* text, const char* end, float* out, std::size_t room) {
  return read_list(text, end, out, room, [end](const char* at, float* to, std::size_t n) {
    return read_stretch(at, end, to, n);
  });
}

}  // namespace

constinit const DecimalKernels kDecimalKernels = {read};

}  // namespace quiver::avx512
QV_TARGET_END
#endif
