// Features of HDF5 only: several data sets in a file, types that the library converts.
#include "dataset/formats/hdf5.h"

#include <gtest/gtest.h>

#include "tests/dataset/hdf5_file.h"
#include "tests/dataset/support.h"

namespace quiver::dataset {
namespace {

class Hdf5Test : public testing::Test {
 protected:
  [[nodiscard]] std::string path() const { return directory_.path("a.hdf5"); }
  template <class T>
  void add(const std::string& name, const std::vector<hsize_t>& shape, hid_t file_type,
           hid_t memory_type, const std::vector<T>& values, hid_t properties = H5P_DEFAULT) const {
    write_hdf5(path(), name, shape, file_type, memory_type, values.data(), properties);
  }
  [[nodiscard]] std::string failure(const std::string& source) const {
    return error_of(load_vectors(source, FieldKind::kDense));
  }

  TemporaryDirectory directory_;
};

TEST_F(Hdf5Test, LayoutOfAnnBenchmarks) {
  add<float>("train", {3, 2}, H5T_IEEE_F32LE, H5T_NATIVE_FLOAT, {1, 2, 3, 4, 5, 6});
  add<float>("test", {1, 2}, H5T_IEEE_F32LE, H5T_NATIVE_FLOAT, {7, 8});
  add<int>("neighbors", {1, 3}, H5T_STD_I32LE, H5T_NATIVE_INT, {2, 1, 0});
  const auto test = load_vectors(path() + ":test", FieldKind::kDense);
  ASSERT_TRUE(test) << error_of(test);
  EXPECT_EQ(test->batch.values, (std::vector<float>{7, 8}));
  for (const auto& source : {path(), path() + ":neighbors", directory_.path("b.h5.zst")}) {
    directory_.write("b.h5.zst", compressed(read_file(path())));
    const auto neighbours = load_neighbours(source);
    ASSERT_TRUE(neighbours) << error_of(neighbours);
    EXPECT_EQ(neighbours->k, 3U);
    EXPECT_EQ(neighbours->ids, (std::vector<std::int64_t>{2, 1, 0}));
  }
}

TEST_F(Hdf5Test, TypesAndStorage) {
  add<int>("u8", {2, 1}, H5T_STD_U8LE, H5T_NATIVE_INT, {0, 255});
  add<int>("i8", {2, 1}, H5T_STD_I8LE, H5T_NATIVE_INT, {-128, 127});
  add<int>("i32", {2, 1}, H5T_STD_I32BE, H5T_NATIVE_INT, {-5, 1 << 20});
  const hid_t chunks = H5Pcreate(H5P_DATASET_CREATE);
  const hsize_t chunk[] = {1, 1};
  H5Pset_chunk(chunks, 2, chunk);
  H5Pset_deflate(chunks, 1);
  add<float>("deflated", {2, 2}, H5T_IEEE_F32LE, H5T_NATIVE_FLOAT, {1, 2, 3, 4}, chunks);
  H5Pclose(chunks);
  const auto expect_values = [&](const char* name, ValueType type, std::vector<float> values) {
    const auto vectors = load_vectors(path() + ":" + name, FieldKind::kDense);
    ASSERT_TRUE(vectors) << error_of(vectors);
    EXPECT_EQ(vectors->shape.type, type);
    EXPECT_EQ(vectors->batch.values, values);
  };
  expect_values("u8", ValueType::kU8, {0, 255});
  expect_values("i8", ValueType::kI8, {-128, 127});
  expect_values("i32", ValueType::kI32, {-5, 1 << 20});
  expect_values("deflated", ValueType::kF32, {1, 2, 3, 4});
}

TEST_F(Hdf5Test, ReadersOfOneFileDoNotDisturbEachOther) {
  add<float>("train", {3, 1}, H5T_IEEE_F32LE, H5T_NATIVE_FLOAT, {1, 2, 3});
  const auto a = open_vectors(path() + ":train", FieldKind::kDense);
  auto b = open_vectors(path() + ":train", FieldKind::kDense);
  ASSERT_TRUE(a && b);
  VectorBatch batch;
  ASSERT_TRUE((*a)->skip_to(2) && (*b)->read(1, batch));
  EXPECT_EQ(batch.values, (std::vector<float>{1}));
  b->reset();
  ASSERT_TRUE((*a)->read(5, batch));
  EXPECT_EQ(batch.values, (std::vector<float>{3}));
}

TEST_F(Hdf5Test, DataSetsThatAreNoVectors) {
  add<float>("list", {2}, H5T_IEEE_F32LE, H5T_NATIVE_FLOAT, {1, 2});
  add<float>("empty", {2, 0}, H5T_IEEE_F32LE, H5T_NATIVE_FLOAT, {});
  const hid_t text = H5Tcopy(H5T_C_S1);
  add<char>("text", {1, 2}, text, text, {'a', 'b'});
  H5Tclose(text);
  const auto expect_in = [](const std::string& found, const char* part) {
    EXPECT_NE(found.find(part), std::string::npos) << found;
  };
  expect_in(failure(path()), "invalid_argument");
  expect_in(failure(path()), "wanted FILE:DATASET with one of: empty, list, text");
  expect_in(failure(path() + ":train"), "not_found");
  expect_in(failure(path() + ":train"), "found no data set `train`");
  expect_in(failure(path() + ":list"), "found f32 of shape [2], wanted numbers of shape");
  expect_in(failure(path() + ":text"), "found other things of shape [1, 2]");
  expect_in(failure(path() + ":empty"), "found dimension 0");
  expect_in(failure(directory_.path("none.hdf5:train")), "not_found");
  expect_in(error_of(load_neighbours(path() + ":list")), "invalid_argument");
  add<float>("floats", {1, 1}, H5T_IEEE_F32LE, H5T_NATIVE_FLOAT, {1});
  expect_in(error_of(load_neighbours(path() + ":floats")), "found f32 of shape [1, 1], wanted int");
}

/// HDF5 2.0 writes layout messages of version 5; here the message of an old file says 9.
TEST_F(Hdf5Test, FormatsOfNewerLibraries) {
  add<float>("train", {3, 2}, H5T_IEEE_F32LE, H5T_NATIVE_FLOAT, {1, 2, 3, 4, 5, 6});
  std::string bytes = read_file(path());
  const std::string layout({3, 1});  // version 3, contiguous, after a head of type 8
  std::size_t at = bytes.find(std::string({8, 0}));
  while (at != std::string::npos && bytes.substr(at + 8, 2) != layout) {
    at = bytes.find(std::string({8, 0}), at + 1);
  }
  ASSERT_NE(at, std::string::npos);
  bytes[at + 8] = 9;
  directory_.write("new.hdf5", bytes);
  const std::string dataset = failure(directory_.path("new.hdf5:train"));
  EXPECT_NE(dataset.find("new.hdf5:train: cannot be read by the HDF5 library 1."),
            std::string::npos)
      << dataset;
  EXPECT_NE(dataset.find("libver='v110'"), std::string::npos) << dataset;
  std::string superblock = read_file(path());
  superblock[8] = 77;
  directory_.write("newer.hdf5", superblock);
  const std::string file = failure(directory_.path("newer.hdf5:train"));
  EXPECT_NE(file.find("newer.hdf5: cannot be read by the HDF5 library 1."), std::string::npos)
      << file;
}

}  // namespace
}  // namespace quiver::dataset
