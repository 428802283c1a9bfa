#include "index/multi/build.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "base/io/section_file.h"
#include "encoders/fde/params.h"
#include "index/dense/lists/search/lists_files.h"
#include "index/index_file.h"
#include "index/multi/stages/document_vectors.h"
#include "index/multi/stages/probe.h"
#include "index/multi/tokens/sections.h"
#include "index/progress.h"

namespace quiver::index::multi {
namespace {

constexpr std::string_view kTokensFile = "tokens.qvx";
constexpr SectionFormat kTokensFormat{"multi-vector index's tokens", "QVMULTOK", "QVMULTEN"};
constexpr std::string_view kSignsFile = "signs.qvx";
constexpr SectionFormat kSignsFormat{"multi-vector index's signs", "QVMULSIG", "QVMULSEN"};
constexpr std::string_view kFile = "multi.qvx";
constexpr SectionFormat kFormat{"multi-vector index", "QVMULTI1", "QVMULEND"};
/// Exists only during a build.
constexpr std::string_view kVectorsFile = "vectors.tmp";

/// Shares of the progress at which each part ends.
struct Shares {
  double tokens = 0.2;
  double probe = 0.4;
  double vectors = 0.8;
};

/// Fitting features takes longer than the rest of a build.
Shares shares_of(const MultiBuildParams& params, const BuildContext& context) {
  const bool is_asked = context.queries != nullptr && !context.queries->queries.empty();
  const bool may_fit = params.stage == "features" || (params.stage == "auto" && is_asked);
  return may_fit ? Shares{0.1, 0.8, 0.95} : Shares();
}

/// Up to this many documents one list is scanned whole. FDEs always have one list: the vector of a
/// query lies as far from those of its documents as from most others (docs/decisions/0020).
constexpr std::uint32_t kMaxDocumentsInOneList = 100'000;

dense::ListsBuildParams list_params(const MultiBuildParams& params, const FieldColumn& vectors,
                                    const MultiFacts& facts) {
  const bool is_one =
      vectors.n_present <= kMaxDocumentsInOneList || facts.stage.kind == StageKind::kFde;
  dense::ListsBuildParams lists;
  lists.n_lists = params.n_lists == 0 && is_one ? 1 : params.n_lists;
  lists.spill = lists.n_lists != 1;
  lists.bits = scanned_bits(params, vectors.schema.dim);
  lists.refine_bits = facts.usual_pool != 0 ? 0 : params.refine_bits;
  lists.signs = false;
  return lists;
}

Result<> write_tokens(const FieldColumn& column, const MultiBuildParams& params,
                      const BuildContext& context, Directory& out) {
  QV_TRY(auto file, out.create_file(kTokensFile));
  SectionWriter writer(kTokensFormat, std::move(file));
  QV_TRY(TokenCodes::write(column, params.token_bits, context, writer));
  return writer.finish(column.n_rows);
}

Result<TokenCodes> open_tokens(const Directory& directory, const FieldColumn& column,
                               std::uint64_t& n_bytes) {
  QV_TRY(const auto reader,
         open_index_file(directory, kTokensFile, kTokensFormat, column.n_rows, n_bytes));
  return TokenCodes::open(reader, column);
}

Result<> write_signs(const FieldColumn& column, const TokenCodes& codes,
                     const BuildContext& context, Directory& out) {
  QV_TRY(auto file, out.create_file(kSignsFile));
  SectionWriter writer(kSignsFormat, std::move(file));
  QV_TRY(TokenSigns::write(column, codes, context, writer));
  return writer.finish(column.n_rows);
}

Result<TokenSigns> open_signs(const Directory& directory, const FieldColumn& column,
                              const TokenCodec& codec, std::uint64_t& n_bytes) {
  QV_TRY(const auto reader,
         open_index_file(directory, kSignsFile, kSignsFormat, column.n_rows, n_bytes));
  return TokenSigns::open(reader, column, codec);
}

/// Chooses the first stage, and keeps signs if searches are cheaper with them.
Result<Choice> choose(const FieldColumn& column, const TokenCodes& codes,
                      const MultiBuildParams& params, const BuildContext& context, Directory& out) {
  if (!params.signs) return choose_stage(column, codes, nullptr, params, context);
  std::uint64_t n_bytes = 0;
  QV_TRY(write_signs(column, codes, context, out));
  QV_TRY(const auto signs, open_signs(out, column, codes.codec(), n_bytes));
  QV_TRY(auto choice, choose_stage(column, codes, &signs, params, context));
  if (choice.facts.usual_pool == 0) QV_TRY(out.remove_file(kSignsFile));
  return choice;
}

/// Encodes all documents as single vectors and writes their lists.
Result<> write_lists(const FieldColumn& column, const Choice& choice,
                     const MultiBuildParams& params, const BuildContext& context, Directory& out) {
  const Shares shares = shares_of(params, context);
  const auto encoding = part_of(context, column.n_rows, shares.probe, shares.vectors);
  const auto listing = part_of(context, column.n_rows, shares.vectors, 1);
  QV_TRY(const auto vectors,
         encode_documents(column, *choice.stage.encoder, encoding, out, kVectorsFile));
  const dense::RowTransform rotation(vectors.dense().dim, context.seed);
  const dense::RowSource source(vectors, rotation);
  QV_TRY(dense::write_lists(source, list_params(params, vectors, choice.facts), {}, listing, out));
  return out.remove_file(kVectorsFile);
}

/// Limits on FDE dimensions: larger encodings take seconds per document.
constexpr std::uint64_t kMaxFdeDims = 1 << 20;
constexpr std::uint64_t kMaxScannedDims = 1 << 17;

Result<> check_fde(const MultiBuildParams& params) {
  const std::uint32_t block = params.projection;
  if (block % 16 != 0 && block != 1 && block != 2 && block != 4 && block != 8) {
    return fail(Code::kInvalidArgument,
                fmt::format("projection is {}, must be 1, 2, 4, 8 or a multiple of 16", block));
  }
  if (params.final_dim % 16 != 0) {
    return fail(Code::kInvalidArgument,
                fmt::format("final_dim is {}, must be a multiple of 16", params.final_dim));
  }
  const encoders::FdeParams usual;
  const std::uint64_t n_dims =
      std::uint64_t{params.repetitions != 0 ? params.repetitions : usual.repetitions} *
      (std::uint64_t{1} << (params.planes != 0 ? params.planes : usual.planes)) *
      (block != 0 ? block : usual.projected_dim);
  const std::uint64_t most = params.final_dim != 0 ? kMaxFdeDims : kMaxScannedDims;
  if (n_dims <= most) return {};
  return fail(Code::kInvalidArgument,
              fmt::format("repetitions * 2^planes * projection is {}, must be at most {}{}", n_dims,
                          most, params.final_dim != 0 ? "" : "; final_dim makes vectors shorter"));
}

/// Facts of the probe; old files have none.
Result<ProbeFacts> open_probe_facts(const SectionReader& reader) {
  if (!reader.has(kProbeFacts)) return ProbeFacts{};
  QV_TRY(const auto facts, reader.get<ProbeFacts>(kProbeFacts, 0, 1));
  return facts[0];
}

}  // namespace

Result<> check(const MultiBuildParams& params) {
  if (params.stage != "auto") QV_TRY(parse_stage(params.stage));
  QV_TRY(check_fde(params));
  if (params.features % 32 != 0 || (params.features != 0 && params.features < 64)) {
    return fail(
        Code::kInvalidArgument,
        fmt::format("features is {}, must be a multiple of 32 from 64 on, or 0", params.features));
  }
  if (params.token_bits != 8 && params.token_bits != 4 && params.token_bits != 2) {
    return fail(Code::kInvalidArgument,
                fmt::format("token_bits is {}, must be 8, 4 or 2", params.token_bits));
  }
  return dense::check_refine_bits(params.refine_bits);
}

Result<> build_files(const FieldColumn& column, const MultiBuildParams& params,
                     const BuildContext& context, Directory& out) {
  const Shares shares = shares_of(params, context);
  QV_TRY(write_tokens(column, params, part_of(context, column.n_rows, 0, shares.tokens), out));
  std::uint64_t n_bytes = 0;
  QV_TRY(const auto codes, open_tokens(out, column, n_bytes));
  QV_TRY(const auto choice,
         choose(column, codes, params, part_of(context, column.n_rows, shares.tokens, shares.probe),
                out));
  QV_TRY(write_lists(column, choice, params, context, out));
  QV_TRY(auto file, out.create_file(kFile));
  SectionWriter writer(kFormat, std::move(file));
  writer.section(kFacts, std::span<const MultiFacts>(&choice.facts, 1));
  writer.section(kProbe, std::span<const ProbeRow>(choice.probe));
  writer.section(kMap, std::span<const std::uint16_t>(choice.stage.map));
  if (choice.probed.n_documents != 0) {
    writer.section(kProbeFacts, std::span<const ProbeFacts>(&choice.probed, 1));
  }
  return writer.finish(column.n_rows);
}

Result<MultiParts> open_files(const Directory& directory, const FieldColumn& column) {
  std::uint64_t n_bytes = 0;
  QV_TRY(const auto reader, open_index_file(directory, kFile, kFormat, column.n_rows, n_bytes));
  QV_TRY(const auto facts, reader.get<MultiFacts>(kFacts, 0, 1));
  QV_TRY(const auto probe, reader.get<ProbeRow>(kProbe));
  QV_TRY(const auto map, reader.get<std::uint16_t>(kMap));
  QV_TRY(const auto probed, open_probe_facts(reader));
  if (!are_possible(facts[0].stage, column.schema.dim)) {
    return reader.damaged("a first stage that does not fit the field, or of another version");
  }
  auto encoder = query_encoder(facts[0].stage, map.span());
  if (!encoder || (*encoder)->dim() != facts[0].stage.dim) {
    return reader.damaged("a first stage that does not fit the field");
  }
  QV_TRY(auto tokens, open_tokens(directory, column, n_bytes));
  std::optional<TokenSigns> signs;
  if (facts[0].usual_pool != 0) {
    QV_TRY(signs, open_signs(directory, column, tokens.codec(), n_bytes));
  }
  const auto schema = vector_schema(facts[0].stage.dim);
  QV_TRY(auto lists, dense::open_lists(directory, {schema, column.n_rows, column.n_present}));
  return MultiParts{facts[0],
                    probe,
                    probed,
                    *std::move(encoder),
                    map.span().size_bytes(),
                    std::move(tokens),
                    std::move(signs),
                    std::move(lists.candidates),
                    n_bytes + lists.n_bytes};
}

}  // namespace quiver::index::multi
