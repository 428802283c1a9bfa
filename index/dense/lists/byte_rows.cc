#include "index/dense/lists/byte_rows.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "index/dense/lists/code_writers.h"
#include "index/dense/lists/sections.h"
#include "index/parallel.h"

namespace quiver::index::dense {
namespace {

void read_halves(const std::byte* codes, std::uint32_t dim, std::uint8_t* out) {
  constexpr std::size_t kBytes = ByteWriter::kGroupBytes;
  const auto* in = reinterpret_cast<const std::uint8_t*>(codes);
  for (std::uint32_t d = 0; d < dim; d += 2 * kBytes, in += kBytes, out += 2 * kBytes) {
    std::uint8_t group[kBytes];  // a copy: for the compiler, `out` may alias `in`
    std::memcpy(group, in, kBytes);
    std::uint8_t both[2 * kBytes];
    for (std::size_t i = 0; i < kBytes; ++i) both[i] = group[i] & 15;
    for (std::size_t i = 0; i < kBytes; ++i) {
      both[kBytes + i] = static_cast<std::uint8_t>(group[i] >> 4);
    }
    std::memcpy(out, both, 2 * kBytes);
  }
}

}  // namespace

void ByteQuery::set(std::span<const float> query, float lost_by_reduction) {
  lost = lost_by_reduction;
  values.resize(query.size());
  const float largest = kernels().grid.largest(query.data(), query.size());
  scale = largest / 127.0F;
  const float per_unit = largest > 0 ? 127.0F / largest : 0.0F;
  sum = static_cast<float>(
      kernels().codes.to_bytes(query.data(), query.size(), per_unit, values.data()));
  const double norm = kernels().convert.norm(query.data(), query.size());
  squares = static_cast<float>(norm * norm);
}

Result<> ByteRows::write(const RowSource& source, std::uint32_t n_rows, std::uint32_t n_bits,
                         const BuildContext& context, SectionWriter& writer) {
  constexpr std::uint32_t kRowsPerWrite = 4096;
  constexpr std::uint32_t kRowsPerTask = 256;
  std::vector<ByteFactors> factors;
  writer.begin(kByteCodes);
  const auto write_block = [&](const RowBlock& block) {
    ByteWriter rows(source.dim(), n_bits, block.end - block.first);
    const std::size_t n_tasks = (block.next - block.begin + kRowsPerTask - 1) / kRowsPerTask;
    for_each(context, n_tasks, [&](std::size_t task) {
      std::vector<float> row(source.dim());
      const auto from = block.begin + static_cast<std::uint32_t>(task) * kRowsPerTask;
      for (std::uint32_t i = from; i < std::min(block.next, from + kRowsPerTask); ++i) {
        source.read(i, row.data());
        rows.write(source.row(i) - block.first, row);
      }
    });
    writer.add(std::as_bytes(rows.codes()));
    factors.insert(factors.end(), rows.factors().begin(), rows.factors().end());
  };
  QV_TRY(for_each_block(source, n_rows, kRowsPerWrite, context, write_block));
  writer.end();
  writer.section(kByteFactors, std::span<const ByteFactors>(factors));
  return {};
}

Result<ByteRows> ByteRows::open(const SectionReader& reader, Similarity similarity,
                                std::uint32_t dim, std::uint32_t n_bits, std::uint32_t n_rows) {
  ByteRows rows;
  rows.similarity_ = similarity;
  rows.dim_ = dim;
  rows.n_bits_ = n_bits;
  rows.stride_ = ByteWriter::stride(dim, n_bits);
  QV_TRY(rows.codes_, reader.get<std::byte>(kByteCodes, 0, n_rows * rows.stride_));
  QV_TRY(rows.factors_, reader.get<ByteFactors>(kByteFactors, 0, n_rows));
  return rows;
}

void ByteRows::score(const ByteQuery& query, std::span<const std::uint32_t> rows,
                     float* out) const {
  constexpr std::size_t kRowsPerBatch = 64;
  std::int32_t products_of[kRowsPerBatch];
  for (std::size_t first = 0; first < rows.size(); first += kRowsPerBatch) {
    const auto some = rows.subspan(first, std::min(kRowsPerBatch, rows.size() - first));
    products(query, some, products_of);
    score_products(query, some, products_of, out + first);
  }
}

void ByteRows::score_products(const ByteQuery& query, std::span<const std::uint32_t> rows,
                              const std::int32_t* products, float* out) const {
  const float middle = ByteWriter::middle(n_bits_) * query.sum;
  const bool is_distance = similarity_ == Similarity::kNegL2Squared;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const ByteFactors& row = factors_[rows[i]];
    const float product = (static_cast<float>(products[i]) - middle) * query.scale * row.scale;
    const float score = is_distance ? 2 * product - row.square - query.squares : product;
    // Lengths overflowed: the row must be scored exactly.
    out[i] = std::isnan(score) ? std::numeric_limits<float>::max() : score;
  }
}

gpu::ByteCodes ByteRows::device_form() const {
  return {codes_, factors_.size(), dim_, n_bits_, static_cast<std::uint32_t>(stride_)};
}

void ByteRows::products(const ByteQuery& query, std::span<const std::uint32_t> rows,
                        std::int32_t* out) const {
  constexpr std::size_t kRowsAhead = 8;
  constexpr std::size_t kRowsPerKernelCall = 4;
  const auto& kernel = kernels().bytes.u8_dot_i8;
  if (n_bits_ != ByteWriter::kHalfByteBits) {
    kernel.gather(query.values.data(), dim_, codes_.data(), stride_, rows.data(), rows.size(), out);
    return;
  }
  thread_local std::vector<std::uint8_t> values;
  values.resize(kRowsPerKernelCall * dim_);
  for (const std::uint32_t row : rows.first(std::min(kRowsAhead, rows.size()))) prefetch(row);
  for (std::size_t first = 0; first < rows.size(); first += kRowsPerKernelCall) {
    const std::size_t n = std::min(kRowsPerKernelCall, rows.size() - first);
    for (std::size_t i = 0; i < n; ++i) {
      if (first + i + kRowsAhead < rows.size()) prefetch(rows[first + i + kRowsAhead]);
      read_halves(codes_.data() + rows[first + i] * stride_, dim_, values.data() + i * dim_);
    }
    kernel.many(query.values.data(), dim_, reinterpret_cast<const std::byte*>(values.data()), dim_,
                n, out + first);
  }
}

float ByteRows::deviation(const ByteQuery& query, std::uint32_t row) const {
  const ByteFactors& factors = factors_[row];
  const float of_row = query.squares * factors.scale * factors.scale;
  const float of_query = factors.square * query.scale * query.scale;
  const float product = std::sqrt((of_row + of_query) / 12 + query.lost * factors.square);
  return similarity_ == Similarity::kNegL2Squared ? 2 * product : product;
}

}  // namespace quiver::index::dense
