#include "index/dense/lists/search/device_lists.h"

#include <algorithm>
#include <limits>
#include <new>
#include <utility>

#include "index/dense/lists/search/code_scan.h"
#include "kernels/kernels.h"

namespace quiver::index::dense {
namespace {

CodeBlocks blocks_of(const gpu::CodeLists& lists, std::uint32_t list) {
  CodeBlocks blocks = lists.blocks;
  blocks.first += lists.first_blocks[list] * blocks.block_bytes();
  blocks.n = lists.first_blocks[list + 1] - lists.first_blocks[list];
  return blocks;
}

/// A scan that does not need its caller.
struct OwnScan {
  gpu::CodeLists lists;
  std::vector<gpu::ListVisit> visits;
  QueryLines lines;  ///< tables only
  CodeTables tables;
  std::size_t want = 0;

  OwnScan(const gpu::CodeLists& all, const gpu::ListQuery& query)
      : lists(all),
        visits(query.visits.begin(), query.visits.end()),
        tables(query.tables),
        want(query.k) {
    lines.tables.resize(std::size_t{2} * lists.blocks.n_lines);
    std::copy_n(reinterpret_cast<const QueryLines::Line*>(query.tables.tables), lines.tables.size(),
                lines.tables.begin());
  }
  /// The positions that the CPU finds.
  [[nodiscard]] Result<std::vector<std::uint32_t>> positions(const Cancel& cancel) {
    tables.tables = reinterpret_cast<const std::uint8_t*>(lines.tables.data());
    ScanScratch scratch;
    CodeScan scan(want, scratch);
    for (const gpu::ListVisit& visit : visits) {
      QV_TRY(cancel.check());
      const auto position = static_cast<std::uint32_t>(lists.first_blocks[visit.list] *
                                                       std::uint32_t{CodeBlocks::kRows});
      scan.scan(tables, blocks_of(lists, visit.list), visit.base, nullptr, position);
    }
    const CodeHits& best = scan.best();
    return std::vector<std::uint32_t>(best.positions, best.positions + best.n);
  }
};

gpu::CodeLists codes_of(const Partition& lists) {
  return {lists.block_bytes(), lists.all_blocks(), lists.first_blocks()};
}

}  // namespace

DeviceLists::DeviceLists(const Partition& lists, const ByteRows* second) : lists_(codes_of(lists)) {
  if (second == nullptr) return;
  second_ = *second;
  second_codes_ = second->device_form();
}

void DeviceLists::want(gpu::Devices& devices) const {
  devices.want(lists_slot_, lists_);
  if (second_) devices.want(second_slot_, second_codes_);
}

bool DeviceLists::place(gpu::Devices& devices, gpu::Placing placing) const {
  const bool are_lists_placed = devices.place(lists_slot_, lists_, placing);
  const bool are_seconds_placed = !second_ || devices.place(second_slot_, second_codes_, placing);
  return are_lists_placed && are_seconds_placed;
}

Result<> DeviceLists::wait(const gpu::Devices& devices, const Cancel& cancel) const {
  QV_TRY(devices.wait_for(lists_slot_, cancel));
  return devices.wait_for(second_slot_, cancel);
}

bool DeviceLists::is_worth(const gpu::Devices& devices, std::span<const Probe> probes) const {
  std::uint64_t n_blocks = 0;
  for (const Probe& probe : probes) n_blocks += blocks_of(lists_, probe.list).n;
  return n_blocks * lists_.blocks.block_bytes() >= devices.min_bytes();
}

Result<gpu::BestCodes> DeviceLists::scan(gpu::Devices& devices, std::span<const DeviceScan> scans,
                                         const Cancel& cancel) const {
  std::vector<gpu::ListVisit> visits;
  std::vector<gpu::ListQuery> queries;
  std::size_t n_visits = 0;
  for (const DeviceScan& scan : scans) n_visits += scan.probes.size();
  visits.reserve(n_visits);  // so that spans of it stay valid
  for (const DeviceScan& scan : scans) {
    const std::size_t first = visits.size();
    for (const Probe& probe : scan.probes) visits.push_back({probe.list, probe.base});
    queries.push_back({scan.query->tables, std::span(visits).subspan(first), scan.want});
  }
  QV_TRY(auto found, devices.scan_lists(lists_slot_, lists_, queries, cancel));
  const auto i = devices.answer_to_check(found);
  if (i) check_scan(devices, queries[*i], *found[*i]);
  return found;
}

Result<gpu::Products> DeviceLists::multiply(gpu::Devices& devices,
                                            std::span<const gpu::ProductQuery> queries,
                                            const Cancel& cancel) const {
  QV_TRY(auto products, devices.multiply(second_slot_, second_codes_, queries, cancel));
  const auto i = devices.answer_to_check(products);
  if (i) check_products(devices, queries[*i], *products[*i]);
  return products;
}

void DeviceLists::check_scan(gpu::Devices& devices, const gpu::ListQuery& query,
                             const gpu::ScoredCodes& found) const {
  try {
    auto positions = found.positions;
    std::ranges::sort(positions);
    const auto own = std::make_shared<OwnScan>(lists_, query);
    devices.post_check(
        lists_slot_, [own, positions = std::move(positions)](const Cancel& cancel) -> Result<bool> {
          QV_TRY(const auto wanted, own->positions(cancel));
          return std::ranges::all_of(wanted, [&](std::uint32_t position) {
            return std::ranges::binary_search(positions, position);
          });
        });
  } catch (const std::bad_alloc&) {
    // The search has its answer; another job is checked.
  }
}

void DeviceLists::check_products(gpu::Devices& devices, const gpu::ProductQuery& query,
                                 const std::vector<std::int32_t>& products) const {
  try {
    ByteQuery own;
    own.values.assign(query.values.begin(), query.values.end());
    devices.post_check(second_slot_,
                       [second = *second_, own = std::move(own),
                        rows = std::vector(query.rows.begin(), query.rows.end()),
                        products](const Cancel& /*cancel*/) -> Result<bool> {
                         std::vector<std::int32_t> wanted(rows.size());
                         second.products(own, rows, wanted.data());
                         return wanted == products;
                       });
  } catch (const std::bad_alloc&) {
    // As above.
  }
}

}  // namespace quiver::index::dense
