#include <fmt/format.h>
#include <zstd.h>
#include <zstd_errors.h>

#include <vector>

#include "dataset/streams/byte_source.h"

namespace quiver::dataset {
namespace {

// The format's largest window (2 GiB), so that files of `zstd --long` can be read.
constexpr int kWindowLogMax = 31;

struct FreeStream {
  void operator()(ZSTD_DStream* stream) const { ZSTD_freeDStream(stream); }
};

class ZstdSource final : public ByteSource {
 public:
  ZstdSource(std::unique_ptr<ByteSource> file, ZSTD_DStream* stream)
      : ByteSource(file->path()),
        file_(std::move(file)),
        stream_(stream),
        buffer_(ZSTD_DStreamInSize()) {}

  std::optional<std::uint64_t> size() const override { return std::nullopt; }

  Result<std::size_t> read(std::span<std::byte> out) override {
    ZSTD_outBuffer output = {out.data(), out.size(), 0};
    while (output.pos < output.size) {
      QV_TRY(const bool has_more, step(output));
      if (!has_more) break;
    }
    position_ += output.pos;
    return output.pos;
  }

 private:
  /// Returns false at the end.
  Result<bool> step(ZSTD_outBuffer& output) {
    if (input_.pos == input_.size) QV_TRY(refill());
    const bool at_end = input_.size == 0;
    if (at_end && n_missing_ == 0) return false;
    const std::size_t before = output.pos;
    const std::size_t result = ZSTD_decompressStream(stream_.get(), &output, &input_);
    if (ZSTD_isError(result)) return fail(damaged(result));
    n_missing_ = result;
    if (at_end && output.pos == before && n_missing_ != 0) {
      return fail(Code::kDataLoss,
                  fmt::format("{}: byte {}: the file ends within compressed data, {} bytes of "
                              "decompressed data were found",
                              path(), file_->position(), position_ + output.pos));
    }
    return true;
  }

  Result<> refill() {
    QV_TRY(const std::size_t n, file_->read(buffer_));
    input_ = {buffer_.data(), n, 0};
    return {};
  }

  Error damaged(std::size_t result) const {
    const std::uint64_t offset = file_->position() - (input_.size - input_.pos);
    const bool is_other = ZSTD_getErrorCode(result) == ZSTD_error_prefix_unknown;
    return Error(is_other ? Code::kInvalidArgument : Code::kDataLoss,
                 fmt::format("{}: byte {}: wanted zstd data, found: {}", path(), offset,
                             ZSTD_getErrorName(result)));
  }

  std::unique_ptr<ByteSource> file_;
  std::unique_ptr<ZSTD_DStream, FreeStream> stream_;
  std::vector<std::byte> buffer_;
  ZSTD_inBuffer input_ = {nullptr, 0, 0};
  std::size_t n_missing_ = 1;  ///< bytes that the current frame still needs; 0 between frames
};

}  // namespace

Result<std::unique_ptr<ByteSource>> unzstd(std::unique_ptr<ByteSource> compressed) {
  ZSTD_DStream* stream = ZSTD_createDStream();
  if (stream == nullptr) return fail(Code::kResourceExhausted, "no memory for decompression");
  ZSTD_DCtx_setParameter(stream, ZSTD_d_windowLogMax, kWindowLogMax);
  return std::make_unique<ZstdSource>(std::move(compressed), stream);
}

}  // namespace quiver::dataset
