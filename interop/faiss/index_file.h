// A file of FAISS as a list of vectors with ids.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "base/result.h"
#include "base/schema.h"

namespace faiss {
struct Index;
}

namespace quiver::interop {

/// What a file of FAISS holds.
struct FaissFacts {
  std::string type;  ///< FAISS's classes from outside to inside: "IDMap, IVFFlat"
  std::uint32_t dim = 0;
  std::uint64_t n_vectors = 0;
  Metric metric = Metric::kEuclid;
  /// True if the vectors are those that were added, bit for bit; otherwise they are what the
  /// index's codes stand for.
  bool is_lossless = false;
};

/// An index in memory. One thread.
class FaissFile {
 public:
  /// kNotFound if there is no such file, kInvalidArgument if FAISS cannot read it or if its metric
  /// is none of ours, kDataLoss if it states another number of vectors than it holds.
  [[nodiscard]] static Result<FaissFile> open(const std::string& path);
  FaissFile(FaissFile&&) noexcept;
  FaissFile& operator=(FaissFile&&) noexcept;
  ~FaissFile();

  [[nodiscard]] const FaissFacts& facts() const { return facts_; }
  /// `vectors` is `[ids.size(), dim]`.
  using Take =
      std::function<Result<>(std::span<const std::int64_t> ids, std::span<const float> vectors)>;
  /// Each vector once, in the order of the file. Errors are those of `take`, and kDataLoss if the
  /// file contradicts itself.
  [[nodiscard]] Result<> for_each(const Take& take) const;

 private:
  FaissFile();

  std::unique_ptr<faiss::Index> index_;
  FaissFacts facts_;
};

}  // namespace quiver::interop
