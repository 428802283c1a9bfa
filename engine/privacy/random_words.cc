#include "engine/privacy/random_words.h"

#include <openssl/crypto.h>
#include <openssl/rand.h>

#include <utility>

#include "base/check.h"

namespace quiver::engine {

SecureWords::~SecureWords() { OPENSSL_cleanse(words_.data(), sizeof(words_)); }

std::uint64_t SecureWords::next() {
  if (n_left_ == 0) {
    auto* bytes = reinterpret_cast<unsigned char*>(words_.data());
    QV_CHECK(RAND_bytes(bytes, static_cast<int>(sizeof(words_))) == 1);
    n_left_ = words_.size();
  }
  return std::exchange(words_[--n_left_], 0);  // noise is not kept longer than needed
}

}  // namespace quiver::engine
