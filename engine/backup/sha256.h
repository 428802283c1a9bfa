// SHA-256 of bytes that arrive in pieces.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

namespace quiver::engine {

class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(Sha256&&) noexcept;
  Sha256& operator=(Sha256&&) noexcept;

  void update(std::span<const std::byte> bytes);
  /// 64 hexadecimal digits. Call it once, at the end.
  [[nodiscard]] std::string hex();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace quiver::engine
