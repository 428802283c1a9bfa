#include "index/ivf/byte_rows.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "index/ivf/coding.h"
#include "index/ivf/sections.h"
#include "index/parallel.h"

namespace quiver::index::ivf {

void ByteQuery::set(std::span<const float> query) {
  values.resize(query.size());
  const float largest = kernels().grid.largest(query.data(), query.size());
  scale = largest / 127.0F;
  const float per_unit = largest > 0 ? 127.0F / largest : 0.0F;
  const std::int32_t sum =
      kernels().codes.to_bytes(query.data(), query.size(), per_unit, values.data());
  middle = ByteWriter::kMiddle * static_cast<float>(sum);
  const double norm = kernels().convert.norm(query.data(), query.size());
  squares = static_cast<float>(norm * norm);
}

Result<> ByteRows::write(const RowSource& source, std::uint32_t n_rows, const BuildContext& context,
                         SectionWriter& writer) {
  constexpr std::uint32_t kRowsAtATime = 4096;
  constexpr std::uint32_t kRowsOfATask = 256;
  std::vector<ByteFactors> factors;
  writer.begin(kByteCodes);
  std::uint32_t next = 0;  // of the source
  for (std::uint32_t first = 0; first < n_rows; first += kRowsAtATime) {
    QV_TRY(context.cancel.check());
    const std::uint32_t end = std::min(n_rows, first + kRowsAtATime);
    const std::uint32_t begin = next;
    while (next < source.n() && source.row(next) < end) ++next;
    ByteWriter rows(source.dim(), end - first);
    for_each(context, (next - begin + kRowsOfATask - 1) / kRowsOfATask, [&](std::size_t task) {
      std::vector<float> row(source.dim());
      const auto from = begin + static_cast<std::uint32_t>(task) * kRowsOfATask;
      for (std::uint32_t i = from; i < std::min(next, from + kRowsOfATask); ++i) {
        source.read(i, row.data());
        rows.write(source.row(i) - first, row);
      }
    });
    writer.add(std::as_bytes(rows.codes()));
    factors.insert(factors.end(), rows.factors().begin(), rows.factors().end());
    if (context.progress) context.progress(end);
  }
  writer.end();
  writer.section(kByteFactors, std::span<const ByteFactors>(factors));
  return {};
}

Result<ByteRows> ByteRows::open(const SectionReader& reader, Similarity similarity,
                                std::uint32_t dim, std::uint32_t n_rows) {
  ByteRows rows;
  rows.similarity_ = similarity;
  rows.dim_ = dim;
  rows.stride_ = ByteWriter::stride(dim);
  QV_TRY(rows.codes_, reader.get<std::byte>(kByteCodes, 0, n_rows * rows.stride_));
  QV_TRY(rows.factors_, reader.get<ByteFactors>(kByteFactors, 0, n_rows));
  return rows;
}

void ByteRows::score(const ByteQuery& query, std::span<const std::uint32_t> rows,
                     float* out) const {
  constexpr std::size_t kAtATime = 64;
  std::int32_t products[kAtATime];
  const bool is_distance = similarity_ == Similarity::kNegL2Squared;
  for (std::size_t first = 0; first < rows.size(); first += kAtATime) {
    const auto some = rows.subspan(first, std::min(kAtATime, rows.size() - first));
    kernels().bytes.u8_dot_i8.gather(query.values.data(), dim_, codes_.data(), stride_, some.data(),
                                     some.size(), products);
    for (std::size_t i = 0; i < some.size(); ++i) {
      const ByteFactors& row = factors_[some[i]];
      const float product =
          (static_cast<float>(products[i]) - query.middle) * query.scale * row.scale;
      const float score = is_distance ? 2 * product - row.square - query.squares : product;
      // Where lengths are beyond floats nothing is known, and the exact score decides.
      out[first + i] = std::isnan(score) ? std::numeric_limits<float>::max() : score;
    }
  }
}

float ByteRows::deviation(const ByteQuery& query, std::uint32_t row) const {
  const ByteFactors& factors = factors_[row];
  const float of_row = query.squares * factors.scale * factors.scale;
  const float of_query = factors.square * query.scale * query.scale;
  const float product = std::sqrt((of_row + of_query) / 12);
  return similarity_ == Similarity::kNegL2Squared ? 2 * product : product;
}

}  // namespace quiver::index::ivf
