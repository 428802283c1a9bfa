#include "storage/logs/rocksdb_status.h"

#include <gtest/gtest.h>
#include <rocksdb/status.h>

namespace quiver::storage {
namespace {

using rocksdb::Status;

Code code_of(const Status& status) { return to_error(status, "write to", "/data/s").code(); }

TEST(RocksDbStatus, CodesTellWhatTheCallerCanDo) {
  EXPECT_EQ(code_of(Status::Corruption("bad block")), Code::kDataLoss);
  EXPECT_EQ(code_of(Status::IOError("disk")), Code::kUnavailable);
  EXPECT_EQ(code_of(Status::Busy()), Code::kUnavailable);
  EXPECT_EQ(code_of(Status::InvalidArgument("x")), Code::kInternal);
  EXPECT_EQ(code_of(Status::NotSupported("in read only mode")), Code::kUnavailable);
  EXPECT_EQ(to_error(Status::InvalidArgument("options: IO error"), "open", "/data/s").code(),
            Code::kUnavailable);
}

TEST(RocksDbStatus, AFullDiskIsFoundByMarkOrByText) {
  EXPECT_EQ(code_of(Status::NoSpace("x")), Code::kResourceExhausted);
  EXPECT_EQ(code_of(Status::IOError("While appending", "Disk quota exceeded")),
            Code::kResourceExhausted);
  EXPECT_EQ(code_of(Status::IOError("later", "No space left on device")), Code::kResourceExhausted);
}

TEST(RocksDbStatus, TextsNameOperationAndPath) {
  const Error error = to_error(Status::IOError("disk"), "write to", "/data/s");
  EXPECT_EQ(error.message().substr(0, 26), "cannot write to `/data/s`:");
  EXPECT_TRUE(to_result(Status::OK(), "write to", "/data/s"));
  EXPECT_FALSE(to_result(Status::IOError("disk"), "write to", "/data/s"));
}

}  // namespace
}  // namespace quiver::storage
