// Files of FAISS as lists of vectors with ids.
#include "interop/faiss/index_file.h"

#include <faiss/IndexBinaryFlat.h>
#include <faiss/IndexFlat.h>
#include <faiss/IndexIDMap.h>
#include <faiss/index_factory.h>
#include <faiss/index_io.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <omp.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <random>
#include <vector>

namespace quiver::interop {
namespace {

constexpr int kDim = 24, kRows = 1500;

class FaissFiles : public ::testing::Test {
 protected:
  FaissFiles() {
    omp_set_num_threads(1);  // waiting threads of OpenMP take the processor from each other
    std::mt19937 random(3);
    std::normal_distribution<float> normal;
    rows_.resize(std::size_t{kDim} * kRows);
    for (float& value : rows_) value = normal(random);
    for (std::int64_t i = 0; i < kRows; ++i) ids_.push_back(7 * i + 1000);
  }
  ~FaissFiles() override { std::filesystem::remove(path_); }

  /// Trained, filled with the rows, and written.
  void write(const char* factory, faiss::MetricType metric = faiss::METRIC_L2,
             bool with_ids = false) {
    const std::unique_ptr<faiss::Index> index(faiss::index_factory(kDim, factory, metric));
    index->train(kRows, rows_.data());
    if (with_ids) {
      index->add_with_ids(kRows, rows_.data(), ids_.data());
    } else {
      index->add(kRows, rows_.data());
    }
    faiss::write_index(index.get(), path_.c_str());
  }
  /// The vectors by id.
  std::map<std::int64_t, std::vector<float>> read() {
    std::map<std::int64_t, std::vector<float>> found;
    const auto file = FaissFile::open(path_);
    EXPECT_TRUE(file) << file.error().to_string();
    if (!file) return found;
    facts_ = file->facts();
    const auto done = file->for_each(
        [&](std::span<const std::int64_t> ids, std::span<const float> vectors) -> Result<> {
          for (std::size_t i = 0; i < ids.size(); ++i) {
            const float* vector = vectors.data() + i * kDim;
            EXPECT_TRUE(found.emplace(ids[i], std::vector<float>(vector, vector + kDim)).second);
          }
          return {};
        });
    EXPECT_TRUE(done) << done.error().to_string();
    return found;
  }
  /// Root mean square difference of a value.
  double error_of(const std::map<std::int64_t, std::vector<float>>& found, bool with_ids) {
    EXPECT_EQ(found.size(), std::size_t{kRows});
    double sum = 0;
    for (int i = 0; i < kRows; ++i) {
      const auto place = found.find(with_ids ? ids_[static_cast<std::size_t>(i)] : i);
      if (place == found.end()) return INFINITY;
      for (int d = 0; d < kDim; ++d) {
        const double difference = double{place->second[static_cast<std::size_t>(d)]} -
                                  rows_[static_cast<std::size_t>(i * kDim + d)];
        sum += difference * difference;
      }
    }
    return std::sqrt(sum / (kDim * kRows));
  }

  std::string path_ = ::testing::TempDir() + "/quiver_faiss_" + std::to_string(getpid());
  std::vector<float> rows_;
  std::vector<std::int64_t> ids_;
  FaissFacts facts_;
};

TEST_F(FaissFiles, LosslessOnesGiveTheBitsBack) {
  for (const char* factory : {"Flat", "IVF16,Flat", "HNSW8", "NSG8", "IVF16,PQ6x4,RFlat"}) {
    SCOPED_TRACE(factory);
    write(factory);
    EXPECT_EQ(error_of(read(), false), 0);
    EXPECT_TRUE(facts_.is_lossless);
    EXPECT_EQ(facts_.metric, Metric::kEuclid);
    EXPECT_EQ(facts_.dim, 24U);
    EXPECT_EQ(facts_.n_vectors, std::uint64_t{kRows});
  }
}

TEST_F(FaissFiles, IdsAreKept) {
  for (const char* factory : {"IDMap,Flat", "IDMap2,Flat", "IVF16,Flat", "IDMap,HNSW8"}) {
    SCOPED_TRACE(factory);
    write(factory, faiss::METRIC_INNER_PRODUCT, true);
    EXPECT_EQ(error_of(read(), true), 0);
    EXPECT_EQ(facts_.metric, Metric::kDot);
  }
}

TEST_F(FaissFiles, CodesAreDecodedAndCalledLossy) {
  for (const char* factory : {"SQ8", "SQfp16", "PQ6x4", "IVF8,PQ6x4", "IVF8,SQ8", "PCAR16,Flat"}) {
    SCOPED_TRACE(factory);
    write(factory);
    const double error = error_of(read(), false);
    EXPECT_GT(error, 0);
    EXPECT_LT(error, 0.8) << "the values' deviation is 1";
    EXPECT_FALSE(facts_.is_lossless);
  }
}

TEST_F(FaissFiles, WhatIsNoIndexOfFloatsIsRefused) {
  EXPECT_EQ(FaissFile::open("/nowhere/x.faiss").error().code(), Code::kNotFound);
  std::FILE* file = std::fopen(path_.c_str(), "w");
  std::fputs("this is no index at all", file);
  std::fclose(file);
  EXPECT_EQ(FaissFile::open(path_).error().code(), Code::kInvalidArgument);
  faiss::IndexBinaryFlat binary(64);
  faiss::write_index_binary(&binary, path_.c_str());
  EXPECT_EQ(FaissFile::open(path_).error().code(), Code::kInvalidArgument);
}

TEST_F(FaissFiles, ATruncatedFileIsRefused) {
  write("IVF16,Flat");
  std::filesystem::resize_file(path_, std::filesystem::file_size(path_) / 2);
  const auto file = FaissFile::open(path_);
  ASSERT_FALSE(file);
  EXPECT_NE(file.error().message().find(path_), std::string::npos);
}

TEST_F(FaissFiles, AWrongNumberOfVectorsIsRefusedWithBothNumbers) {
  constexpr std::streamoff kAtTotal = 8;  // behind four letters and the dimension
  for (const char* factory : {"IVF16,Flat", "HNSW8", "IDMap,Flat", "SQ8", "PCAR16,Flat"}) {
    for (const std::int64_t wrong :
         {std::int64_t{kRows - 1}, std::int64_t{1} << 40, std::int64_t{-1}}) {
      SCOPED_TRACE(fmt::format("{} {}", factory, wrong));
      write(factory, faiss::METRIC_L2, std::string_view(factory).starts_with("IDMap"));
      {
        std::fstream file(path_, std::ios::in | std::ios::out | std::ios::binary);
        file.seekp(kAtTotal);
        file.write(reinterpret_cast<const char*>(&wrong), sizeof(wrong));
      }
      const auto file = FaissFile::open(path_);
      ASSERT_FALSE(file);
      EXPECT_EQ(file.error().code(), Code::kDataLoss);
      EXPECT_NE(file.error().message().find(path_), std::string::npos);
      EXPECT_NE(file.error().message().find(std::to_string(wrong)), std::string::npos);
      EXPECT_NE(file.error().message().find(std::to_string(kRows)), std::string::npos);
    }
  }
}

TEST_F(FaissFiles, OtherMetricsAreRefused) {
  write("Flat", faiss::METRIC_Canberra);
  const auto file = FaissFile::open(path_);
  ASSERT_FALSE(file);
  EXPECT_NE(file.error().message().find("metric"), std::string::npos);
}

}  // namespace
}  // namespace quiver::interop
