// Between files of FAISS and the folders that `quiver export` writes and `quiver import
// --from-export` reads.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "base/schema.h"

namespace quiver::interop {

struct ReadOptions {
  std::string index;  ///< file of FAISS
  std::string out;    ///< new folder
  std::string name;   ///< of the vector field; "" is the unnamed one
};

/// Writes the vectors and ids of an index, with a manifest that creates a collection for them.
/// Returns a sentence on what was written. kInvalidArgument also for negative ids.
[[nodiscard]] Result<std::string> read_index(const ReadOptions& options);

struct WriteOptions {
  std::string from;              ///< folder of an export
  std::string out;               ///< new file
  std::string factory = "Flat";  ///< FAISS's description of the index: "IVF1024,Flat"
  std::string name;              ///< of the dense field
  std::uint64_t n_train = 0;     ///< rows to train on; 0: up to 256 for each centroid and 1,000,000
  bool row_numbers = false;      ///< number rows in place of their ids
};

/// Builds an index over the dense vectors of one field. Returns a sentence on what was written.
/// kInvalidArgument for UUIDs unless rows are numbered.
[[nodiscard]] Result<std::string> write_index(const WriteOptions& options);

}  // namespace quiver::interop
