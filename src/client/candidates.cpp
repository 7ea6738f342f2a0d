#include "client/candidates.hpp"

#include "client/store_error.hpp"

namespace ql3 {

namespace {

// One row more than observed when nothing is listed: the two facts about the server must come from
// the very statement that looked, not from another one on a link that may have moved meanwhile.
constexpr char observe_statement[] =
    "SELECT NOT pg_catalog.pg_is_in_recovery()"
    " AND pg_catalog.current_setting('transaction_read_only') = 'off',"
    " o.kind, o.id, o.run_id, o.status,"
    " pg_catalog.to_jsonb(o.created_at AT TIME ZONE 'UTC') #>> '{}',"
    " pg_catalog.to_jsonb(o.lost_at AT TIME ZONE 'UTC') #>> '{}',"
    " o.state, o.owner, o.version,"
    " pg_catalog.to_jsonb(o.expires_at AT TIME ZONE 'UTC') #>> '{}',"
    " pg_catalog.to_jsonb(o.next_claim_at AT TIME ZONE 'UTC') #>> '{}',"
    " o.failure_count, o.source::text, o.claimable, o.has_more, o.detail"
    " FROM (SELECT 1) AS always LEFT JOIN ql3.ql3_observe($1::integer, $2::text[]) AS o ON true";

constexpr char observe_one_statement[] =
    "SELECT state, owner, version,"
    " pg_catalog.to_jsonb(expires_at AT TIME ZONE 'UTC') #>> '{}',"
    " pg_catalog.to_jsonb(next_claim_at AT TIME ZONE 'UTC') #>> '{}',"
    " failure_count, listed, held FROM ql3.ql3_observe_one($1::text, $2::text, $3::uuid)";

std::optional<std::string> utc_text(std::optional<std::string> time) {
  if (time && !time->empty() && time->back() >= '0' && time->back() <= '9') *time += 'Z';
  return time;
}

std::optional<std::int64_t> optional_integer(const Result& result, int row, int column) {
  if (result.is_null(row, column)) return std::nullopt;
  return result.integer(row, column);
}

bool truth(const Result& result, int row, int column) {
  return !result.is_null(row, column) && result.boolean(row, column);
}

}  // namespace

Observation PgCandidateSource::observe(int page_size, const std::vector<std::string>& kinds,
                                       Clock::Length limit) {
  const Parameter parameters[] = {std::to_string(page_size),
                                  kinds.empty() ? Parameter() : Parameter(array_parameter(kinds))};
  const Result result = connection_.query(observe_statement, parameters, limit);
  if (result.rows() < 1) throw StoreError(StoreCode::malformed, "observe answered nothing at all");
  Observation seen;
  seen.writable = result.boolean(0, 0);
  // A look is no write, so nothing else would tell that this server was demoted under us.
  if (read_write_ && !seen.writable) connection_.drop();
  for (int row = 0; row < result.rows(); ++row) {
    if (result.is_null(row, 1)) continue;
    ObservedTarget one;
    one.target = {std::string(result.text(row, 1)),       std::string(result.text(row, 2)),
                  result.optional_text(row, 3),           result.optional_text(row, 4),
                  utc_text(result.optional_text(row, 5)), utc_text(result.optional_text(row, 6)),
                  result.optional_text(row, 13)};
    one.state = std::string(result.text(row, 7));
    one.owner = result.optional_text(row, 8);
    one.version = optional_integer(result, row, 9);
    one.expires_at = utc_text(result.optional_text(row, 10));
    one.next_claim_at = utc_text(result.optional_text(row, 11));
    one.failure_count = static_cast<int>(optional_integer(result, row, 12).value_or(0));
    one.claimable = truth(result, row, 14);
    seen.has_more = seen.has_more || truth(result, row, 15);
    one.detail = result.optional_text(row, 16);
    seen.rows.push_back(std::move(one));
  }
  return seen;
}

std::optional<TargetState> PgCandidateSource::observe_one(const std::string& kind,
                                                          const std::string& id,
                                                          const ClaimToken* token,
                                                          Clock::Length limit) {
  const Parameter parameters[] = {kind, id,
                                  token != nullptr ? Parameter(token->parameter()) : Parameter()};
  const Result result = connection_.query(observe_one_statement, parameters, limit);
  // A function that returns one composite value says "none" as a row of NULLs.
  if (result.rows() == 0 || result.is_null(0, 0)) return std::nullopt;
  TargetState one;
  one.state = std::string(result.text(0, 0));
  one.owner = result.optional_text(0, 1);
  one.version = optional_integer(result, 0, 2);
  one.expires_at = utc_text(result.optional_text(0, 3));
  one.next_claim_at = utc_text(result.optional_text(0, 4));
  one.failure_count = static_cast<int>(optional_integer(result, 0, 5).value_or(0));
  one.listed = truth(result, 0, 6);
  one.held = truth(result, 0, 7);
  return one;
}

}  // namespace ql3
