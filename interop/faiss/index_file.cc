#include "interop/faiss/index_file.h"

#include <faiss/IndexFlat.h>
#include <faiss/IndexFlatCodes.h>
#include <faiss/IndexHNSW.h>
#include <faiss/IndexIDMap.h>
#include <faiss/IndexIVFFlat.h>
#include <faiss/IndexIVFPQ.h>
#include <faiss/IndexNNDescent.h>
#include <faiss/IndexNSG.h>
#include <faiss/IndexPQ.h>
#include <faiss/IndexPreTransform.h>
#include <faiss/IndexRefine.h>
#include <faiss/IndexScalarQuantizer.h>
#include <faiss/index_io.h>
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <utility>
#include <vector>

namespace quiver::interop {
namespace {

constexpr faiss::Index::idx_t kBatchVectors = 4096;

/// `index` as a type of FAISS; nullptr if it is none.
template <class T>
const T* as(const faiss::Index& index) {
  return dynamic_cast<const T*>(&index);
}

/// The index within, if this one only adds ids, another transform or a better order.
const faiss::Index* inner(const faiss::Index& index) {
  if (const auto* map = as<faiss::IndexIDMap>(index)) return map->index;
  if (const auto* transformed = as<faiss::IndexPreTransform>(index)) return transformed->index;
  if (const auto* refined = as<faiss::IndexRefine>(index)) return refined->refine_index;
  if (const auto* graph = as<faiss::IndexHNSW>(index)) return graph->storage;
  if (const auto* graph = as<faiss::IndexNSG>(index)) return graph->storage;
  if (const auto* graph = as<faiss::IndexNNDescent>(index)) return graph->storage;
  return nullptr;
}

std::string type_of(const faiss::Index& index) {
  if (as<faiss::IndexIDMap>(index) != nullptr) return "IDMap";
  if (as<faiss::IndexPreTransform>(index) != nullptr) return "PreTransform";
  if (as<faiss::IndexRefine>(index) != nullptr) return "Refine";
  if (as<faiss::IndexHNSW>(index) != nullptr) return "HNSW";
  if (as<faiss::IndexNSG>(index) != nullptr) return "NSG";
  if (as<faiss::IndexNNDescent>(index) != nullptr) return "NNDescent";
  if (as<faiss::IndexFlat>(index) != nullptr) return "Flat";
  if (as<faiss::IndexIVFFlat>(index) != nullptr) return "IVFFlat";
  if (as<faiss::IndexIVFPQ>(index) != nullptr) return "IVFPQ";
  if (as<faiss::IndexIVFScalarQuantizer>(index) != nullptr) return "IVFScalarQuantizer";
  if (as<faiss::IndexIVF>(index) != nullptr) return "IVF";
  if (as<faiss::IndexScalarQuantizer>(index) != nullptr) return "ScalarQuantizer";
  if (as<faiss::IndexPQ>(index) != nullptr) return "PQ";
  return "another type";
}

std::string types_of(const faiss::Index& index) {
  const auto* within = inner(index);
  return within == nullptr ? type_of(index) : type_of(index) + ", " + types_of(*within);
}

bool is_lossless(const faiss::Index& index) {
  if (as<faiss::IndexPreTransform>(index) != nullptr) return false;
  if (const auto* within = inner(index)) return is_lossless(*within);
  return as<faiss::IndexFlat>(index) != nullptr || as<faiss::IndexIVFFlat>(index) != nullptr;
}

/// Vectors that the index really holds, which its `ntotal` only states; nullopt if that is not
/// known.
std::optional<std::uint64_t> n_held(const faiss::Index& index) {
  if (const auto* map = as<faiss::IndexIDMap>(index)) return map->id_map.size();
  if (const auto* lists = as<faiss::IndexIVF>(index)) return lists->invlists->compute_ntotal();
  if (const auto* flat = as<faiss::IndexFlatCodes>(index)) {
    return flat->code_size == 0 ? 0 : flat->codes.size() / flat->code_size;
  }
  return std::nullopt;
}

/// Checks the number of vectors of each index within another. FAISS believes a wrong one, and
/// reading the vectors would then leave its memory.
Result<> check_numbers(const faiss::Index& index) {
  const auto stated = static_cast<std::uint64_t>(index.ntotal);
  const auto* within = inner(index);
  if (const auto held = n_held(index); held && *held != stated) {
    return fail(Code::kDataLoss, fmt::format("{} states {} vectors and holds {}", type_of(index),
                                             index.ntotal, *held));
  }
  if (within == nullptr) return {};
  if (within->ntotal != index.ntotal) {
    return fail(Code::kDataLoss,
                fmt::format("{} states {} vectors, and {} within states {}", type_of(index),
                            index.ntotal, type_of(*within), within->ntotal));
  }
  return check_numbers(*within);
}

std::optional<Metric> metric_of(faiss::MetricType metric) {
  switch (metric) {
    case faiss::METRIC_INNER_PRODUCT:
      return Metric::kDot;
    case faiss::METRIC_L2:
      return Metric::kEuclid;
    case faiss::METRIC_L1:
      return Metric::kManhattan;
    default:
      return std::nullopt;
  }
}

using Take = FaissFile::Take;

Result<> walk(const faiss::Index& index, const Take& take);

Result<> walk_map(const faiss::IndexIDMap& map, const Take& take) {
  std::vector<std::int64_t> named;
  return walk(*map.index,
              [&](std::span<const std::int64_t> ids, std::span<const float> vectors) -> Result<> {
                named.clear();
                for (const std::int64_t id : ids) {
                  if (id < 0 || static_cast<std::size_t>(id) >= map.id_map.size()) {
                    return fail(Code::kDataLoss,
                                fmt::format("vector {} has no id: there are {} ids", id,
                                            map.id_map.size()));
                  }
                  named.push_back(map.id_map[static_cast<std::size_t>(id)]);
                }
                return take(named, vectors);
              });
}

Result<> walk_transformed(const faiss::IndexPreTransform& outer, const Take& take) {
  std::vector<float> original;
  return walk(*outer.index, [&](std::span<const std::int64_t> ids, std::span<const float> vectors) {
    original.resize(ids.size() * static_cast<std::size_t>(outer.d));
    outer.reverse_chain(static_cast<faiss::Index::idx_t>(ids.size()), vectors.data(),
                        original.data());
    return take(ids, original);
  });
}

Result<> walk_lists(const faiss::IndexIVF& index, const Take& take) {
  const auto dim = static_cast<std::size_t>(index.d);
  std::vector<float> vectors;
  for (std::size_t list = 0; list < index.nlist; ++list) {
    const std::size_t n = index.invlists->list_size(list);
    if (n == 0) continue;
    faiss::InvertedLists::ScopedIds ids(index.invlists, list);
    vectors.resize(n * dim);
    for (std::size_t i = 0; i < n; ++i) {
      index.reconstruct_from_offset(static_cast<std::int64_t>(list), static_cast<std::int64_t>(i),
                                    vectors.data() + i * dim);
    }
    QV_TRY(take({ids.get(), n}, vectors));
  }
  return {};
}

Result<> walk_in_order(const faiss::Index& index, const Take& take) {
  std::vector<float> vectors;
  std::vector<std::int64_t> ids;
  for (faiss::Index::idx_t first = 0; first < index.ntotal; first += kBatchVectors) {
    const auto n = std::min(kBatchVectors, index.ntotal - first);
    vectors.resize(static_cast<std::size_t>(n) * static_cast<std::size_t>(index.d));
    ids.resize(static_cast<std::size_t>(n));
    for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = first + static_cast<std::int64_t>(i);
    index.reconstruct_n(first, n, vectors.data());
    QV_TRY(take(ids, vectors));
  }
  return {};
}

Result<> walk(const faiss::Index& index, const Take& take) {
  if (const auto* map = as<faiss::IndexIDMap>(index)) return walk_map(*map, take);
  if (const auto* outer = as<faiss::IndexPreTransform>(index))
    return walk_transformed(*outer, take);
  if (const auto* lists = as<faiss::IndexIVF>(index)) return walk_lists(*lists, take);
  if (const auto* within = inner(index)) return walk(*within, take);
  return walk_in_order(index, take);
}

Error refused(const std::string& path, const std::string& why) {
  return {Code::kInvalidArgument, fmt::format("{}: {}", path, why)};
}

}  // namespace

FaissFile::FaissFile() = default;
FaissFile::FaissFile(FaissFile&&) noexcept = default;
FaissFile& FaissFile::operator=(FaissFile&&) noexcept = default;
FaissFile::~FaissFile() = default;

Result<FaissFile> FaissFile::open(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) {
    return fail(Code::kNotFound, fmt::format("{} is no file", path));
  }
  FaissFile file;
  try {
    file.index_.reset(faiss::read_index(path.c_str()));
  } catch (const std::exception& failure) {
    return fail(refused(
        path, fmt::format("FAISS cannot read it as an index of floats ({})", failure.what())));
  }
  if (const auto checked = check_numbers(*file.index_); !checked) {
    return fail(Code::kDataLoss, fmt::format("{}: {}", path, checked.error().message()));
  }
  const auto metric = metric_of(file.index_->metric_type);
  if (!metric) {
    return fail(refused(path, fmt::format("its metric is number {} of FAISS, wanted inner product, "
                                          "L2 or L1",
                                          static_cast<int>(file.index_->metric_type))));
  }
  file.facts_ = {types_of(*file.index_), static_cast<std::uint32_t>(file.index_->d),
                 static_cast<std::uint64_t>(file.index_->ntotal), *metric,
                 is_lossless(*file.index_)};
  return file;
}

Result<> FaissFile::for_each(const Take& take) const {
  std::uint64_t n = 0;
  try {
    QV_TRY(walk(*index_, [&](std::span<const std::int64_t> ids, std::span<const float> vectors) {
      n += ids.size();
      return take(ids, vectors);
    }));
  } catch (const std::exception& failure) {
    return fail(Code::kInvalidArgument, fmt::format("FAISS cannot give the vectors of {} back: {}",
                                                    facts_.type, failure.what()));
  }
  if (n == facts_.n_vectors) return {};
  return fail(Code::kDataLoss,
              fmt::format("the index holds {} vectors, but says {}", n, facts_.n_vectors));
}

}  // namespace quiver::interop
