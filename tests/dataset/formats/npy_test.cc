// Headers of .npy files, and conversion of odd values.
#include <gtest/gtest.h>

#include <cmath>

#include "dataset/formats/array_stream.h"
#include "tests/dataset/support.h"

namespace quiver::dataset {
namespace {

class NpyTest : public testing::Test {
 protected:
  std::string message(const std::string& bytes) {
    return error_of(load_vectors(directory_.write("a.npy", bytes), FieldKind::kDense));
  }
  /// A version-1 file with this header text.
  static std::string with_header(const std::string& header, const std::string& data) {
    const char head[] = {'\x93', 'N', 'U', 'M', 'P', 'Y', 1, 0, static_cast<char>(header.size()),
                         0};
    return std::string(head, sizeof(head)) + header + data;
  }

  TemporaryDirectory directory_;
};

TEST_F(NpyTest, HeadersInOtherHands) {
  const std::string data = pack<float>({1, 2});
  const auto load = [&](const std::string& bytes) {
    const auto vectors = load_vectors(directory_.write("a.npy", bytes), FieldKind::kDense);
    ASSERT_TRUE(vectors) << error_of(vectors);
    EXPECT_EQ(vectors->batch.values, (std::vector<float>{1, 2}));
    EXPECT_EQ(vectors->shape.dim, 2U);
  };
  load(with_header("{'descr':'<f4','fortran_order':False,'shape':(1,2)}", data));
  load(with_header("{\"shape\": (1L, 2L), \"descr\": \"<f4\", \"fortran_order\": False}\n", data));
  load(
      with_header("{ 'shape' : ( 1 , 2 , ) , 'fortran_order' : False , 'descr' : '<f4' , }", data));
  std::string second = with_header("{'descr':'<f4','fortran_order':False,'shape':(1,2)}", data);
  second[6] = 2;
  second.insert(10, 2, '\0');
  load(second);
  second[6] = 3;
  load(second);
}

TEST_F(NpyTest, HeadersThatAreNone) {
  std::string data = pack<float>({1, 2});
  const auto bad = [&](const std::string& header, const std::string& part) {
    const std::string text = message(with_header(header, data));
    EXPECT_NE(text.find("invalid_argument"), std::string::npos) << text;
    EXPECT_NE(text.find("byte 0"), std::string::npos) << text;
    EXPECT_NE(text.find(part), std::string::npos) << text;
  };
  bad("{'descr':'>f4','fortran_order':False,'shape':(1,2)}", "big-endian values ('>f4')");
  bad("{'descr':'<f4','fortran_order':True,'shape':(1,2)}", "Fortran order, wanted C order");
  bad("{'descr':'<f4','fortran_order':None,'shape':(1,2)}", "fortran_order None");
  bad("{'descr':'<c8','fortran_order':False,'shape':(1,2)}", "values of type '<c8'");
  bad("{'descr':'|O','fortran_order':False,'shape':(1,2)}", "values of type '|O'");
  bad("{'descr':[('a','<f4')],'fortran_order':False,'shape':(1,2)}", "a plain type");
  bad("{'descr':'<f4','fortran_order':False,'shape':(-1,2)}", "found shape (-1,2)");
  bad("{'descr':'<f4','fortran_order':False,'shape':(1 2)}", "found shape (1 2)");
  bad("{'descr':'<f4','fortran_order':False,'shape':(99999999999999999999,2)}", "found shape (9");
  bad("{'descr':'<f4','fortran_order':False,'shape':(4294967296,4294967296)}", "no file holds");
  bad("{'descr':'<f4','fortran_order':False,'shape':(2,)}", "found shape [2], wanted [rows, dim");
  bad("{'descr':'<f4','fortran_order':False,'shape':(1,1,2)}", "found shape [1, 1, 2]");
  bad("{'descr':'<f4','fortran_order':False}", "header keys [descr, fortran_order]");
  bad("{'descr':'<f4','descr':'<f4','fortran_order':False,'shape':(1,2)}", "header keys");
  bad("{'descr':'<f4','other':False,'shape':(1,2)}", "found 'other'");
  bad("{'descr':'<f4','fortran_order':False,'shape':(1,2)", "does not end");
  bad("", "wanted a dictionary");
  data.resize(4);
  bad("{'descr':'<f4','fortran_order':False,'shape':()}", "found shape []");
  data.clear();
  bad("{'descr':'<f4','fortran_order':False,'shape':(2,0)}", "found shape [2, 0]");
  std::string version = with_header("{}", data);
  version[6] = 9;
  EXPECT_NE(message(version).find("version 9"), std::string::npos);
}

TEST_F(NpyTest, NumbersThatAreNoneAndInfinitePassThrough) {
  const std::string bytes = npy("<f8", "(1, 4)", pack<double>({NAN, INFINITY, -1e300, -INFINITY}));
  const auto vectors = load_vectors(directory_.write("a.npy", bytes), FieldKind::kDense);
  ASSERT_TRUE(vectors);
  EXPECT_TRUE(std::isnan(vectors->batch.values[0]));
  EXPECT_EQ(vectors->batch.values[1], INFINITY);
  EXPECT_EQ(vectors->batch.values[2], -INFINITY);
  EXPECT_EQ(vectors->batch.values[3], -INFINITY);
}

TEST_F(NpyTest, NoRows) {
  const auto vectors =
      load_vectors(directory_.write("a.npy", npy("<f4", "(0, 7)", "")), FieldKind::kDense);
  ASSERT_TRUE(vectors) << error_of(vectors);
  EXPECT_EQ(vectors->n_rows(), 0U);
  EXPECT_EQ(vectors->shape.dim, 7U);
}

TEST_F(NpyTest, SizesAreCheckedAtOpening) {
  const auto cut = open_vectors(
      directory_.write("a.npy", npy("<f4", "(3, 2)", pack<float>({1, 2, 3}))), FieldKind::kDense);
  EXPECT_EQ(error_of(cut), "data_loss: " + directory_.path("a.npy") +
                               ": row 1, byte 140: the file ends here, wanted 152 bytes");
}

TEST_F(NpyTest, MoreValuesThanOneChunk) {
  std::vector<std::uint16_t> halves(100003 * 3);
  for (std::size_t i = 0; i < halves.size(); ++i) {
    halves[i] = static_cast<std::uint16_t>(i * 7 % 0x7c00);
  }
  const std::string bytes = npy("<f2", "(100003, 3)", pack(halves));
  const auto plain = load_vectors(directory_.write("a.npy", bytes), FieldKind::kDense);
  const auto zst =
      load_vectors(directory_.write("a.npy.zst", compressed(bytes)), FieldKind::kDense);
  const auto gz = load_vectors(directory_.write("a.npy.gz", gzipped(bytes)), FieldKind::kDense);
  ASSERT_TRUE(plain && zst && gz);
  std::vector<float> expected(halves.size());
  to_f32(ValueType::kF16, reinterpret_cast<const std::byte*>(halves.data()), expected);
  EXPECT_TRUE(plain->batch.values == expected);
  EXPECT_TRUE(zst->batch.values == expected);
  EXPECT_TRUE(gz->batch.values == expected);
}

// `zstd --long=27` and beyond: the window is larger than what decoders allow by default.
TEST_F(NpyTest, LongWindows) {
  const std::string bytes = npy("<f4", "(1, 2)", pack<float>({1, 2}));
  ZSTD_CCtx* context = ZSTD_createCCtx();
  ZSTD_CCtx_setParameter(context, ZSTD_c_windowLog, 30);
  ZSTD_CCtx_setParameter(context, ZSTD_c_contentSizeFlag, 0);
  std::string out(1024, '\0');
  ZSTD_inBuffer input = {bytes.data(), bytes.size(), 0};
  ZSTD_outBuffer output = {out.data(), out.size(), 0};
  ASSERT_EQ(ZSTD_compressStream2(context, &output, &input, ZSTD_e_flush), 0U);
  ASSERT_EQ(ZSTD_compressStream2(context, &output, &input, ZSTD_e_end), 0U);
  ZSTD_freeCCtx(context);
  out.resize(output.pos);
  const auto vectors = load_vectors(directory_.write("a.npy.zst", out), FieldKind::kDense);
  ASSERT_TRUE(vectors) << error_of(vectors);
  EXPECT_EQ(vectors->batch.values, (std::vector<float>{1, 2}));
}

TEST_F(NpyTest, SeveralFramesAreOneFile) {
  const std::string bytes = npy("<f4", "(1, 2)", pack<float>({1, 2}));
  const std::string skippable = pack<std::uint32_t>({0x184D2A50, 3}) + "abc";
  const std::string frames =
      compressed(bytes.substr(0, 50)) + skippable + compressed("") + compressed(bytes.substr(50));
  const std::string members =
      gzipped(bytes.substr(0, 50)) + gzipped("") + gzipped(bytes.substr(50));
  for (const auto& path :
       {directory_.write("a.npy.zst", frames), directory_.write("a.npy.gz", members)}) {
    const auto vectors = load_vectors(path, FieldKind::kDense);
    ASSERT_TRUE(vectors) << error_of(vectors);
    EXPECT_EQ(vectors->batch.values, (std::vector<float>{1, 2}));
  }
}

}  // namespace
}  // namespace quiver::dataset
