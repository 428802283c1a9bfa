#include "dataset/source_name.h"

#include <gtest/gtest.h>

namespace quiver::dataset {
namespace {

TEST(SourceName, FormatByEnding) {
  struct Case {
    std::string_view source;
    Format format;
    ValueType type = ValueType::kF32;
  };
  for (const Case& c : {Case{"a/b.npy", Format::kNpy},
                        {"x.fvecs", Format::kVecs},
                        {"x.ivecs.zst", Format::kVecs, ValueType::kI32},
                        {"x.bvecs.gz", Format::kVecs, ValueType::kU8},
                        {"x.fbin", Format::kBin},
                        {"x.u8bin", Format::kBin, ValueType::kU8},
                        {"x.i8bin", Format::kBin, ValueType::kI8},
                        {"x.ibin", Format::kBin, ValueType::kI32},
                        {"x.csr.gz", Format::kCsr},
                        {"train-images-idx3-ubyte.gz", Format::kIdx},
                        {"train-images.idx3-ubyte", Format::kIdx},
                        {"x.idx2", Format::kIdx},
                        {"x.idx", Format::kIdx},
                        {"idx3-ubyte", Format::kPrefix},
                        {"x.idx3x", Format::kPrefix},
                        {"x.idx/tokens", Format::kPrefix},
                        {"x.npy:train", Format::kPrefix},
                        {"DIR/sparse", Format::kPrefix},
                        {"", Format::kPrefix}}) {
    const SourceName name = parse_source(c.source);
    EXPECT_EQ(name.format, c.format) << c.source;
    EXPECT_EQ(name.type, c.type) << c.source;
    EXPECT_EQ(name.path, c.source);
    EXPECT_EQ(name.dataset, "") << c.source;
  }
}

TEST(SourceName, DataSetOfHdf5) {
  const SourceName train = parse_source("dir:1/x.hdf5.zst:train");
  EXPECT_EQ(train.format, Format::kHdf5);
  EXPECT_EQ(train.path, "dir:1/x.hdf5.zst");
  EXPECT_EQ(train.dataset, "train");
  const SourceName none = parse_source("x.h5");
  EXPECT_EQ(none.format, Format::kHdf5);
  EXPECT_EQ(none.path, "x.h5");
  EXPECT_EQ(none.dataset, "");
}

}  // namespace
}  // namespace quiver::dataset
