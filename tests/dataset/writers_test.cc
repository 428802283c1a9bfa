#include "dataset/writers.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "dataset/streams/lines.h"
#include "tests/dataset/support.h"

namespace quiver::dataset {
namespace {

class WritersTest : public testing::Test {
 protected:
  /// Names of the files in the directory.
  [[nodiscard]] std::vector<std::string> files() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(directory_.path(""))) {
      names.push_back(entry.path().filename());
    }
    std::sort(names.begin(), names.end());
    return names;
  }
  Result<> write(const std::string& name, const WriteOptions& options, const VectorBatch& rows) {
    QV_TRY(const auto writer, create_vectors(directory_.path(name), options));
    QV_TRY(writer->write(rows));
    return writer->finish();
  }

  TemporaryDirectory directory_;
};

VectorBatch random_rows(FieldKind kind, std::size_t n_rows, std::size_t dim, std::mt19937& random) {
  VectorBatch rows;
  rows.n_rows = n_rows;
  std::size_t n_values = n_rows * dim;
  if (kind != FieldKind::kDense) {
    rows.offsets = {0};
    for (std::size_t i = 0; i < n_rows; ++i) {
      rows.offsets.push_back(rows.offsets.back() + random() % 5);
      std::uint32_t index = 0;
      for (auto j = rows.offsets[i]; kind == FieldKind::kSparse && j < rows.offsets[i + 1]; ++j) {
        rows.indices.push_back(index += 1 + static_cast<std::uint32_t>(random() % 1000));
      }
    }
    n_values = rows.offsets.back() * (kind == FieldKind::kMulti ? dim : 1);
  }
  for (std::size_t i = 0; i < n_values; ++i) {
    rows.values.push_back(static_cast<float>(random() % 256));  // fits every type
  }
  return rows;
}

TEST_F(WritersTest, BytesAsNumpyWritesThem) {
  VectorBatch rows;
  rows.n_rows = 2;
  rows.values = {1, 2, 3, 4, 5, 6};
  ASSERT_TRUE(write("a.npy", {FieldKind::kDense, DType::kU8, 3}, rows));
  const std::string bytes = read_file(directory_.path("a.npy"));
  EXPECT_EQ(bytes, npy("|u1", "(2, 3)", {1, 2, 3, 4, 5, 6}));
}

TEST_F(WritersTest, RandomRowsComeBack) {
  constexpr unsigned kSeed = 3;
  SCOPED_TRACE(fmt::format("seed {}", kSeed));
  std::mt19937 random(kSeed);
  for (const FieldKind kind : {FieldKind::kDense, FieldKind::kSparse, FieldKind::kMulti}) {
    for (const DType dtype : {DType::kF32, DType::kF16, DType::kU8}) {
      for (const std::string ending : {"", ".zst"}) {
        WriteOptions options{kind, dtype, 7, IfExists::kReplace};
        const std::string path =
            directory_.path(kind == FieldKind::kDense ? "a.npy" + ending : "a" + ending);
        const auto writer = create_vectors(path, options);
        ASSERT_TRUE(writer) << error_of(writer);
        VectorBatch all;
        if (kind != FieldKind::kDense) all.offsets = {0};
        for (int batch = 0; batch < 10; ++batch) {
          const VectorBatch rows = random_rows(kind, random() % 100, options.dim, random);
          ASSERT_TRUE((*writer)->write(rows));
          all.values.insert(all.values.end(), rows.values.begin(), rows.values.end());
          all.indices.insert(all.indices.end(), rows.indices.begin(), rows.indices.end());
          const std::uint64_t base = all.offsets.empty() ? 0 : all.offsets.back();
          for (std::size_t i = 1; i < rows.offsets.size(); ++i) {
            all.offsets.push_back(base + rows.offsets[i]);
          }
          all.n_rows += rows.n_rows;
        }
        const auto finished = (*writer)->finish();
        ASSERT_TRUE(finished) << error_of(finished);
        const auto read = load_vectors(path, kind);
        ASSERT_TRUE(read) << error_of(read);
        EXPECT_EQ(read->batch.n_rows, all.n_rows);
        EXPECT_EQ(read->batch.values, all.values);
        EXPECT_EQ(read->batch.indices, all.indices);
        EXPECT_EQ(read->batch.offsets, all.offsets);
        // The reader prefers the plain file of a set.
        for (const auto& name : files()) directory_.remove(name);
      }
    }
  }
}

TEST_F(WritersTest, FilesHaveTheirNamesOnlyWhenTheyAreComplete) {
  VectorBatch rows;
  rows.n_rows = 1;
  rows.offsets = {0, 1};
  rows.indices = {4};
  rows.values = {5};
  {
    const auto writer = create_vectors(directory_.path("s.zst"), {FieldKind::kSparse});
    ASSERT_TRUE(writer && (*writer)->write(rows));
    for (const auto& name : files()) EXPECT_TRUE(name.ends_with(".partial")) << name;
  }
  EXPECT_TRUE(files().empty());
  ASSERT_TRUE(write("s.zst", {FieldKind::kSparse}, rows));
  EXPECT_EQ(files(),
            (std::vector<std::string>{"s.indices.npy.zst", "s.indptr.npy", "s.values.npy.zst"}));
  ASSERT_TRUE(load_vectors(directory_.path("s"), FieldKind::kSparse));
}

TEST_F(WritersTest, NoRows) {
  for (const std::string name : {"a.npy", "b.npy.zst"}) {
    ASSERT_TRUE(write(name, {FieldKind::kDense, DType::kF32, 3}, {}));
    const auto read = load_vectors(directory_.path(name), FieldKind::kDense);
    ASSERT_TRUE(read) << error_of(read);
    EXPECT_EQ(read->n_rows(), 0U);
    EXPECT_EQ(read->shape.dim, 3U);
  }
  VectorBatch rows;
  rows.offsets = {0};
  ASSERT_TRUE(write("s", {FieldKind::kSparse}, rows));
  EXPECT_EQ(load_vectors(directory_.path("s"), FieldKind::kSparse)->n_rows(), 0U);
}

TEST_F(WritersTest, ExistingFilesAreKept) {
  directory_.write("a.npy", "precious");
  directory_.write("a.jsonl", "precious");
  const WriteOptions options{FieldKind::kDense, DType::kF32, 1};
  EXPECT_EQ(create_vectors(directory_.path("a.npy"), options).error().code(), Code::kAlreadyExists);
  EXPECT_EQ(LineWriter::create(directory_.path("a.jsonl"), IfExists::kFail).error().code(),
            Code::kAlreadyExists);
  EXPECT_EQ(read_file(directory_.path("a.npy")), "precious");
  // Compressing writes a plain file first, but must not overwrite this one.
  ASSERT_TRUE(write("a.npy.zst", options, {}));
  EXPECT_EQ(read_file(directory_.path("a.npy")), "precious");
}

TEST_F(WritersTest, WhatDoesNotFit) {
  const auto failure = [&](DType dtype, float value) {
    VectorBatch rows;
    rows.n_rows = 2;
    rows.values = {1, 2, value, 4};
    return error_of(write("a.npy", {FieldKind::kDense, dtype, 2, IfExists::kReplace}, rows));
  };
  for (const float value : {-1.F, 0.5F, 256.F, std::nanf(""), HUGE_VALF}) {
    EXPECT_NE(failure(DType::kU8, value).find("row 1: found "), std::string::npos)
        << failure(DType::kU8, value);
  }
  EXPECT_EQ(failure(DType::kF16, -65520),
            "invalid_argument: " + directory_.path("a.npy") +
                ": row 1: found -65520, wanted a number within the range of f16");
  EXPECT_EQ(failure(DType::kF16, HUGE_VALF), "no error");
  EXPECT_EQ(failure(DType::kF32, HUGE_VALF), "no error");
}

TEST_F(WritersTest, RowsOfAnotherShape) {
  VectorBatch rows;
  rows.n_rows = 2;
  rows.values = {1, 2, 3};
  for (const FieldKind kind : {FieldKind::kDense, FieldKind::kSparse, FieldKind::kMulti}) {
    const std::string name = kind == FieldKind::kDense ? "a.npy" : "a";
    const WriteOptions options{kind, DType::kF32, 2};
    const auto result = write(name, options, rows);
    ASSERT_FALSE(result);
    EXPECT_NE(error_of(result).find("found 2 rows with 0 offsets, 0 indices and 3 values"),
              std::string::npos)
        << error_of(result);
  }
}

TEST_F(WritersTest, NamesOfOtherFormats) {
  const auto code = [&](const std::string& name, FieldKind kind) {
    return create_vectors(directory_.path(name), {kind, DType::kF32, 2}).error().code();
  };
  EXPECT_EQ(code("a.npy.gz", FieldKind::kDense), Code::kInvalidArgument);
  EXPECT_EQ(code("a.gz", FieldKind::kMulti), Code::kInvalidArgument);
  EXPECT_FALSE(LineWriter::create(directory_.path("a.jsonl.gz"), IfExists::kFail));
  EXPECT_EQ(code("a.fvecs", FieldKind::kDense), Code::kInvalidArgument);
  EXPECT_EQ(code("a.npy", FieldKind::kSparse), Code::kInvalidArgument);
  EXPECT_EQ(code("none/a.npy", FieldKind::kDense), Code::kNotFound);
  EXPECT_EQ(create_vectors(directory_.path("a.npy"), {}).error().code(), Code::kInvalidArgument);
}

TEST_F(WritersTest, Lines) {
  for (const std::string name : {"a.jsonl", "a.jsonl.zst"}) {
    auto writer = LineWriter::create(directory_.path(name), IfExists::kFail);
    ASSERT_TRUE(writer) << error_of(writer);
    std::vector<std::string> lines;
    for (int i = 0; i < 20000; ++i) {
      lines.push_back(fmt::format("{{\"id\": {}, \"text\": \"{}\"}}", i, i * 7919));
      ASSERT_TRUE(writer->write(lines.back()));
    }
    ASSERT_TRUE(writer->finish());
    auto reader = LineReader::open(directory_.path(name));
    ASSERT_TRUE(reader);
    for (const auto& line : lines) ASSERT_EQ(**reader->next(), line);
    EXPECT_FALSE(*reader->next());
  }
  EXPECT_EQ(files(), (std::vector<std::string>{"a.jsonl", "a.jsonl.zst"}));
}

TEST_F(WritersTest, AFullDiskIsAnError) {
  std::filesystem::create_symlink("/dev/full", directory_.path("a.jsonl.partial"));
  auto writer = LineWriter::create(directory_.path("a.jsonl"), IfExists::kFail);
  ASSERT_TRUE(writer) << error_of(writer);
  ASSERT_TRUE(writer->write("{}"));
  EXPECT_EQ(writer->finish().error().code(), Code::kResourceExhausted);
}

}  // namespace
}  // namespace quiver::dataset
