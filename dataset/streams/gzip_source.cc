#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <vector>

#include "dataset/streams/byte_source.h"

namespace quiver::dataset {
namespace {

constexpr std::size_t kInputBytes = std::size_t{1} << 16;
constexpr std::size_t kMaxOutputBytes = std::size_t{1} << 30;  // zlib counts in 32 bits
constexpr int kGzipOnly = 15 + 16;                             // largest window, gzip header

/// Gzip data of one or several members.
class GzipSource final : public ByteSource {
 public:
  explicit GzipSource(std::unique_ptr<ByteSource> file)
      : ByteSource(file->path()), file_(std::move(file)), buffer_(kInputBytes) {}
  ~GzipSource() override { inflateEnd(&stream_); }

  Result<> init() {
    if (inflateInit2(&stream_, kGzipOnly) == Z_OK) return {};
    return fail(Code::kResourceExhausted, "no memory for decompression");
  }

  std::optional<std::uint64_t> size() const override { return std::nullopt; }

  Result<std::size_t> read(std::span<std::byte> out) override {
    std::size_t n_read = 0;
    while (n_read < out.size()) {
      QV_TRY(const bool has_more, refill());
      if (!has_more) break;
      QV_TRY(const std::size_t n, step(out.subspan(n_read)));
      n_read += n;
    }
    position_ += n_read;
    return n_read;
  }

 private:
  /// Returns false at the end.
  Result<bool> refill() {
    if (stream_.avail_in > 0) return true;
    QV_TRY(const std::size_t n, file_->read(buffer_));
    stream_.next_in = reinterpret_cast<Bytef*>(buffer_.data());
    stream_.avail_in = static_cast<uInt>(n);
    if (n > 0 || has_ended_) return n > 0;
    return fail(Code::kDataLoss, fmt::format("{}: byte {}: the file ends within compressed data",
                                             path(), file_->position()));
  }

  Result<std::size_t> step(std::span<std::byte> out) {
    if (has_ended_) inflateReset(&stream_);
    const auto n_wanted = static_cast<uInt>(std::min(out.size(), kMaxOutputBytes));
    stream_.next_out = reinterpret_cast<Bytef*>(out.data());
    stream_.avail_out = n_wanted;
    const int result = inflate(&stream_, Z_NO_FLUSH);
    has_ended_ = result == Z_STREAM_END;
    if (result == Z_OK || has_ended_) return n_wanted - stream_.avail_out;
    const bool is_other = position_ == 0 && stream_.total_out == 0;
    return fail(is_other ? Code::kInvalidArgument : Code::kDataLoss,
                fmt::format("{}: byte {}: wanted gzip data, found: {}", path(),
                            file_->position() - stream_.avail_in,
                            stream_.msg != nullptr ? stream_.msg : zError(result)));
  }

  std::unique_ptr<ByteSource> file_;
  std::vector<std::byte> buffer_;
  z_stream stream_ = {};
  bool has_ended_ = false;  ///< the current member has ended, and perhaps the file
};

}  // namespace

Result<std::unique_ptr<ByteSource>> gunzipped(std::unique_ptr<ByteSource> compressed) {
  auto source = std::make_unique<GzipSource>(std::move(compressed));
  QV_TRY(source->init());
  return source;
}

}  // namespace quiver::dataset
