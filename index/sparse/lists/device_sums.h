// What devices hold of posting lists. They give the rows with the largest sums of impacts, with the
// sums of the CPU, so candidates and hits stay the same.
#pragma once

#include <cstddef>
#include <span>

#include "gpu/devices.h"
#include "index/cost.h"
#include "index/row_filter.h"
#include "index/sparse/lists/impact_lists.h"
#include "index/sparse/lists/scan.h"

namespace quiver::index::sparse {

/// A scan, and the rows that are wanted.
struct DeviceScan {
  const ScanPlan* plan = nullptr;
  const RowFilter* filter = nullptr;
  std::size_t n_wanted = 0;
};

/// Belongs to one index. Any number of threads.
class DeviceSums {
 public:
  explicit DeviceSums(const ImpactLists& lists) : lists_(lists), runs_(lists.device_form()) {}

  /// Has the lists copied to a device in the background, if that may pay.
  void want(gpu::Devices& devices) const { devices.want(slot_, runs_); }
  /// False: not there yet, but to be.
  bool place(gpu::Devices& devices, gpu::Placing placing) const {
    return devices.place(slot_, runs_, placing);
  }
  /// Waits while they are on their way.
  Result<> wait(const gpu::Devices& devices, const Cancel& cancel) const {
    return devices.wait_for(slot_, cancel);
  }
  /// True if they are there. Cheap.
  [[nodiscard]] bool are_there() const { return slot_.is_on_device(); }
  /// True if groups of searches that read `n_bytes` each pay.
  [[nodiscard]] bool do_pay(std::uint64_t n_bytes) const {
    return slot_.pays(cost::kPayingGroup * n_bytes);
  }
  /// The allowed rows with the largest sums of each scan. Now and then the CPU checks one.
  [[nodiscard]] Result<gpu::SummedRows> add(gpu::Devices& devices,
                                            std::span<const DeviceScan> scans,
                                            const Cancel& cancel) const;

 private:
  void check(gpu::Devices& devices, const DeviceScan& scan,
             const std::vector<gpu::SummedRow>& found) const;

  ImpactLists lists_;
  gpu::ImpactRuns runs_;
  mutable gpu::Slot slot_;
};

}  // namespace quiver::index::sparse
