#include <fmt/format.h>
#include <zstd.h>

#include "dataset/streams/byte_sink.h"

namespace quiver::dataset {
namespace {

constexpr int kCompressionLevel = 3;

struct FreeContext {
  void operator()(ZSTD_CCtx* context) const { ZSTD_freeCCtx(context); }
};

/// Writes one frame with a checksum.
class ZstdSink final : public ByteSink {
 public:
  ZstdSink(std::unique_ptr<ByteSink> file, ZSTD_CCtx* context)
      : file_(std::move(file)), context_(context), out_(ZSTD_CStreamOutSize()) {}

  Result<> append(std::span<const std::byte> bytes) override {
    ZSTD_inBuffer input = {bytes.data(), bytes.size(), 0};
    while (input.pos < input.size) QV_TRY(step(input, ZSTD_e_continue));
    return {};
  }

  Result<> finish() override {
    ZSTD_inBuffer input = {nullptr, 0, 0};
    for (bool has_more = true; has_more;) {
      QV_TRY(has_more, step(input, ZSTD_e_end));
    }
    return file_->finish();
  }

 private:
  /// Returns true if more output is pending.
  Result<bool> step(ZSTD_inBuffer& input, ZSTD_EndDirective directive) {
    ZSTD_outBuffer output = {out_.data(), out_.size(), 0};
    const std::size_t n_left = ZSTD_compressStream2(context_.get(), &output, &input, directive);
    if (ZSTD_isError(n_left)) {
      return fail(Code::kInternal, fmt::format("zstd: {}", ZSTD_getErrorName(n_left)));
    }
    QV_TRY(file_->append(std::span(out_).first(output.pos)));
    return n_left > 0;
  }

  std::unique_ptr<ByteSink> file_;
  std::unique_ptr<ZSTD_CCtx, FreeContext> context_;
  std::vector<std::byte> out_;
};

}  // namespace

Result<std::unique_ptr<ByteSink>> compressing(std::unique_ptr<ByteSink> file) {
  ZSTD_CCtx* context = ZSTD_createCCtx();
  if (context == nullptr) return fail(Code::kResourceExhausted, "no memory for compression");
  ZSTD_CCtx_setParameter(context, ZSTD_c_compressionLevel, kCompressionLevel);
  ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1);
  return std::make_unique<ZstdSink>(std::move(file), context);
}

}  // namespace quiver::dataset
