#include "engine/collections/privacy/ledger_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <span>
#include <utility>

#include "base/io/replace_sections.h"
#include "base/io/section_file.h"

namespace quiver::engine {
namespace {

constexpr std::string_view kLedgerName = "ledger";
constexpr std::string_view kReleaseSuffix = ".release";
constexpr SectionFormat kLedgerFormat{"ledger of private sums", "QVPLEDG1", "QVPLEDGE"};
constexpr SectionFormat kReleaseFormat{"private sum", "QVPSUM01", "QVPSUMEN"};

enum LedgerSection : std::uint32_t {
  kLedgerHead = 1,
  kLedgerLines = 2,
  kLedgerTextOffsets = 3,
  kLedgerTexts = 4,
};
enum ReleaseSection : std::uint32_t { kReleaseHead = 1, kReleaseSums = 2 };

struct LedgerHead {
  std::uint64_t has_budget = 0;
  std::uint64_t budget_epsilon = 0;
  std::uint64_t budget_delta = 0;
  std::uint64_t spent_epsilon = 0;
  std::uint64_t spent_delta = 0;
  std::uint64_t last_number = 0;
};
static_assert(sizeof(LedgerHead) == 48);

struct LedgerLine {
  std::uint64_t number = 0;
  std::uint64_t epsilon = 0;
  std::uint64_t delta = 0;
  std::uint64_t created_at_ms = 0;
};
static_assert(sizeof(LedgerLine) == 32);

struct ReleaseHead {
  double bandwidth = 0;
  std::uint64_t seed = 0;
  std::uint64_t noise = 0;
  std::int64_t count = 0;
  std::uint32_t map_version = 0;
  std::uint32_t kernel = 0;
  std::uint32_t dim = 0;
  std::uint32_t is_normalised = 0;
};
static_assert(sizeof(ReleaseHead) == 48);

/// Number of a file that has the name of a release; nullopt for others.
std::optional<std::uint64_t> release_number(std::string_view name) {
  if (!name.ends_with(kReleaseSuffix)) return std::nullopt;
  name.remove_suffix(kReleaseSuffix.size());
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
  if (error != std::errc() || end != name.data() + name.size()) return std::nullopt;
  return number;
}

std::string release_name(std::uint64_t number) {
  return fmt::format("{}{}", number, kReleaseSuffix);
}

bool is_sound(const ReleaseHead& head, std::size_t n_features) {
  const bool is_gaussian = head.kernel == static_cast<std::uint32_t>(PrivateKernel::kGaussian);
  const bool is_cosine = head.kernel == static_cast<std::uint32_t>(PrivateKernel::kCosine);
  if (head.dim == 0 || head.is_normalised > 1 || n_features > kMaxPrivateFeatures) return false;
  if (is_cosine) return n_features == head.dim;
  return is_gaussian && n_features >= kMinPrivateFeatures && n_features % 2 == 0 &&
         std::uint64_t{n_features} / 2 * head.dim <= kMaxFrequencyValues &&
         head.bandwidth >= kMinBandwidth && head.bandwidth <= kMaxBandwidth;
}

}  // namespace

Result<PrivacyLedger> LedgerFiles::open() {
  if (!collection_->exists(kDirectory)) return PrivacyLedger();
  QV_TRY(directory_, collection_->open_subdirectory(kDirectory));
  QV_TRY(const auto entries, directory_->list());
  if (!directory_->exists(kLedgerName)) {
    for (const auto& entry : entries) {
      if (!entry.name.ends_with(kReleaseSuffix)) continue;
      return fail(Code::kDataLoss, fmt::format("`{}/{}` is missing beside {}: what is spent is not "
                                               "known",
                                               directory_->path(), kLedgerName, entry.name));
    }
    return PrivacyLedger();
  }
  QV_TRY(auto ledger, load());
  QV_TRY(check_is_newest(ledger, entries));
  QV_TRY(remove_strays(ledger, entries));
  return ledger;
}

Result<PrivacyLedger> LedgerFiles::load() const {
  QV_TRY(const auto reader, SectionReader::open(kLedgerFormat, *directory_, kLedgerName));
  const std::size_t n = reader.n_rows();
  QV_TRY(const auto heads, reader.get<LedgerHead>(kLedgerHead, 0, 1));
  QV_TRY(const auto lines, reader.get<LedgerLine>(kLedgerLines, 0, n));
  QV_TRY(const auto offsets, reader.get<std::uint64_t>(kLedgerTextOffsets, 0, 2 * n + 1));
  QV_TRY(const auto texts, reader.get<char>(kLedgerTexts));
  QV_TRY(reader.check_offsets(offsets.span(), texts.size()));
  const auto text = [&](std::size_t i) {
    const auto bytes = texts.span().subspan(offsets[i], offsets[i + 1] - offsets[i]);
    return std::string(bytes.begin(), bytes.end());
  };
  PrivacyLedger ledger;
  const LedgerHead& head = heads[0];
  if (head.has_budget != 0) ledger.budget = {head.budget_epsilon, head.budget_delta};
  ledger.spent = {head.spent_epsilon, head.spent_delta};
  ledger.last_number = head.last_number;
  for (std::size_t i = 0; i < n; ++i) {
    const LedgerLine& line = lines[i];
    ReleaseInfo info;
    info.number = line.number;
    info.name = text(2 * i);
    info.request = text(2 * i + 1);
    info.cost = {line.epsilon, line.delta};
    info.created_at_ms = line.created_at_ms;
    ledger.releases.push_back(std::move(info));
  }
  return ledger;
}

/// A ledger is synced before a release has a file. So a newer release proves that the ledger is an
/// older copy, which has forgotten what was spent.
Result<> LedgerFiles::check_is_newest(const PrivacyLedger& ledger,
                                      std::span<const DirectoryEntry> entries) const {
  for (const auto& entry : entries) {
    const auto number = release_number(entry.name);
    if (!number || *number <= ledger.last_number) continue;
    return fail(Code::kDataLoss,
                fmt::format("`{}/{}` is older than {} beside it: it knows {} releases, so what is "
                            "spent is not known",
                            directory_->path(), kLedgerName, entry.name, ledger.last_number));
  }
  return {};
}

Result<> LedgerFiles::remove_strays(const PrivacyLedger& ledger,
                                    std::span<const DirectoryEntry> entries) {
  for (const auto& entry : entries) {
    const bool is_listed = std::ranges::any_of(ledger.releases, [&](const ReleaseInfo& info) {
      return release_name(info.number) == entry.name;
    });
    if (entry.kind == EntryKind::kDirectory || entry.name == kLedgerName || is_listed) continue;
    QV_TRY(directory_->remove_file(entry.name));
  }
  return {};
}

Result<> LedgerFiles::save(const PrivacyLedger& ledger) {
  if (directory_ == nullptr) {
    QV_TRY(directory_, collection_->subdirectory(kDirectory));
    QV_TRY(collection_->sync());
  }
  const PrivacyAmount budget = ledger.budget.value_or(PrivacyAmount());
  const LedgerHead head{
      ledger.budget ? std::uint64_t{1} : 0, budget.epsilon_units,     budget.delta_units,
      ledger.spent.epsilon_units,           ledger.spent.delta_units, ledger.last_number};
  std::vector<LedgerLine> lines;
  std::vector<std::uint64_t> offsets = {0};
  std::string texts;
  for (const ReleaseInfo& info : ledger.releases) {
    lines.push_back(
        {info.number, info.cost.epsilon_units, info.cost.delta_units, info.created_at_ms});
    for (const std::string& text : {info.name, info.request}) {
      texts += text;
      offsets.push_back(texts.size());
    }
  }
  const auto write = [&](SectionWriter& writer) {
    writer.section(kLedgerHead, std::span(&head, 1));
    writer.section<LedgerLine>(kLedgerLines, lines);
    writer.section<std::uint64_t>(kLedgerTextOffsets, offsets);
    writer.section<char>(kLedgerTexts, texts);
  };
  return replace_sections(*directory_, kLedgerFormat, kLedgerName,
                          static_cast<std::uint32_t>(lines.size()), write);
}

Result<> LedgerFiles::save_release(std::uint64_t number, const Release& release) {
  const PrivateFeatures& features = release.features;
  const ReleaseHead head{features.bandwidth,   features.seed,
                         release.noise,        release.count,
                         FeatureMap::kVersion, static_cast<std::uint32_t>(features.kernel),
                         features.dim,         features.is_normalised ? 1U : 0U};
  const auto write = [&](SectionWriter& writer) {
    writer.section(kReleaseHead, std::span(&head, 1));
    writer.section<std::int64_t>(kReleaseSums, release.sums);
  };
  return replace_sections(*directory_, kReleaseFormat, release_name(number),
                          static_cast<std::uint32_t>(release.sums.size()), write);
}

bool LedgerFiles::has_release(std::uint64_t number) const {
  return directory_ != nullptr && directory_->exists(release_name(number));
}

Result<Release> LedgerFiles::load_release(std::uint64_t number) const {
  QV_TRY(const auto reader, SectionReader::open(kReleaseFormat, *directory_, release_name(number)));
  const std::size_t n_features = reader.n_rows();
  QV_TRY(const auto heads, reader.get<ReleaseHead>(kReleaseHead, 0, 1));
  QV_TRY(const auto sums, reader.get<std::int64_t>(kReleaseSums, 0, n_features));
  const ReleaseHead& head = heads[0];
  if (head.map_version != FeatureMap::kVersion) return reader.damaged("unknown features");
  if (!is_sound(head, n_features)) return reader.damaged("its parts do not belong together");
  Release release;
  release.features = {static_cast<PrivateKernel>(head.kernel),
                      head.bandwidth,
                      static_cast<std::uint32_t>(n_features),
                      head.seed,
                      head.dim,
                      head.is_normalised != 0};
  release.noise = head.noise;
  release.count = head.count;
  release.sums.assign(sums.span().begin(), sums.span().end());
  return release;
}

Result<> LedgerFiles::remove_release(std::uint64_t number) {
  if (!has_release(number)) return {};
  QV_TRY(directory_->remove_file(release_name(number)));
  return directory_->sync();
}

}  // namespace quiver::engine
