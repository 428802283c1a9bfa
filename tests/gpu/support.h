// Random rows, and devices that are emulated.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "gpu/devices.h"
#include "gpu/emulated/emulated.h"
#include "kernels/kernels.h"

namespace quiver::gpu::testing {

using Random = std::mt19937;

enum class Kind { kNormal, kOneLarge, kSpreadLengths, kFewValues, kAllEqual, kTiny };

inline std::vector<float> random_vector(std::uint32_t dim, Kind kind, Random& random) {
  std::normal_distribution<float> normal;
  std::vector<float> vector(dim);
  const float factor = kind == Kind::kSpreadLengths ? std::exp(2 * normal(random))
                       : kind == Kind::kTiny        ? 1e-30F
                                                    : 1;
  for (float& value : vector) {
    value = kind == Kind::kFewValues  ? static_cast<float>(random() % 3)
            : kind == Kind::kAllEqual ? 1.0F
                                      : factor * normal(random);
  }
  if (kind == Kind::kOneLarge) vector[random() % dim] = 100 * normal(random);
  return vector;
}

/// Rows as they are stored, f32 or u8.
inline DenseRows random_rows(std::uint32_t n, std::uint32_t dim, DType dtype, Kind kind,
                             Similarity similarity, Random& random) {
  const std::size_t stride = padded_row_bytes(dim, dtype);
  std::vector<std::byte> bytes(n * stride);
  for (std::uint32_t i = 0; i < n; ++i) {
    const auto vector = random_vector(dim, kind, random);
    std::byte* const row = bytes.data() + i * stride;
    auto* const words = reinterpret_cast<std::uint16_t*>(row);
    if (dtype == DType::kF32) std::memcpy(row, vector.data(), dim * sizeof(float));
    if (dtype == DType::kF16) kernels().convert.f32_to_f16(vector.data(), dim, words);
    if (dtype == DType::kBf16) kernels().convert.f32_to_bf16(vector.data(), dim, words);
    if (dtype == DType::kU8) {
      for (std::uint32_t j = 0; j < dim; ++j) row[j] = static_cast<std::byte>(random() % 256);
    }
  }
  DenseRows rows;
  rows.bytes = SharedBytes::of(std::move(bytes));
  rows.view = {rows.bytes.data(), n, dim, dtype, stride};
  rows.similarity = similarity;
  return rows;
}

/// Scores of all rows by the kernels of the CPU.
inline std::vector<float> all_scores(const DenseRows& rows, const std::vector<float>& query) {
  std::vector<float> scores(rows.view.n_rows);
  kernels()
      .dense(rows.similarity, rows.view.dtype)
      .many(query.data(), rows.view.dim, rows.view.data, rows.view.stride_bytes, scores.size(),
            scores.data());
  return scores;
}

/// Documents of 0 to `most` tokens, f32 or f16.
inline Documents random_documents(std::uint32_t n, std::uint32_t most, std::uint32_t dim,
                                  DType dtype, Kind kind, Random& random) {
  std::vector<std::uint64_t> offsets = {0};
  for (std::uint32_t i = 0; i < n; ++i) offsets.push_back(offsets.back() + random() % (most + 1));
  const auto n_tokens = static_cast<std::uint32_t>(offsets.back());
  auto tokens = random_rows(n_tokens, dim, dtype, kind, Similarity::kDot, random);
  return {std::move(tokens.bytes), tokens.view, SharedSpan<std::uint64_t>::of(std::move(offsets))};
}

/// `[n, dim]`, row-major.
inline std::vector<float> random_tokens(std::uint32_t n, std::uint32_t dim, Random& random) {
  std::vector<float> tokens;
  for (std::uint32_t i = 0; i < n; ++i) {
    const auto token = random_vector(dim, Kind::kNormal, random);
    tokens.insert(tokens.end(), token.begin(), token.end());
  }
  return tokens;
}

/// Bits of the documents that have tokens and are allowed, as searches ask for no others. No bits:
/// all are allowed.
inline std::vector<std::uint64_t> with_tokens(const Documents& documents,
                                              std::vector<std::uint64_t> allowed) {
  if (allowed.empty()) allowed.assign((documents.n() + 63) / 64, ~std::uint64_t{0});
  for (std::size_t i = 0; i < documents.n(); ++i) {
    if (documents.offsets[i] == documents.offsets[i + 1]) {
      allowed[i / 64] &= ~(std::uint64_t{1} << i % 64);
    }
  }
  return allowed;
}

/// Scores by the kernels of the CPU; -infinity without tokens. `query`: `[n_tokens, dim]`.
inline std::vector<float> all_scores(const Documents& documents, const std::vector<float>& query) {
  const std::uint32_t dim = documents.tokens.dim;
  const std::size_t n_tokens = query.size() / dim;
  std::vector<float> prepared(MaxSimKernels::prepared_floats(n_tokens, dim));
  kernels().maxsim_family.prepare(query.data(), n_tokens, dim, dim, prepared.data());
  const auto maxsim = kernels().maxsim(Similarity::kDot, documents.tokens.dtype);
  std::vector<float> scores;
  for (std::size_t i = 0; i < documents.n(); ++i) {
    const std::uint64_t first = documents.offsets[i];
    const std::uint64_t n = documents.offsets[i + 1] - first;
    scores.push_back(n == 0 ? -INFINITY
                            : maxsim(prepared.data(), n_tokens, dim, documents.tokens.row(first),
                                     documents.tokens.stride_bytes, n));
  }
  return scores;
}

/// What a kernel named: `rows` are `[n_rows.size(), capacity]`; nullopt where it is not certain.
inline RowLists lists_of(const std::vector<std::uint32_t>& rows,
                         const std::vector<std::uint32_t>& n_rows, std::uint32_t capacity) {
  RowLists lists(n_rows.size());
  for (std::size_t i = 0; i < n_rows.size(); ++i) {
    if (n_rows[i] == QV_NOT_CERTIFIED) continue;
    EXPECT_LE(n_rows[i], capacity);
    const auto first = rows.begin() + static_cast<std::ptrdiff_t>(i * capacity);
    auto& list = lists[i].emplace(first, first + n_rows[i]);
    std::sort(list.begin(), list.end());
  }
  return lists;
}

inline bool is_set(const std::vector<std::uint64_t>& bits, std::uint32_t row) {
  return bits.empty() || (bits[row / 64] >> (row % 64) & 1) != 0;
}

/// Masks of the queries of a job: query i has mask i % n, or with `has_open` every (n + 1)-th one
/// may name all rows.
class TestMasks {
 public:
  TestMasks() = default;
  TestMasks(std::vector<std::vector<std::uint64_t>> masks, bool has_open)
      : masks_(std::move(masks)), has_open_(has_open || masks_.empty()) {
    for (const auto& mask : masks_) words_.insert(words_.end(), mask.begin(), mask.end());
  }
  /// `n` at random; the last of several allows few rows.
  static TestMasks random(std::size_t n, bool has_open, std::uint32_t n_rows, Random& random) {
    const auto word = [&] { return std::uint64_t{random()} << 32 | random(); };
    std::vector<std::vector<std::uint64_t>> masks(n);
    for (std::uint32_t row = 0; row < n_rows; row += 64) {
      for (std::size_t i = 0; i < n; ++i) {
        masks[i].push_back(i > 0 && i + 1 == n ? word() & word() & word() & word() : word());
      }
    }
    return {std::move(masks), has_open};
  }

  [[nodiscard]] std::size_t n() const { return masks_.size(); }
  [[nodiscard]] std::uint32_t number_of(std::size_t query) const {
    const std::size_t number = query % (has_open_ ? n() + 1 : n());
    return number == n() ? QV_ALL_ROWS : static_cast<std::uint32_t>(number);
  }
  /// No bits: all rows.
  [[nodiscard]] std::vector<std::uint64_t> bits_of(std::size_t query) const {
    const std::uint32_t number = number_of(query);
    return number == QV_ALL_ROWS ? std::vector<std::uint64_t>() : masks_[number];
  }
  /// nullptr: all rows. The same for queries with the same mask.
  [[nodiscard]] const std::uint64_t* pointer_of(std::size_t query) const {
    const std::uint32_t number = number_of(query);
    return number == QV_ALL_ROWS ? nullptr : masks_[number].data();
  }
  [[nodiscard]] std::span<const std::uint64_t> words() const { return words_; }
  [[nodiscard]] qv_masks of_job() const {
    return {n() == 0 ? nullptr : words_.data(), static_cast<std::uint32_t>(n())};
  }

 private:
  std::vector<std::vector<std::uint64_t>> masks_;
  bool has_open_ = true;
  std::vector<std::uint64_t> words_ = {};  ///< of all masks
};

/// No mask, one, one without rows, several, and several with a query that may name all rows.
inline std::vector<TestMasks> various_masks(std::uint32_t n_rows, Random& random) {
  return {TestMasks(), TestMasks::random(1, false, n_rows, random),
          TestMasks({std::vector<std::uint64_t>((n_rows + 63) / 64, 0)}, false),
          TestMasks::random(2, false, n_rows, random), TestMasks::random(3, true, n_rows, random)};
}

/// Fails unless `list` holds all allowed rows that are at least as good as the k-th best, and no
/// row that is not allowed.
inline void expect_complete(const std::vector<std::uint32_t>& list,
                            const std::vector<float>& scores, std::size_t k,
                            const std::vector<std::uint64_t>& allowed) {
  std::vector<float> best;
  for (std::uint32_t row = 0; row < scores.size(); ++row) {
    if (is_set(allowed, row)) best.push_back(scores[row]);
  }
  std::sort(best.begin(), best.end(), std::greater<>());
  const float bar = best.size() <= k ? -INFINITY : best[k - 1];
  for (const std::uint32_t row : list) EXPECT_TRUE(is_set(allowed, row)) << row;
  for (std::uint32_t row = 0; row < scores.size(); ++row) {
    if (!is_set(allowed, row) || scores[row] < bar) continue;
    EXPECT_TRUE(std::binary_search(list.begin(), list.end(), row))
        << "row " << row << " with " << scores[row] << ", the k-th best has " << bar;
  }
}

/// An emulated device. If $QUIVER_GPU_TEST_MODULE names a module, the devices of that one instead,
/// unless the emulated one is told to fail (scripts/gpu-check).
inline std::unique_ptr<Devices> open_emulated(const std::string& devices = "emulated",
                                              Options options = {}) {
  const char* module = std::getenv("QUIVER_GPU_TEST_MODULE");
  const bool is_real = module != nullptr && devices == "emulated";
  options.devices = is_real ? "0" : devices;
  if (is_real) options.module = module;
  options.min_bytes = 0;
  auto opened = Devices::open(options);
  EXPECT_TRUE(opened) << opened.error().to_string();
  return opened ? *std::move(opened) : nullptr;
}

inline std::uint64_t n_fallbacks(const Devices& devices, Fallback why) {
  return devices.report().fallbacks[static_cast<std::size_t>(why)];
}

}  // namespace quiver::gpu::testing
