// The file of an OSQ index (docs/formats/osq.md): writing and opening it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/io/file.h"
#include "base/io/shared_span.h"
#include "encoders/osq/bounds.h"
#include "encoders/osq/klt.h"
#include "encoders/osq/packing.h"
#include "encoders/transforms/rotation.h"
#include "index/dense/osq/params.h"
#include "index/dense/osq/sections.h"
#include "index/index.h"

namespace quiver::index::dense::osq {

/// The same rows, parameters and seed give the same bytes. Progress ends at the number of rows.
Result<> write_file(const FieldColumn& column, const OsqBuildParams& params,
                    const BuildContext& context, Directory& out);

/// One partition of a mapped file. Its rows are numbered in the order of the column.
struct Partition {
  PartitionFacts facts;
  std::uint32_t n_column_rows = 0;
  SharedSpan<std::uint64_t> members = {};  ///< a bit for each row of the column
  std::vector<std::uint32_t> ranks = {};   ///< members before each word of `members`
  SharedSpan<float> mean = {};
  SharedSpan<float> directions = {};
  std::vector<std::uint8_t> bits = {};  ///< a copy: damage would lead searches out of `limits`
  SharedSpan<float> limits = {};
  SharedSpan<std::byte> signs = {};  ///< `[n_rows, sign_bytes(n_signs)]`
  SharedSpan<std::byte> codes = {};  ///< `[n_rows, n_segments]` and kCodePadding bytes
  encoders::osq::Packing packing;
  std::uint32_t n_signs = 0;

  [[nodiscard]] encoders::osq::KltView klt() const {
    return {static_cast<std::uint32_t>(mean.size()), facts.n_out, mean.data(), directions.data()};
  }
  [[nodiscard]] encoders::osq::Codebook codebook() const { return {bits, limits.span(), &packing}; }
};

struct OpenFile {
  OsqFacts facts;
  std::optional<encoders::Rotation> rotation;  ///< of rows before their signs are taken
  std::vector<Partition> partitions;
  std::uint64_t n_bytes = 0;  ///< mapped
};

/// kDataLoss if the file is damaged or belongs to another column.
[[nodiscard]] Result<OpenFile> open_file(const Directory& directory, const FieldColumn& column);

}  // namespace quiver::index::dense::osq
