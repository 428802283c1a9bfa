#include "payload/filter/slice.h"

#include <bit>

namespace quiver::payload {
namespace {

/// SipHash-2-4 over whole 64-bit words, keys zero. Names as in the paper.
class SipHash {
 public:
  void add(std::uint64_t word) {
    v3_ ^= word;
    round();
    round();
    v0_ ^= word;
    n_bytes_ += 8;
  }
  std::uint64_t finish() {
    add(n_bytes_ << 56);  // the last word holds the length modulo 256 in its top byte
    v2_ ^= 0xff;
    for (int i = 0; i < 4; ++i) round();
    return v0_ ^ v1_ ^ v2_ ^ v3_;
  }

 private:
  void round() {
    v0_ += v1_;
    v1_ = std::rotl(v1_, 13) ^ v0_;
    v0_ = std::rotl(v0_, 32);
    v2_ += v3_;
    v3_ = std::rotl(v3_, 16) ^ v2_;
    v0_ += v3_;
    v3_ = std::rotl(v3_, 21) ^ v0_;
    v2_ += v1_;
    v1_ = std::rotl(v1_, 17) ^ v2_;
    v2_ = std::rotl(v2_, 32);
  }

  std::uint64_t v0_ = 0x736f6d6570736575;
  std::uint64_t v1_ = 0x646f72616e646f6d;
  std::uint64_t v2_ = 0x6c7967656e657261;
  std::uint64_t v3_ = 0x7465646279746573;
  std::uint64_t n_bytes_ = 0;
};

}  // namespace

std::uint64_t slice_hash(const PointId& id) {
  SipHash hash;
  if (id.kind() == PointId::Kind::kUuid) {
    hash.add(__builtin_bswap64(id.high()));
    hash.add(__builtin_bswap64(id.low()));
  } else {
    hash.add(id.low());
  }
  return hash.finish();
}

bool is_in_slice(const Slice& slice, const PointId& id) {
  return slice_hash(id) % slice.total == slice.index;
}

}  // namespace quiver::payload
