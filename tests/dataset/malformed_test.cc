// Files that are cut off, mislabelled or contradictory give an error that says where.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "tests/dataset/cases.h"
#include "tests/dataset/support.h"

namespace quiver::dataset {
namespace {

class MalformedTest : public testing::TestWithParam<SourceCase> {
 protected:
  void write_all() const {
    for (const auto& [name, bytes] : GetParam().files) directory_.write(name, bytes);
  }
  [[nodiscard]] Result<VectorBatch> read() const {
    return read_source(directory_.path(GetParam().source), GetParam().kind);
  }
  [[nodiscard]] Result<VectorBatch> read_packed(const std::string& ending = ".zst") const {
    return read_source(directory_.path(packed_source(GetParam().source, ending)), GetParam().kind);
  }
  void expect_place(const Result<VectorBatch>& result, const std::string& file) const {
    ASSERT_FALSE(result);
    const std::string text = result.error().message();
    EXPECT_NE(text.find(directory_.path(file)), std::string::npos) << text;
    EXPECT_NE(text.find("byte "), std::string::npos) << text;
  }
  [[nodiscard]] static bool is_good_when_cut(std::size_t n_bytes) {
    return GetParam().row_bytes != 0 && n_bytes != 0 && n_bytes % GetParam().row_bytes == 0;
  }

  TemporaryDirectory directory_;
};

TEST_P(MalformedTest, CutOffAnywhere) {
  write_all();
  for (const auto& [name, bytes] : GetParam().files) {
    for (std::size_t n = 0; n < bytes.size(); ++n) {
      SCOPED_TRACE(fmt::format("{} after {} of {} bytes", name, n, bytes.size()));
      directory_.write(name, bytes.substr(0, n));
      if (is_good_when_cut(n)) {
        EXPECT_TRUE(read());
      } else {
        expect_place(read(), name);
      }
    }
    directory_.write(name, bytes);
  }
  EXPECT_TRUE(read());
}

TEST_P(MalformedTest, CutOffAnywhereBeforeCompression) {
  for (const auto& [name, bytes] : GetParam().files) {
    directory_.write(name + ".zst", compressed(bytes));
  }
  for (const auto& [name, bytes] : GetParam().files) {
    for (std::size_t n = 0; n < bytes.size(); ++n) {
      SCOPED_TRACE(fmt::format("{} after {} of {} bytes", name, n, bytes.size()));
      directory_.write(name + ".zst", compressed(bytes.substr(0, n)));
      if (is_good_when_cut(n)) {
        EXPECT_TRUE(read_packed());
      } else {
        expect_place(read_packed(), name + ".zst");
      }
    }
    directory_.write(name + ".zst", compressed(bytes));
  }
  EXPECT_TRUE(read_packed());
}

TEST_P(MalformedTest, CutOffAnywhereAfterCompression) {
  for (const std::string ending : {".zst", ".gz"}) {
    for (const auto& [name, bytes] : GetParam().files) {
      directory_.write(name + ending, packed(bytes, ending));
    }
    for (const auto& [name, bytes] : GetParam().files) {
      const std::string whole = packed(bytes, ending);
      for (std::size_t n = 0; n < whole.size(); ++n) {
        SCOPED_TRACE(fmt::format("{}{} after {} of {} bytes", name, ending, n, whole.size()));
        directory_.write(name + ending, whole.substr(0, n));
        expect_place(read_packed(ending), name + ending);
      }
      directory_.write(name + ending, whole);
    }
    EXPECT_TRUE(read_packed(ending));
    for (const auto& [name, bytes] : GetParam().files) directory_.remove(name + ending);
  }
}

TEST_P(MalformedTest, BytesAfterTheEnd) {
  if (GetParam().may_be_followed) return;
  write_all();
  for (const auto& [name, bytes] : GetParam().files) {
    directory_.write(name, bytes + "x");
    expect_place(read(), name);
    directory_.remove(name);
    directory_.write(name + ".zst", compressed(bytes + "x"));
    expect_place(read_packed(), name + ".zst");
    directory_.write(name + ".zst", compressed(bytes) + "x");
    expect_place(read_packed(), name + ".zst");
    directory_.remove(name + ".zst");
    directory_.write(name + ".gz", gzipped(bytes) + "x");
    expect_place(read_packed(".gz"), name + ".gz");
    directory_.remove(name + ".gz");
    directory_.write(name, bytes);
  }
}

TEST_P(MalformedTest, PlainBytesNamedCompressed) {
  for (const std::string ending : {".zst", ".gz"}) {
    for (const auto& [name, bytes] : GetParam().files) {
      directory_.write(name + ending, packed(bytes, ending));
    }
    for (const auto& [name, bytes] : GetParam().files) {
      directory_.write(name + ending, bytes);
      const auto result = read_packed(ending);
      expect_place(result, name + ending);
      EXPECT_EQ(result.error().code(), Code::kInvalidArgument) << result.error().message();
      directory_.write(name + ending, packed(bytes, ending));
    }
    for (const auto& [name, bytes] : GetParam().files) directory_.remove(name + ending);
  }
}

TEST_P(MalformedTest, SomethingElseUnderThisName) {
  write_all();
  const std::string text = "{\"id\": 1, \"vector\": [0.25, 0.5], \"payload\": {\"a\": 1}}\n";
  for (const auto& [name, bytes] : GetParam().files) {
    directory_.write(name, text);
    expect_place(read(), name);
    directory_.write(name, compressed(bytes));
    expect_place(read(), name);
    directory_.write(name, bytes);
  }
}

// Any bytes give sound rows or an error.
TEST_P(MalformedTest, DamagedBytes) {
  if (GetParam().may_be_followed) return;  // the library's own affair
  constexpr unsigned kSeed = 4;
  std::mt19937 random(kSeed);
  SCOPED_TRACE(fmt::format("seed {}", kSeed));
  write_all();
  for (const auto& [name, bytes] : GetParam().files) {
    for (int round = 0; round < 300; ++round) {
      std::string damaged = bytes;
      for (unsigned i = random() % 3 + 1; i > 0; --i) {
        damaged[random() % damaged.size()] = static_cast<char>(random());
      }
      directory_.write(name, damaged);
      const auto rows = read();
      if (!rows || GetParam().kind == FieldKind::kDense) continue;
      EXPECT_EQ(rows->offsets.size(), rows->n_rows + 1);
      EXPECT_TRUE(std::ranges::is_sorted(rows->offsets));
      EXPECT_EQ(rows->values.size() % std::max<std::uint64_t>(rows->offsets.back(), 1), 0U);
    }
    directory_.write(name, bytes);
  }
}

TEST_P(MalformedTest, MissingFiles) {
  for (const auto& [missing, unused] : GetParam().files) {
    write_all();
    directory_.remove(missing);
    const auto result = read();
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code(), Code::kNotFound) << result.error().message();
    EXPECT_NE(result.error().message().find(missing), std::string::npos);
  }
}

TEST_P(MalformedTest, AnotherKindThanAsked) {
  write_all();
  for (const FieldKind kind : {FieldKind::kDense, FieldKind::kSparse, FieldKind::kMulti}) {
    if (kind == GetParam().kind) continue;
    EXPECT_FALSE(read_source(directory_.path(GetParam().source), kind));
  }
}

INSTANTIATE_TEST_SUITE_P(Formats, MalformedTest, testing::ValuesIn(all_cases()),
                         [](const auto& test) { return test.param.name; });

/// The message for one file.
std::string message(const std::string& name, const std::string& bytes,
                    FieldKind kind = FieldKind::kDense) {
  const TemporaryDirectory directory;
  return error_of(read_source(directory.write(name, bytes), kind));
}

void expect_in(const std::string& text, std::initializer_list<const char*> parts) {
  for (const char* part : parts) EXPECT_NE(text.find(part), std::string::npos) << text;
}

TEST(Malformed, VecsOfDifferentDimensions) {
  // The second row has dimension 1, and the file's size is still a multiple of the first row's.
  const std::string bytes = pack<int>({2, 1, 1, 1, 5, 1});
  expect_in(message("a.ivecs", bytes), {"row 1, byte 12", "found dimension 1, wanted 2"});
  expect_in(message("a.ivecs.zst", compressed(bytes)),
            {"row 1, byte 12 (decompressed)", "found dimension 1, wanted 2"});
  expect_in(message("a.ivecs", pack<int>({2, 1, 1, 1, 5})), {"row 1, byte 20", "different"});
}

TEST(Malformed, DimensionsThatNoFileHas) {
  for (const int dim : {-1, 0, INT32_MIN, INT32_MAX}) {
    expect_in(message("a.fvecs", pack<int>({dim, 0, 0})),
              {"row 0, byte 0", fmt::format("found dimension {}, wanted 1 to", dim).c_str()});
    expect_in(message("a.fbin", pack<int>({1, dim, 0})), {"byte 4", "found dimension", "wanted 1"});
  }
  expect_in(message("a.fvecs", ""), {"byte 0", "empty"});
  expect_in(message("a.fvecs.zst", compressed("")), {"byte 0", "empty"});
  expect_in(message("a.fvecs.zst", ""), {"byte 0", "ends within compressed data"});
}

// Headers of the wrong byte order claim sizes that no file has.
TEST(Malformed, TheOtherByteOrder) {
  const std::string fvecs = pack_big<std::int32_t>({2}) + pack_big<float>({1, 2});
  expect_in(message("a.fvecs", fvecs), {"row 0, byte 0", "found dimension 33554432, wanted 1 to"});
  expect_in(message("a.fvecs.zst", compressed(fvecs)), {"row 0, byte 0", "dimension 33554432"});
  const std::string fbin = pack_big<std::uint32_t>({1, 2}) + pack_big<float>({1, 2});
  expect_in(message("a.fbin", fbin), {"byte 4", "found dimension 33554432, wanted 1 to"});
  const std::string csr =
      pack_big<std::int64_t>({1, 9, 1, 0, 1}) + pack_big<std::int32_t>({3}) + pack_big<float>({1});
  expect_in(message("a.csr", csr, FieldKind::kSparse), {"byte 0", "found 72057594037927936 rows"});
  const std::string idx = std::string{0, 0, 8, 2} + pack<std::uint32_t>({1, 2}) + "ab";
  expect_in(message("a.idx2", idx), {"byte 8", "found dimension 33554432, wanted 1 to"});
  const std::string swapped = {3, 8, 0, 0};
  expect_in(message("a.idx3-ubyte", swapped), {"byte 0", "is no IDX file: begins with 03080000"});
  expect_in(message("a.npy", npy(">f8", "(1, 1)", pack_big<double>({1}))),
            {"byte 0", "big-endian values ('>f8'), wanted little-endian ones ('<f8')"});
}

TEST(Malformed, CsrHeads) {
  const auto csr = [](std::vector<std::int64_t> head) {
    return message("a.csr", csr_bytes(head, {0, 1}, {0}, {1}), FieldKind::kSparse);
  };
  EXPECT_EQ(csr({1, 1, 1}), "no error");
  expect_in(csr({-1, 1, 1}), {"byte 0", "found -1 rows"});
  expect_in(csr({1, 0, 1}), {"byte 8", "found 0 columns"});
  expect_in(csr({1, std::int64_t{1} << 32, 1}), {"byte 8", "found 4294967296 columns"});
  expect_in(csr({1, 1, -5}), {"byte 16", "found -5 entries"});
  expect_in(csr({1, 1, INT64_MAX}), {"byte 16", "entries"});
  expect_in(csr({2, 1, 1}), {"the file ends here"});
}

/// A file of rows {0, 2} and {1, 3} in 4 columns, with one number replaced.
std::string csr_message(std::vector<std::int64_t> indptr, std::vector<std::int32_t> indices) {
  return message("a.csr",
                 csr_bytes({static_cast<std::int64_t>(indptr.size()) - 1, 4, 4}, indptr, indices,
                           {1, 2, 3, 4}),
                 FieldKind::kSparse);
}

TEST(Malformed, SparseOffsets) {
  EXPECT_EQ(csr_message({0, 2, 4}, {0, 2, 1, 3}), "no error");
  expect_in(csr_message({1, 2, 4}, {0, 2, 1, 3}), {"row 0, byte 24", "found first offset 1"});
  expect_in(csr_message({0, -2, 4}, {0, 2, 1, 3}), {"row 0, byte 32", "found offset -2", "0 to 4"});
  expect_in(csr_message({0, 3, 2, 4}, {0, 1, 2, 3}),
            {"row 1, byte 40", "found offset 2", "3 to 4"});
  expect_in(csr_message({0, 5, 4}, {0, 2, 1, 3}), {"row 0, byte 32", "found offset 5"});
  expect_in(csr_message({0, 2, 3}, {0, 2, 1, 3}), {"row 1, byte 40", "found offset 3", "4, the"});
}

TEST(Malformed, SparseIndices) {
  expect_in(csr_message({0, 2, 4}, {0, 2, -1, 3}),
            {"row 1, byte 56", "found index -1, wanted 0 to"});
  expect_in(csr_message({0, 2, 4}, {0, 4, 1, 3}),
            {"row 0, byte 52", "found index 4, wanted 0 to 3"});
  // Readers do not fail for a row that has an index twice; callers may.
  EXPECT_EQ(csr_message({0, 1, 4}, {2, 3, 1, 3}), "no error");
  const TemporaryDirectory directory;
  const std::string path =
      directory.write("a.csr", csr_bytes({2, 4, 4}, {0, 1, 4}, {2, 3, 1, 3}, {1, 2, 3, 4}));
  expect_in(error_of(load_vectors(path, FieldKind::kSparse)),
            {"invalid_argument", "a.csr row 1: found index 3 twice, wanted each once"});
  EXPECT_TRUE(load_vectors(path, FieldKind::kSparse, {0, 1}));
}

TEST(Malformed, SetsWhoseFilesDisagree) {
  const TemporaryDirectory directory;
  const auto message_of = [&](const char* name, const std::string& bytes) {
    directory.write("s.indptr.npy", npy("<i8", "(2,)", pack<std::int64_t>({0, 1})));
    directory.write("s.indices.npy", npy("<i4", "(1,)", pack<int>({3})));
    directory.write("s.values.npy", npy("<f4", "(1,)", pack<float>({3})));
    directory.write(name, bytes);
    return error_of(read_source(directory.path("s"), FieldKind::kSparse));
  };
  expect_in(message_of("s.values.npy", npy("<f4", "(2,)", pack<float>({1, 2}))),
            {"found 2 values, wanted one for each of the 1"});
  expect_in(message_of("s.values.npy", npy("<f4", "(1, 1)", pack<float>({1}))), {"shape [1, 1]"});
  expect_in(message_of("s.indices.npy", npy("<f4", "(1,)", pack<float>({1}))),
            {"found f32, wanted integers"});
  expect_in(message_of("s.indices.npy", npy("<i8", "(1,)", pack<std::int64_t>({1LL << 32}))),
            {"found index 4294967296"});
  expect_in(message_of("s.indptr.npy", npy("<f8", "(2,)", pack<double>({0, 1}))),
            {"found f64 of shape [2], wanted integers of shape [rows + 1]"});
  expect_in(message_of("s.indptr.npy", npy("<i8", "(0,)", "")), {"wanted integers of shape"});
  expect_in(message_of("s.indptr.npy", npy("<i8", "(1,)", pack<std::int64_t>({0}))),
            {"found first offset 0 of 0 rows with 1 entries"});
}

TEST(Malformed, NamesThatSayNothing) {
  const TemporaryDirectory directory;
  expect_in(message("a.txt", "1 2 3"), {"invalid_argument", "no known format", ".npy"});
  expect_in(error_of(open_vectors(directory.path("none"), FieldKind::kSparse)),
            {"not_found", "none.indptr.npy"});
  expect_in(error_of(open_vectors(directory.path("none.npy"), FieldKind::kDense)), {"not_found"});
  const auto of_set = [&](FieldKind kind) {
    return error_of(open_vectors(directory.path("s"), kind));
  };
  directory.write("s.indptr.npy", npy("<i8", "(2,)", pack<std::int64_t>({0, 1})));
  expect_in(of_set(FieldKind::kDense), {"s: found ", "s.indptr.npy, of a set of sparse or multi"});
  expect_in(of_set(FieldKind::kSparse),
            {"s.indptr.npy, but not ", "s.indices.npy, which a set of"});
  expect_in(of_set(FieldKind::kMulti), {"s.indptr.npy, but not ", "s.values.npy, which a set of"});
  std::filesystem::rename(directory.path("s.indptr.npy"), directory.path("s.values.npy"));
  expect_in(of_set(FieldKind::kSparse), {"s.values.npy, but not ", "s.indptr.npy, which a set of"});
  std::filesystem::create_directory(directory.path("d.npy"));
  expect_in(error_of(open_vectors(directory.path("d.npy"), FieldKind::kDense)),
            {"is no regular file"});
}

// Memory is not allocated for sizes that only the header claims.
TEST(Malformed, HugeClaimsInCompressedFiles) {
  const TemporaryDirectory directory;
  const auto failure = [&](const std::string& name, const std::string& bytes, FieldKind kind) {
    return error_of(load_vectors(directory.write(name, compressed(bytes)), kind));
  };
  expect_in(failure("a.npy.zst", npy("<f4", "(1000000000, 1048576)", "1234"), FieldKind::kDense),
            {"data_loss", "row 0, byte 132"});
  expect_in(failure("a.fbin.zst", pack<std::uint32_t>({UINT32_MAX, 1000}), FieldKind::kDense),
            {"data_loss", "row 0, byte 8"});
  constexpr std::int64_t kMany = std::int64_t{1} << 47;
  expect_in(failure("a.csr.zst", csr_bytes({1, 9, kMany}, {0, kMany}, {1}, {}), FieldKind::kSparse),
            {"data_loss", "row 0, byte 44"});
  expect_in(failure("b.csr.zst", csr_bytes({kMany, 9, 0}, {0}, {}, {}), FieldKind::kSparse),
            {"data_loss", "byte 32"});
}

}  // namespace
}  // namespace quiver::dataset
