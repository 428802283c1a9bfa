// HDF5 files written with the library.
#pragma once

#include <gtest/gtest.h>
#include <hdf5.h>

#include <filesystem>
#include <string>
#include <vector>

namespace quiver::dataset {

/// Adds a data set to the file at `path`, which is created if there is none.
inline void write_hdf5(const std::string& path, const std::string& name,
                       const std::vector<hsize_t>& shape, hid_t file_type, hid_t memory_type,
                       const void* values, hid_t properties = H5P_DEFAULT) {
  const hid_t file = std::filesystem::exists(path)
                         ? H5Fopen(path.c_str(), H5F_ACC_RDWR, H5P_DEFAULT)
                         : H5Fcreate(path.c_str(), H5F_ACC_EXCL, H5P_DEFAULT, H5P_DEFAULT);
  const hid_t space = H5Screate_simple(static_cast<int>(shape.size()), shape.data(), nullptr);
  const hid_t dataset =
      H5Dcreate2(file, name.c_str(), file_type, space, H5P_DEFAULT, properties, H5P_DEFAULT);
  EXPECT_GE(H5Dwrite(dataset, memory_type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values), 0);
  H5Dclose(dataset);
  H5Sclose(space);
  H5Fclose(file);
}

}  // namespace quiver::dataset
