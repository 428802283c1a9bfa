// Files of vectors made byte by byte, so that the tests of readers do not depend on our writers.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <zstd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "dataset/vectors.h"
#include "tests/gzipped.h"

namespace quiver::dataset {

/// A temporary directory, removed at the end.
class TemporaryDirectory {
 public:
  TemporaryDirectory() {
    std::string path = testing::TempDir() + "quiver-dataset-XXXXXX";
    path_ = ::mkdtemp(path.data());
  }
  ~TemporaryDirectory() { std::filesystem::remove_all(path_); }
  [[nodiscard]] std::string path(const std::string& name) const { return path_ + "/" + name; }

  std::string write(const std::string& name, const std::string& bytes) const {
    remove(name);  // truncating a file makes some file systems wait for the disk
    std::ofstream(path(name), std::ios::binary) << bytes;
    return path(name);
  }
  void remove(const std::string& name) const { std::filesystem::remove(path(name)); }

 private:
  std::string path_;
};

inline std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

inline std::string compressed(const std::string& bytes) {
  std::string out(ZSTD_compressBound(bytes.size()), '\0');
  out.resize(ZSTD_compress(out.data(), out.size(), bytes.data(), bytes.size(), 1));
  return out;
}

/// Compresses bytes for a file with this ending: "", ".zst" or ".gz".
inline std::string packed(const std::string& bytes, const std::string& ending) {
  return ending.empty() ? bytes : ending == ".zst" ? compressed(bytes) : gzipped(bytes);
}

/// Little-endian.
template <class T>
std::string pack(const std::vector<T>& values) {
  std::string bytes(values.size() * sizeof(T), '\0');
  if (!values.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}
template <class T>
std::string pack(std::initializer_list<T> values) {
  return pack(std::vector<T>(values));
}

/// Version 1, as numpy.save writes it.
inline std::string npy(const std::string& descr, const std::string& shape, const std::string& data,
                       const std::string& fortran = "False") {
  std::string header =
      fmt::format("{{'descr': '{}', 'fortran_order': {}, 'shape': {}, }}", descr, fortran, shape);
  header.resize((header.size() + 10 + 1 + 63) / 64 * 64 - 10 - 1, ' ');
  header += '\n';
  const char head[] = {'\x93',
                       'N',
                       'U',
                       'M',
                       'P',
                       'Y',
                       1,
                       0,
                       static_cast<char>(header.size()),
                       static_cast<char>(header.size() >> 8)};
  return std::string(head, sizeof(head)) + header + data;
}

/// Rows of a reader from its position to the end, in batches of `max_rows`.
inline Result<VectorBatch> read_rest(VectorReader& reader, std::size_t max_rows) {
  VectorBatch all;
  VectorBatch batch;
  all.first_row = reader.position();
  if (reader.shape().kind != FieldKind::kDense) all.offsets.push_back(0);
  for (;;) {
    const std::uint64_t first_row = reader.position();
    QV_TRY(reader.read(max_rows, batch));
    EXPECT_EQ(batch.first_row, first_row);
    EXPECT_EQ(reader.position(), first_row + batch.n_rows);
    EXPECT_LE(batch.n_rows, max_rows);
    if (batch.n_rows == 0) return all;
    all.n_rows += batch.n_rows;
    all.values.insert(all.values.end(), batch.values.begin(), batch.values.end());
    all.indices.insert(all.indices.end(), batch.indices.begin(), batch.indices.end());
    const std::uint64_t base = all.offsets.empty() ? 0 : all.offsets.back();
    for (std::size_t i = 1; i < batch.offsets.size(); ++i) {
      all.offsets.push_back(base + batch.offsets[i]);
    }
  }
}

inline Result<VectorBatch> read_source(const std::string& source, FieldKind kind) {
  QV_TRY(const auto reader, open_vectors(source, kind));
  return read_rest(*reader, 3);
}

/// Message of a result that must be an error.
template <class T>
std::string error_of(const Result<T>& result) {
  return result ? "no error" : result.error().to_string();
}

/// Sources of every format with the same few rows. `files` by name within the directory.
struct SourceCase {
  std::string name;
  FieldKind kind = FieldKind::kDense;
  ValueType type = ValueType::kF32;
  std::string source;
  std::map<std::string, std::string> files;
  VectorBatch expected;
  std::size_t row_bytes = 0;  ///< where a file cut between rows is a good, shorter one; else 0
  bool may_be_followed = false;
};

inline void PrintTo(const SourceCase& source, std::ostream* out) { *out << source.name; }

}  // namespace quiver::dataset
