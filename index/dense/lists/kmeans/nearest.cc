#include "index/dense/lists/kmeans/nearest.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>

#include "kernels/kernels.h"

namespace quiver::index::dense {
namespace {

const std::byte* bytes(const std::int8_t* codes) {
  return reinterpret_cast<const std::byte*>(codes);
}

/// Turns dot products into scores and returns the greatest.
std::int32_t subtract(const std::int32_t* biases, std::size_t n, std::int32_t* dots) {
  std::int32_t greatest = std::numeric_limits<std::int32_t>::min();
  for (std::size_t i = 0; i < n; ++i) {
    dots[i] -= biases[i];
    greatest = dots[i] > greatest ? dots[i] : greatest;
  }
  return greatest;
}

}  // namespace

Centres::Centres(std::span<const float> means, std::uint32_t dim)
    : dim_(dim), codes_(means.size()), biases_(means.size() / dim) {
  float largest = kernels().grid.largest(means.data(), means.size());
  if (!(largest > 0)) largest = 1;
  scale_ = largest / 127.0f;
  const float inverse = 127.0f / largest;
  for (std::size_t c = 0; c < n(); ++c) {
    std::int32_t sum = 0;
    std::int64_t squares = 0;
    for (std::size_t i = c * dim; i < (c + 1) * dim; ++i) {
      const auto code = static_cast<std::int32_t>(std::lrint(means[i] * inverse));
      codes_[i] = static_cast<std::int8_t>(code);
      sum += code;
      squares += code * code;
    }
    biases_[c] = static_cast<std::int32_t>(
        std::llrint(127.5 * sum + 0.5 * double{scale_} * static_cast<double>(squares)));
  }
}

ByteMatrix Centres::as_rows() const {
  ByteMatrix rows(n(), dim_);
  for (std::size_t i = 0; i < codes_.size(); ++i) {
    rows.at(0)[i] = static_cast<std::uint8_t>(codes_[i] + 128);
  }
  return rows;
}

std::vector<std::uint32_t> Centres::near(std::uint32_t of, std::size_t n_wanted) const {
  std::vector<std::uint8_t> query(dim_);
  for (std::size_t d = 0; d < dim_; ++d) {
    query[d] = static_cast<std::uint8_t>(codes_[of * std::size_t{dim_} + d] + 128);
  }
  std::vector<std::uint32_t> distances(n());
  kernels().bytes.i8_l2.many(query.data(), dim_, bytes(codes_.data()), dim_, n(), distances.data());
  std::vector<std::uint64_t> order(n());
  for (std::size_t c = 0; c < n(); ++c) {
    order[c] = (c == of ? 0 : (std::uint64_t{distances[c]} + 1) << 32) | c;
  }
  const auto end = order.begin() + static_cast<std::ptrdiff_t>(std::min(n_wanted, n()));
  if (end != order.end()) std::nth_element(order.begin(), end, order.end());
  std::sort(order.begin(), end);
  return {order.begin(), end};
}

CentreNeighbours::CentreNeighbours(const Centres& centres, std::size_t n_wanted,
                                   const BuildContext& context)
    : n_each_(std::min(n_wanted, centres.n())), near_(centres.n() * n_each_) {
  for_each(context, centres.n(), [&](std::size_t c) {
    if (context.cancel.poll()) return;
    const auto near = centres.near(static_cast<std::uint32_t>(c), n_each_);
    std::copy(near.begin(), near.end(), near_.begin() + static_cast<std::ptrdiff_t>(c * n_each_));
  });
}

void CentreSearch::start(std::span<const std::uint32_t> candidates) {
  candidates_ = candidates;
  biases_.resize(candidates.empty() ? 0 : candidates.size());
  for (std::size_t i = 0; i < biases_.size(); ++i) biases_[i] = centres_.biases_[candidates[i]];
  packed_.resize(kRows * centres_.dim());
  scores_.resize(kRows * kCentres);
}

void CentreSearch::score(const std::uint8_t* rows, std::size_t n_rows, std::size_t first,
                         std::size_t n) {
  const auto& kernel = kernels().bytes.i8_dot;
  const std::uint32_t dim = centres_.dim();
  if (candidates_.empty()) {
    kernel.tile({rows, dim, n_rows}, dim, bytes(centres_.codes_.data() + first * dim), dim, n,
                {scores_.data(), kCentres});
  } else {
    kernel.tile_gather({rows, dim, n_rows}, dim, bytes(centres_.codes_.data()), dim,
                       candidates_.data() + first, n, {scores_.data(), kCentres});
  }
}

void CentreSearch::settle(std::size_t n_rows, std::size_t first, std::size_t n) {
  const std::int32_t* biases = candidates_.empty() ? centres_.biases_.data() : biases_.data();
  for (std::size_t i = 0; i < n_rows; ++i) {
    std::int32_t* scores = scores_.data() + i * kCentres;
    const std::int32_t greatest = subtract(biases + first, n, scores);
    if (greatest <= greatest_[i]) continue;
    greatest_[i] = greatest;
    best_[i] = static_cast<std::uint32_t>(first) +
               static_cast<std::uint32_t>(std::find(scores, scores + n, greatest) - scores);
  }
}

void CentreSearch::pack(const ByteView& rows, std::span<const std::uint32_t> members) {
  for (std::size_t i = 0; i < members.size(); ++i) {
    std::memcpy(packed_.data() + i * rows.dim, rows.at(members[i]), rows.dim);
  }
}

/// At most `kRows` of them, against all candidates.
void CentreSearch::look_up(const ByteView& rows, std::span<const std::uint32_t> members) {
  const std::size_t n_centres = candidates_.empty() ? centres_.n() : candidates_.size();
  pack(rows, members);
  for (std::size_t first = 0; first < n_centres; first += kCentres) {
    const std::size_t n = std::min(kCentres, n_centres - first);
    score(packed_.data(), members.size(), first, n);
    settle(members.size(), first, n);
  }
}

void CentreSearch::nearest(const ByteView& rows, std::span<const std::uint32_t> members,
                           std::span<const std::uint32_t> candidates, std::uint32_t* list_of) {
  start(candidates);
  for (std::size_t done = 0; done < members.size(); done += kRows) {
    const auto block = members.subspan(done, std::min(kRows, members.size() - done));
    std::fill(greatest_, greatest_ + kRows, kNone);
    std::fill(best_, best_ + kRows, 0);
    look_up(rows, block);
    for (std::size_t i = 0; i < block.size(); ++i) {
      list_of[block[i]] = candidates.empty() ? best_[i] : candidates[best_[i]];
    }
  }
}

void CentreSearch::improve(const ByteView& rows, std::span<const std::uint32_t> members,
                           std::span<const std::uint32_t> candidates, std::uint32_t* list_of,
                           std::int32_t* score_of) {
  start(candidates);
  for (std::size_t done = 0; done < members.size(); done += kRows) {
    const auto block = members.subspan(done, std::min(kRows, members.size() - done));
    for (std::size_t i = 0; i < block.size(); ++i) greatest_[i] = score_of[block[i]];
    look_up(rows, block);
    for (std::size_t i = 0; i < block.size(); ++i) {
      if (greatest_[i] == score_of[block[i]]) continue;
      score_of[block[i]] = greatest_[i];
      list_of[block[i]] = candidates[best_[i]];
    }
  }
}

void CentreSearch::distances(const ByteView& rows, std::span<const std::uint32_t> members,
                             std::span<const std::uint32_t> candidates, float* out) {
  start(candidates);
  const float twice_scale = 2 * centres_.scale();
  for (std::size_t done = 0; done < members.size(); done += kRows) {
    const auto block = members.subspan(done, std::min(kRows, members.size() - done));
    pack(rows, block);
    for (std::size_t first = 0; first < candidates.size(); first += kCentres) {
      const std::size_t n = std::min(kCentres, candidates.size() - first);
      score(packed_.data(), block.size(), first, n);
      for (std::size_t i = 0; i < block.size(); ++i) {
        float squares = 0;
        const std::uint8_t* row = packed_.data() + i * rows.dim;
        for (std::uint32_t d = 0; d < rows.dim; ++d) squares += value_of(row[d]) * value_of(row[d]);
        float* of_row = out + (done + i) * candidates.size() + first;
        for (std::size_t j = 0; j < n; ++j) {
          const std::int32_t score = scores_[i * kCentres + j] - biases_[first + j];
          of_row[j] = std::max(0.0F, squares - twice_scale * static_cast<float>(score));
        }
      }
    }
  }
}

void CentreSearch::nearest_few(const ByteView& rows, std::size_t n_wanted, std::uint32_t* out) {
  start({});
  std::vector<std::int32_t> all(kRows * centres_.n());
  std::vector<std::uint64_t> order(centres_.n());
  for (std::size_t done = 0; done < rows.n; done += kRows) {
    const std::size_t n_rows = std::min(kRows, rows.n - done);
    for (std::size_t first = 0; first < centres_.n(); first += kCentres) {
      const std::size_t n = std::min(kCentres, centres_.n() - first);
      score(rows.at(done), n_rows, first, n);
      for (std::size_t i = 0; i < n_rows; ++i) {
        std::copy_n(scores_.data() + i * kCentres, n, all.data() + i * centres_.n() + first);
      }
    }
    for (std::size_t i = 0; i < n_rows; ++i) {
      for (std::size_t c = 0; c < centres_.n(); ++c) {
        const std::int64_t score_of = all[i * centres_.n() + c] - centres_.biases_[c];
        order[c] = static_cast<std::uint64_t>((std::int64_t{1} << 31) - score_of) << 32 | c;
      }
      std::nth_element(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(n_wanted - 1),
                       order.end());
      std::copy_n(order.begin(), n_wanted, out + (done + i) * n_wanted);
    }
  }
}

}  // namespace quiver::index::dense
