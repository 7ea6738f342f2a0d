#include "client/pg_claim_store.hpp"

#include "client/store_error.hpp"

namespace ql3 {

namespace {

// Times as ISO 8601 in UTC whatever the session's settings are; the offset of UTC is added by
// utc_text. An infinite time stays the word.
constexpr char claim_statement[] =
    "SELECT kind, id, run_id, status,"
    " pg_catalog.to_jsonb(created_at AT TIME ZONE 'UTC') #>> '{}',"
    " pg_catalog.to_jsonb(lost_at AT TIME ZONE 'UTC') #>> '{}',"
    " owner, token::text, version,"
    " pg_catalog.floor(EXTRACT(epoch FROM lease_left) * 1000)::bigint, failure_count, source::text"
    " FROM ql3.ql3_claim($1::text, $2::integer, $3::interval, $4::uuid, $5::text[])";

constexpr char renew_statement[] =
    "SELECT ordinal, kind, id, result FROM ql3.ql3_renew_page($1::text, $2::uuid, $3::text[],"
    " $4::text[], $5::bigint[], $6::interval)";

constexpr char settle_statement[] =
    "SELECT ql3.ql3_settle($1::text, $2::text, $3::text, $4::uuid, $5::bigint, $6::text,"
    " $7::interval, $8::text)";

constexpr char conclude_statement[] =
    "SELECT ql3.ql3_conclude($1::text, $2::text, $3::text, $4::uuid, $5::bigint, $6::text,"
    " $7::jsonb)";

constexpr char give_back_statement[] =
    "SELECT ordinal, kind, id, result FROM ql3.ql3_give_back($1::text, $2::uuid, $3::text[],"
    " $4::text[], $5::bigint[])";

std::string interval_parameter(Milliseconds length) {
  return std::to_string(length.count()) + " milliseconds";
}

Parameter utc_text(Parameter time) {
  if (time && !time->empty() && time->back() >= '0' && time->back() <= '9') *time += 'Z';
  return time;
}

struct PageColumns {
  std::string kinds, ids, versions;
};

PageColumns columns_of(std::span<const Held> held) {
  std::vector<std::string> kinds, ids, versions;
  for (const Held& one : held) {
    kinds.push_back(one.kind);
    ids.push_back(one.id);
    versions.push_back(std::to_string(one.version));
  }
  return {array_parameter(kinds), array_parameter(ids), array_parameter(versions)};
}

[[noreturn]] void malformed(std::string_view phrase) {
  throw StoreError(StoreCode::malformed, phrase);
}

// The answer to a page call must be one row per position; any order is accepted.
template <typename Word>
std::vector<Word> page_words(const Result& result, std::span<const Held> held, std::string_view yes,
                             Word yes_word, std::string_view no, Word no_word) {
  if (result.rows() != static_cast<int>(held.size())) malformed("rows are missing in the answer");
  std::vector<std::optional<Word>> words(held.size());
  for (int row = 0; row < result.rows(); ++row) {
    const std::int64_t ordinal = result.integer(row, 0);
    if (ordinal < 1 || ordinal > static_cast<std::int64_t>(held.size())) {
      malformed("an answer has a position that was not asked");
    }
    const auto at = static_cast<std::size_t>(ordinal - 1);
    if (words[at] || result.text(row, 1) != held[at].kind || result.text(row, 2) != held[at].id) {
      malformed("an answer speaks about another target");
    }
    const std::string_view word = result.text(row, 3);
    if (word != yes && word != no) malformed("an answer has a word that is not known");
    words[at] = word == yes ? yes_word : no_word;
  }
  std::vector<Word> all;
  for (const auto& word : words) all.push_back(*word);
  return all;
}

std::string_view one_word(const Result& result) {
  if (result.rows() != 1 || result.is_null(0, 0)) malformed("the answer is not one word");
  return result.text(0, 0);
}

}  // namespace

std::vector<ClaimedTarget> PgClaimStore::claim(const ClaimRequest& request, const ClaimToken& token,
                                               Clock::Length limit) {
  const Parameter parameters[] = {
      request.owner, std::to_string(request.page_size), interval_parameter(request.lease),
      token.parameter(),
      request.kinds.empty() ? Parameter() : Parameter(array_parameter(request.kinds))};
  const Result result = connection_.query(claim_statement, parameters, limit);
  std::vector<ClaimedTarget> page;
  for (int row = 0; row < result.rows(); ++row) {
    page.push_back({{std::string(result.text(row, 0)), std::string(result.text(row, 1)),
                     result.optional_text(row, 2), result.optional_text(row, 3),
                     utc_text(result.optional_text(row, 4)), utc_text(result.optional_text(row, 5)),
                     result.optional_text(row, 11)},
                    std::string(result.text(row, 6)),
                    ClaimToken(std::string(result.text(row, 7))),
                    result.integer(row, 8),
                    Milliseconds(result.integer(row, 9)),
                    static_cast<int>(result.integer(row, 10))});
  }
  return page;
}

std::vector<Renewed> PgClaimStore::renew_page(const Holder& holder, std::span<const Held> held,
                                              Milliseconds lease, Clock::Length limit) {
  const PageColumns columns = columns_of(held);
  const Parameter parameters[] = {holder.owner,     holder.token.parameter(),
                                  columns.kinds,    columns.ids,
                                  columns.versions, interval_parameter(lease)};
  return page_words(connection_.query(renew_statement, parameters, limit), held, "renewed",
                    Renewed::renewed, "fenced", Renewed::fenced);
}

Settled PgClaimStore::settle(const Holder& holder, const Held& held, disposition how,
                             std::optional<Milliseconds> delay, const std::string& note,
                             Clock::Length limit) {
  const Parameter parameters[] = {held.kind,
                                  held.id,
                                  holder.owner,
                                  holder.token.parameter(),
                                  std::to_string(held.version),
                                  std::string(to_text(how)),
                                  delay ? Parameter(interval_parameter(*delay)) : Parameter(),
                                  note.empty() ? Parameter() : Parameter(note)};
  const Result result = connection_.query(settle_statement, parameters, limit);
  const std::string_view word = one_word(result);
  if (word == "settled") return Settled::settled;
  if (word == "fenced") return Settled::fenced;
  malformed("settle answered a word that is not known");
}

Concluded PgClaimStore::conclude(const Holder& holder, const Held& held, const std::string& verdict,
                                 const std::string& evidence, Clock::Length limit) {
  const Parameter parameters[] = {held.kind,
                                  held.id,
                                  holder.owner,
                                  holder.token.parameter(),
                                  std::to_string(held.version),
                                  verdict,
                                  evidence.empty() ? Parameter() : Parameter(evidence)};
  const Result result = connection_.query(conclude_statement, parameters, limit);
  const std::string_view word = one_word(result);
  if (word == "concluded") return Concluded::concluded;
  if (word == "stale") return Concluded::stale;
  if (word == "fenced") return Concluded::fenced;
  malformed("conclude answered a word that is not known");
}

std::vector<GivenBack> PgClaimStore::give_back(const Holder& holder, std::span<const Held> held,
                                               Clock::Length limit) {
  const PageColumns columns = columns_of(held);
  const Parameter parameters[] = {holder.owner, holder.token.parameter(), columns.kinds,
                                  columns.ids, columns.versions};
  return page_words(connection_.query(give_back_statement, parameters, limit), held, "released",
                    GivenBack::released, "fenced", GivenBack::fenced);
}

}  // namespace ql3
