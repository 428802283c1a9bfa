// What devices hold of an index of lists: codes, and second codes. They give estimates and products
// with the bits of the CPU, so candidates and hits stay the same.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "gpu/devices.h"
#include "index/cost.h"
#include "index/dense/lists/byte_rows.h"
#include "index/dense/lists/partition.h"
#include "index/dense/lists/search/list_router.h"

namespace quiver::index::dense {

/// A rotated query and the lists that it scans.
struct DeviceScan {
  const RotatedQuery* query = nullptr;
  std::span<const Probe> probes;
  std::size_t want = 0;  ///< codes
};

/// Belongs to one index. Any number of threads.
class DeviceLists {
 public:
  /// `second`: nullptr if there are none.
  DeviceLists(const Partition& lists, const ByteRows* second);

  /// Has the codes copied to a device in the background, if that may pay.
  void want(gpu::Devices& devices) const;
  /// False: not there yet, but to be.
  bool place(gpu::Devices& devices, gpu::Placing placing) const;
  /// Waits while they are on their way.
  Result<> wait(const gpu::Devices& devices, const Cancel& cancel) const;
  /// True if they are there. Cheap.
  [[nodiscard]] bool are_there() const { return lists_slot_.is_on_device(); }
  /// True if groups of searches that read `n_bytes` each pay.
  [[nodiscard]] bool do_pay(std::uint64_t n_bytes) const {
    return lists_slot_.pays(cost::kPayingGroup * n_bytes);
  }
  /// Whether the codes of the lists are so many that a device is asked.
  [[nodiscard]] bool is_worth(const gpu::Devices& devices, std::span<const Probe> probes) const;
  /// The best codes of each scan. Now and then the CPU checks one.
  [[nodiscard]] Result<gpu::BestCodes> scan(gpu::Devices& devices,
                                            std::span<const DeviceScan> scans,
                                            const Cancel& cancel) const;
  /// Products of each query with the second codes of its rows, checked likewise. There must be
  /// second codes.
  [[nodiscard]] Result<gpu::Products> multiply(gpu::Devices& devices,
                                               std::span<const gpu::ProductQuery> queries,
                                               const Cancel& cancel) const;

 private:
  void check_scan(gpu::Devices& devices, const gpu::ListQuery& query,
                  const gpu::ScoredCodes& found) const;
  void check_products(gpu::Devices& devices, const gpu::ProductQuery& query,
                      const std::vector<std::int32_t>& products) const;

  gpu::CodeLists lists_;
  std::optional<ByteRows> second_;
  gpu::ByteCodes second_codes_;
  mutable gpu::Slot lists_slot_;
  mutable gpu::Slot second_slot_;
};

/// Devices that may help a search of lists.
struct DeviceHelp {
  const DeviceLists& lists;
  gpu::Devices& devices;
  Executor* executor;  ///< for what the CPU does for several searches; nullptr: the calling thread
};

}  // namespace quiver::index::dense
