// One small source of every format, made by hand.
#pragma once

#include <string>
#include <vector>

#include "tests/dataset/hdf5_file.h"
#include "tests/dataset/support.h"

namespace quiver::dataset {

/// Big-endian.
template <class T>
std::string pack_big(const std::vector<T>& values) {
  std::string bytes = pack(values);
  for (std::size_t i = 0; i < bytes.size(); i += sizeof(T)) {
    std::reverse(bytes.begin() + static_cast<std::ptrdiff_t>(i),
                 bytes.begin() + static_cast<std::ptrdiff_t>(i + sizeof(T)));
  }
  return bytes;
}

inline VectorBatch dense_rows(std::size_t n_rows, std::vector<float> values) {
  VectorBatch rows;
  rows.n_rows = n_rows;
  rows.values = std::move(values);
  return rows;
}

/// `[4, 3]` of one type: 0 to 11.
template <class T>
SourceCase npy_case(const std::string& name, const std::string& descr, ValueType type) {
  std::vector<T> values;
  std::vector<float> expected;
  for (int i = 0; i < 12; ++i) {
    values.push_back(static_cast<T>(i));
    expected.push_back(static_cast<float>(i));
  }
  const std::string file = "a.npy";
  return {"npy_" + name,
          FieldKind::kDense,
          type,
          file,
          {{file, npy(descr, "(4, 3)", pack(values))}},
          dense_rows(4, expected)};
}

inline std::vector<SourceCase> npy_cases() {
  auto half = npy_case<std::uint16_t>("f16", "<f2", ValueType::kF16);
  half.files["a.npy"] = npy("<f2", "(2, 2)", pack<std::uint16_t>({0x3c00, 0xc000, 0x3555, 0x7c00}));
  half.expected = dense_rows(2, {1, -2, 0.333251953125F, HUGE_VALF});
  auto negative = npy_case<std::int8_t>("i8", "|i1", ValueType::kI8);
  negative.files["a.npy"] = npy("|i1", "(2, 1)", pack<std::int8_t>({-128, 127}));
  negative.expected = dense_rows(2, {-128, 127});
  return {npy_case<float>("f32", "<f4", ValueType::kF32),
          npy_case<double>("f64", "<f8", ValueType::kF64),
          half,
          npy_case<std::uint8_t>("u8", "|u1", ValueType::kU8),
          negative,
          npy_case<std::int32_t>("i32", "<i4", ValueType::kI32),
          npy_case<std::int64_t>("i64", "<i8", ValueType::kI64)};
}

inline std::vector<SourceCase> other_dense_cases() {
  const VectorBatch rows = dense_rows(3, {1, 2, 3, 4, 5, 6});
  const std::string u8_rows = {1, 2, 3, 4, 5, 6};
  const auto one = [&](std::string name, ValueType type, const std::string& file, std::string bytes,
                       std::size_t row_bytes = 0) {
    return SourceCase{
        std::move(name), FieldKind::kDense, type, file, {{file, std::move(bytes)}}, rows,
        row_bytes};
  };
  const auto vecs_row = [](const std::string& values) { return pack<int>({2}) + values; };
  std::string fvecs, bvecs;
  for (int i = 1; i < 6; i += 2) {
    fvecs += vecs_row(pack({static_cast<float>(i), static_cast<float>(i + 1)}));
    bvecs += vecs_row({static_cast<char>(i), static_cast<char>(i + 1)});
  }
  const std::string bin_head = pack<std::uint32_t>({3, 2});
  const auto idx_head = [](char type, const std::vector<std::uint32_t>& shape) {
    return std::string{0, 0, type, static_cast<char>(shape.size())} + pack_big(shape);
  };
  return {
      one("fvecs", ValueType::kF32, "a.fvecs", fvecs, 12),
      one("ivecs", ValueType::kI32, "a.ivecs", pack<int>({2, 1, 2, 2, 3, 4, 2, 5, 6}), 12),
      one("bvecs", ValueType::kU8, "a.bvecs", bvecs, 6),
      one("fbin", ValueType::kF32, "a.fbin", bin_head + pack<float>({1, 2, 3, 4, 5, 6})),
      one("u8bin", ValueType::kU8, "a.u8bin", bin_head + u8_rows),
      one("ibin", ValueType::kI32, "a.ibin", bin_head + pack<int>({1, 2, 3, 4, 5, 6})),
      one("i8bin", ValueType::kI8, "a.i8bin", bin_head + u8_rows),
      one("idx_u8", ValueType::kU8, "a-idx3-ubyte", idx_head(8, {3, 1, 2}) + u8_rows),
      one("idx_i16", ValueType::kI16, "a.idx2",
          idx_head(0x0b, {3, 2}) + pack_big<std::int16_t>({1, 2, 3, 4, 5, 6})),
      one("idx_f32", ValueType::kF32, "a.idx",
          idx_head(0x0d, {3, 2}) + pack_big<float>({1, 2, 3, 4, 5, 6})),
      one("idx_f64", ValueType::kF64, "a.idx2-double",
          idx_head(0x0e, {3, 2}) + pack_big<double>({1, 2, 3, 4, 5, 6})),
  };
}

/// Rows: {1: .5, 7: 2}, {}, {0: -1}, {3: 4, 4: 5, 5: 6}.
inline VectorBatch sparse_rows() {
  VectorBatch rows;
  rows.n_rows = 4;
  rows.offsets = {0, 2, 2, 3, 6};
  rows.indices = {1, 7, 0, 3, 4, 5};
  rows.values = {0.5F, 2, -1, 4, 5, 6};
  return rows;
}

inline std::string csr_bytes(const std::vector<std::int64_t>& head,
                             const std::vector<std::int64_t>& indptr,
                             const std::vector<std::int32_t>& indices,
                             const std::vector<float>& values) {
  return pack(head) + pack(indptr) + pack(indices) + pack(values);
}

inline std::vector<SourceCase> set_cases() {
  SourceCase csr{"csr", FieldKind::kSparse, ValueType::kF32, "a.csr", {}, sparse_rows()};
  csr.files["a.csr"] =
      csr_bytes({4, 8, 6}, {0, 2, 2, 3, 6}, {1, 7, 0, 3, 4, 5}, {0.5F, 2, -1, 4, 5, 6});
  SourceCase set{"npy_sparse", FieldKind::kSparse, ValueType::kF32, "s", {}, sparse_rows()};
  set.files = {{"s.indptr.npy", npy("<i8", "(5,)", pack<std::int64_t>({0, 2, 2, 3, 6}))},
               {"s.indices.npy", npy("<i4", "(6,)", pack<std::int32_t>({1, 7, 0, 3, 4, 5}))},
               {"s.values.npy", npy("<f4", "(6,)", pack<float>({0.5F, 2, -1, 4, 5, 6}))}};
  SourceCase small{"npy_sparse_small", FieldKind::kSparse, ValueType::kF16, "s", {}, sparse_rows()};
  small.files = {
      {"s.indptr.npy", npy("<u8", "(5,)", pack<std::uint64_t>({0, 2, 2, 3, 6}))},
      {"s.indices.npy", npy("<u2", "(6,)", pack<std::uint16_t>({1, 7, 0, 3, 4, 5}))},
      {"s.values.npy",
       npy("<f2", "(6,)", pack<std::uint16_t>({0x3800, 0x4000, 0xbc00, 0x4400, 0x4500, 0x4600}))}};
  VectorBatch tokens = dense_rows(4, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12});
  tokens.offsets = {0, 2, 2, 3, 6};
  SourceCase multi{"npy_multi", FieldKind::kMulti, ValueType::kU8, "t", {}, tokens};
  multi.files = {{"t.indptr.npy", npy("<i4", "(5,)", pack<std::int32_t>({0, 2, 2, 3, 6}))},
                 {"t.values.npy", npy("|u1", "(6, 2)", {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12})}};
  return {csr, set, small, multi};
}

/// A file written by the library; any bytes may follow its data.
inline SourceCase hdf5_case() {
  const TemporaryDirectory directory;
  write_hdf5(directory.path("a.hdf5"), "train", {3, 2}, H5T_IEEE_F64BE, H5T_NATIVE_FLOAT,
             std::vector<float>{1, 2, 3, 4, 5, 6}.data());
  SourceCase source{"hdf5", FieldKind::kDense, ValueType::kF64, "a.hdf5:train", {}, {}};
  source.files["a.hdf5"] = read_file(directory.path("a.hdf5"));
  source.expected = dense_rows(3, {1, 2, 3, 4, 5, 6});
  source.may_be_followed = true;
  return source;
}

inline std::vector<SourceCase> all_cases() {
  std::vector<SourceCase> cases = npy_cases();
  for (auto& more : other_dense_cases()) cases.push_back(std::move(more));
  for (auto& more : set_cases()) cases.push_back(std::move(more));
  cases.push_back(hdf5_case());
  return cases;
}

/// Name of a source whose files have this ending.
inline std::string packed_source(const std::string& source, const std::string& ending = ".zst") {
  if (source == "s" || source == "t") return source;
  const std::size_t colon = std::min(source.find(':'), source.size());
  return source.substr(0, colon) + ending + source.substr(colon);
}

}  // namespace quiver::dataset
