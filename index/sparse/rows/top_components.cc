#include "index/sparse/rows/top_components.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "index/sparse/rows/aligned_bytes.h"
#include "index/sparse/rows/sections.h"
#include "kernels/kernels.h"

namespace quiver::index::sparse {
namespace {

constexpr std::uint32_t kComponentMultiple = 32;  ///< keeps rows on 32-byte boundaries
constexpr std::uint32_t kMaxComponents = 65'536;

struct HeadFacts {
  std::uint32_t n = 0;
  float scale = 1;
};

struct Component {
  std::uint32_t term = 0;
  std::uint8_t code = 0;
};

/// Writes the `n` components with the largest codes; among equal codes, the smaller terms win. They
/// are sorted by term, so that look-ups in the query table share cache lines.
void strongest(const CodedRows::Row& row, std::size_t n, std::vector<Component>& out) {
  out.clear();
  for (std::size_t i = 0; i < row.terms.size(); ++i) out.push_back({row.terms[i], row.codes[i]});
  if (out.size() > n) {
    std::nth_element(out.begin(), out.begin() + static_cast<std::ptrdiff_t>(n), out.end(),
                     [](const Component& a, const Component& b) {
                       return a.code != b.code ? a.code > b.code : a.term < b.term;
                     });
    out.resize(n);
  }
  std::sort(out.begin(), out.end(),
            [](const Component& a, const Component& b) { return a.term < b.term; });
}

}  // namespace

void TopComponents::set_shape(std::uint32_t n, std::uint32_t n_terms) {
  n_ = n;
  n_terms_ = n_terms;
  wide_ = n_terms > 0xFFFF;
  stride_ = std::size_t{n} * (wide_ ? 5 : 3);
}

TopComponents TopComponents::build(const CodedRows& rows, std::uint32_t n) {
  TopComponents heads;
  heads.set_shape((n + kComponentMultiple - 1) / kComponentMultiple * kComponentMultiple,
                  rows.n_terms());
  heads.scale_ = rows.scale();
  AlignedBytes lines(heads.stride_ * rows.n_rows());
  std::vector<Component> components;
  const std::size_t width = heads.wide_ ? 4 : 2;
  for (std::uint32_t row = 0; row < rows.n_rows() && n != 0; ++row) {
    strongest(rows.row(row), heads.n_, components);
    components.resize(heads.n_, {rows.n_terms(), 0});
    std::byte* head = lines.data() + row * heads.stride_;
    for (std::size_t i = 0; i < heads.n_; ++i) {
      std::memcpy(head + i * width, &components[i].term, width);  // little-endian
      head[heads.n_ * width + i] = static_cast<std::byte>(components[i].code);
    }
  }
  heads.bytes_ = lines.share();
  return heads;
}

void TopComponents::write(SectionWriter& out) const {
  const HeadFacts facts{n_, scale_};
  out.section(kHeadFacts, std::span(&facts, 1));
  out.section(kHeadCodes, bytes_.span());
}

Result<TopComponents> TopComponents::open(const SectionReader& in, std::uint32_t n_rows,
                                          std::uint32_t n_terms) {
  QV_TRY(const auto facts, in.get<HeadFacts>(kHeadFacts, 0, 1));
  if (facts[0].n % kComponentMultiple != 0 || facts[0].n > kMaxComponents ||
      !std::isfinite(facts[0].scale)) {
    return in.damaged("shape of top components");
  }
  TopComponents heads;
  heads.set_shape(facts[0].n, n_terms);
  heads.scale_ = facts[0].scale;
  QV_TRY(heads.bytes_, in.get<std::byte>(kHeadCodes, 0, std::uint64_t{n_rows} * heads.stride_));
  const std::size_t width = heads.wide_ ? 4 : 2;
  for (std::size_t head = 0; head < heads.bytes_.size(); head += heads.stride_) {
    for (std::size_t i = 0; i < heads.n_; ++i) {
      std::uint32_t term = 0;
      std::memcpy(&term, heads.bytes_.data() + head + i * width, width);
      if (term > n_terms) return in.damaged("terms of top components");
    }
  }
  return heads;
}

float TopComponents::score(const float* table, std::uint32_t row) const {
  const std::byte* terms = bytes_.data() + row * stride_;
  const std::byte* codes = terms + std::size_t{n_} * (wide_ ? 4 : 2);
  return kernels().records.score[wide_ ? 1 : 0][static_cast<std::size_t>(RowType::kU8)](
             table, n_terms_, terms, codes, n_) *
         scale_;
}

}  // namespace quiver::index::sparse
