// Small sets of vectors as files, and their exact scores by brute force.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>

#include <cmath>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include "base/schema.h"
#include "dataset/formats/npy_header.h"

namespace quiver::bench {

class AnnFiles : public testing::Test {
 protected:
  AnnFiles() {
    std::string path = testing::TempDir() + "quiver-ann-XXXXXX";
    if (::mkdtemp(path.data()) == nullptr) std::abort();
    folder_ = path;
  }
  ~AnnFiles() override { std::filesystem::remove_all(folder_); }

  [[nodiscard]] std::string path(const std::string& name) const {
    return (folder_ / name).string();
  }

  template <class T>
  std::string write_npy(const std::string& name, dataset::ValueType type,
                        const std::vector<std::uint64_t>& shape, const std::vector<T>& values) {
    std::ofstream file(path(name), std::ios::binary);
    file << dataset::npy_header_text(type, shape);
    file.write(reinterpret_cast<const char*>(values.data()),
               static_cast<std::streamsize>(values.size() * sizeof(T)));
    return path(name);
  }
  std::string write_rows(const std::string& name, const std::vector<float>& values,
                         std::uint64_t dim) {
    return write_npy(name, dataset::ValueType::kF32, {values.size() / dim, dim}, values);
  }

  /// Multiples of 1/8 from -2 to 2: sums of products are exact in f32 and often tie.
  std::vector<float> coarse_values(std::size_t n) {
    std::uniform_int_distribution<int> eighths(-16, 16);
    std::vector<float> values(n);
    for (float& value : values) value = static_cast<float>(eighths(random_)) / 8;
    return values;
  }

  std::mt19937 random_{20261121};

 private:
  std::filesystem::path folder_;
};

/// Larger is better, as everywhere below the API.
inline double slow_score(Metric metric, const float* query, const float* row, std::size_t dim) {
  double dot = 0, query_square = 0, row_square = 0, l1 = 0, l2 = 0;
  for (std::size_t i = 0; i < dim; ++i) {
    const double q = query[i], r = row[i];
    dot += q * r;
    query_square += q * q;
    row_square += r * r;
    l1 += std::abs(q - r);
    l2 += (q - r) * (q - r);
  }
  switch (metric) {
    case Metric::kDot:
      return dot;
    case Metric::kCosine:
      return dot == 0 ? 0 : dot / std::sqrt(query_square * row_square);
    case Metric::kEuclid:
      return -l2;
    case Metric::kManhattan:
      return -l1;
  }
  return 0;
}

}  // namespace quiver::bench
