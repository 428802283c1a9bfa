// Random words for noise that protects.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace quiver::engine {

/// Uniform words, independent of one another. One thread.
class RandomWords {
 public:
  virtual ~RandomWords() = default;
  virtual std::uint64_t next() = 0;

 protected:
  RandomWords() = default;
  RandomWords(const RandomWords&) = default;
  RandomWords& operator=(const RandomWords&) = default;
};

/// From OpenSSL's generator, which the system seeds. The process ends if that has no randomness:
/// nothing may be released then.
class SecureWords final : public RandomWords {
 public:
  SecureWords() = default;
  ~SecureWords() override;
  SecureWords(const SecureWords&) = delete;
  SecureWords& operator=(const SecureWords&) = delete;

  std::uint64_t next() override;

 private:
  static constexpr std::size_t kWordsPerCall = 512;
  std::array<std::uint64_t, kWordsPerCall> words_{};
  std::size_t n_left_ = 0;
};

}  // namespace quiver::engine
