// Tuned constants that more than one place needs, or that decide between ways of searching.
//
// They decide what is read, never what a read row scores. Two units are used:
//   - ns: nanoseconds on one thread of Zen 4;
//   - bytes of codes: the bytes that a scan of dense codes reads meanwhile, at 35 GB/s (0.03 ns
//   each).
// Each group names the command that measured it; docs/decisions has the tables.
#pragma once

#include <cstddef>
#include <cstdint>

namespace quiver::index::cost {

/// Searches that share a job of a device in a group that may pay: if so many read less than it
/// wants, each is better off on a thread of its own.
inline constexpr std::uint64_t kPayingGroup = 32;

// --- Effort: a scale shared with the `hnsw_ef` of stock clients, by convention. ---

/// `effort` of a default search. Every type scales its own parameters by effort / kUsualEffort.
inline constexpr double kUsualEffort = 128;
/// `effort` from which the sparse index reads all postings.
inline constexpr double kSparseFullEffort = 512;
/// Factor on `effort` with fewer dimensions: near rows are spread over more lists, of images over
/// twice as many, of an encoder's vectors over a few more (docs/decisions/0065).
inline constexpr double kEffortOfReduced = 1.5;
/// Largest `effort`; factors beyond it are cut off.
inline constexpr double kMaxEffort = 1e6;

// --- Dense, second codes: docs/decisions/0018, `quiver bench ann --index ivf --sweep rerank=…`.
// ---

/// A row stays a candidate if its second code is within so many standard deviations of its error of
/// the k-th best.
inline constexpr float kSecondCodeDeviations = 4;
/// Rows within so many of them of the k-th best cannot be told apart: all are scored exactly.
inline constexpr float kEqualSecondCodeDeviations = 2;
/// Rows whose exact scores are computed for `k` hits at most, if second codes of 8 bits tell rows
/// apart.
[[nodiscard]] constexpr std::size_t n_rescored(std::size_t k) { return k + k / 4 + 4; }
/// The same for second codes of 4 bits or of fewer dimensions, whose errors are larger.
[[nodiscard]] constexpr std::size_t n_rescored_by_coarse_codes(std::size_t k) { return k + k + 12; }

// --- Dense, filters: docs/decisions/0018 and 0023, `quiver bench ann --index ivf` with a filter.
// ---

/// If a filter allows more than this share of rows, rows are tested after they were found, and a
/// graph is walked, or lists are scanned as without a filter. Otherwise rows are tested before they
/// are scored.
inline constexpr double kTestFoundRowsAbove = 0.5;
/// A random filter of selectivity s takes s^kFilteredListsExponent times as many lists.
inline constexpr double kFilteredListsExponent = -0.57;

// --- Dense, bytes of codes: docs/decisions/0018 and 0023, `quiver bench ann --index ivf`. ---

/// Microseconds in which so many bytes of codes are scanned.
[[nodiscard]] constexpr double us_of(double bytes) { return bytes / 35e3; }
/// Fetching and scoring a row's sign code, besides the bytes that it reads, if the caches hold it.
inline constexpr double kSignSeekBytes = 150;
/// The same from memory: 30 ns, of which most go to finding the page. 1,000,000 rows of 64 bytes.
inline constexpr double kSignFarSeekBytes = 1100;
/// Sign codes that caches hold.
inline constexpr double kCachedSignBytes = 16e6;
/// Fetching a row from a random place in memory: 40 ns of seeking.
inline constexpr double kRowSeekBytes = 1000;
/// One byte of an exactly scored row. Rows of 768 bytes took 70 to 90 ns with a seek, 40 without.
inline constexpr double kExactByteFactor = 2.5;
/// Visiting a graph node, besides the bytes that it reads: seeking, and the heap of waiting nodes.
inline constexpr double kVisitSeekBytes = 3000;
/// Expanding it.
inline constexpr double kExpansionSeekBytes = 4000;
/// Share of the visited nodes that are expanded: .4 to .7 for ten hits, .25 to .5 for a hundred.
inline constexpr double kExpandedShare = 0.55;
/// Least share of all codes that a default search is taken to scan: kScannedShareTimesRoot /
/// sqrt(rows).
inline constexpr double kScannedShareTimesRoot = 15;

// --- Dense, graph: docs/decisions/0023, `quiver bench ann --index ivf --build graph=always`. ---

/// A graph is built if a default search of the lists reads this many times the bytes of a walk.
inline constexpr double kListBytesPerWalkByte = 2.5;
/// The same falls as 1 / rows from so many rows on, down to a share of it: that search is for
/// queries between rows, and the more rows there are, the nearer these lie to rows in comparison
/// with real queries.
inline constexpr double kRowsOfFewerListBytes = 160'000;
inline constexpr double kLeastShareOfListBytes = 0.16;
/// Nodes that a default walk visits for ten hits: 50 to 160 on the data of docs/decisions/0081.
inline constexpr std::uint32_t kUsualVisits = 110;
/// The same for k hits: kWalkLength + kWalkLengthPerHit * k.
inline constexpr double kWalkLength = 70;
inline constexpr double kWalkLengthPerHit = 4;
/// A hard query may take so many times the usual visits.
inline constexpr double kWalkRoom = 4;
/// Share of a default walk's `Reach` for ten hits. It grows with the root of effort, as visits grow
/// with its square, and with k^kReachExponentOfK.
inline constexpr double kWalkReach = 0.15;
inline constexpr double kReachExponentOfK = -0.2;
/// Nodes are expanded within so much of that share, for ten hits, and times
/// (k / 10)^kExpansionExponentOfK: the more hits are wanted, the more of them are linked from
/// others.
inline constexpr double kExpandedReach = 0.85;
inline constexpr double kExpansionExponentOfK = -0.2;

// --- Sparse, ns: docs/decisions/0015, `quiver bench ann --kind sparse` on 100,000 SPLADE rows. ---

inline constexpr double kSparseRowNs = 130;        ///< exact score of a row, rows in order
inline constexpr double kPostingNs = 0.45;         ///< adding one posting to a sum
inline constexpr double kRunNs = 25;               ///< starting one term's run in one range
inline constexpr double kBlockSearchNs = 200'000;  ///< search of blocks at default parameters
/// From this share of all postings on, a scan of whole lists costs no more than a truncated one.
inline constexpr double kWholeListsFromShare = 0.7;
/// Postings that every truncated scan reads, if there are as many.
inline constexpr double kMinPostings = 20'000;
/// A query of a SPLADE-like model has 1 / kListBytesPerQueryByte of all postings in its lists. It
/// reads a fifth of them, but adds each to a sum, at 4 GB/s.
inline constexpr std::uint64_t kListBytesPerQueryByte = 50;

// --- Multi-vectors: docs/decisions/0020 and 0022, `quiver bench ann --kind multi`. ---

/// Rows whose token codes are within so many standard deviations of the k-th best are scored
/// exactly.
inline constexpr float kTokenCodeDeviations = 3;
/// Rows whose signs are within so many standard deviations of the k-th best are scored by codes.
inline constexpr float kSignDeviations = 2.5F;
/// One byte of token codes (10 GB/s) and of signs (6 GB/s), in bytes of dense codes, for up to 16
/// query tokens.
inline constexpr double kTokenCodeByteFactor = 3.5;
inline constexpr double kSignByteFactor = 6;
/// The same in ns, as the probe compares first stages: a document's seek, then each byte.
inline constexpr double kDocumentSeekNs = 100;
inline constexpr double kTokenCodeByteNs = 0.1;
inline constexpr double kSignByteNs = 0.17;
inline constexpr double kVectorCodeByteNs = 0.04;  ///< scanning a byte of the documents' vectors
/// Encoding a query: one product of the FDE's hyperplanes, one feature of one token, and one value
/// of the features' map.
inline constexpr double kFdeProductNs = 0.02;
inline constexpr double kFeatureNs = 4;
inline constexpr double kFeatureMapNs = 0.06;

}  // namespace quiver::index::cost
