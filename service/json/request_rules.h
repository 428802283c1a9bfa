// What must be true of the parts of a request, whatever it is written in.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "engine/model/query.h"
#include "engine/model/vector.h"
#include "payload/bm25/bm25.h"
#include "payload/filter.h"
#include "service/json/error.h"

namespace quiver::service::json {

/// Sorts by index. 422 unless there are as many values as indices and no index is repeated.
[[nodiscard]] Decoded<> finish_sparse(engine::SparseVector& sparse, const Path& path);
/// Counts one more row, whose values the caller appends. 422 if it is empty or of another length.
[[nodiscard]] Decoded<> add_row(engine::MultiVector& multi, std::size_t dim, const Path& path);
/// 422 if there are no examples.
[[nodiscard]] Decoded<> check_examples(const engine::Recommend& recommend, const Path& path);
/// 422 if there is no feedback.
[[nodiscard]] Decoded<> check_feedback(const engine::RelevanceFeedback& query, const Path& path);
/// 422 unless `k` is 0 to 1,000,000 and `b` is 0 to 1.
[[nodiscard]] Decoded<> check_bm25(const payload::Bm25Params& params, const Path& path);
/// 422 unless there are 1 to 100 keys with boosts above 0, at most 1,000,000.
[[nodiscard]] Decoded<> check_text_keys(std::span<const engine::TextKey> keys, const Path& path);
/// 422 for too great a distance or too many words.
[[nodiscard]] Decoded<> check_expansion(const payload::Expansion& expansion, const Path& path);
[[nodiscard]] Decoded<> check_similarity(const payload::Similarity& similarity, const Path& path);
/// 422 if a list has more than `WordRules::kMaxTexts` texts.
[[nodiscard]] Decoded<> check_word_rules(const payload::WordRules& rules, const Path& path);
/// 400 unless it is `auto`, `cpu` or `gpu`.
[[nodiscard]] Decoded<engine::DeviceChoice> device_choice_of(std::string_view text,
                                                             const Path& path);
/// 400 for no slices, 422 for an index beyond them.
[[nodiscard]] Decoded<> check_slice(const payload::Slice& slice, const Path& path);
/// 400 unless it has at least 4 points and ends where it begins.
[[nodiscard]] Decoded<> check_ring(std::span<const payload::GeoPoint> ring, const Path& path);

/// 422 if the text of a shard key is too long.
[[nodiscard]] Decoded<> check_shard_key(std::string_view text, const Path& path);

}  // namespace quiver::service::json
