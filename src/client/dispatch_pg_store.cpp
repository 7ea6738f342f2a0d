#include "client/dispatch_pg_store.hpp"

#include <utility>

#include "client/store_error.hpp"

namespace ql3 {

namespace {

// Whether the server takes writes, and where its log stands.
#define QL3_LOG_PLACE                                                                            \
  "NOT pg_catalog.pg_is_in_recovery()"                                                           \
  " AND pg_catalog.current_setting('transaction_read_only') OPERATOR(pg_catalog.=) 'off',"       \
  " ('x' OPERATOR(pg_catalog.||) pg_catalog.substr("                                             \
  "pg_catalog.pg_walfile_name(pg_catalog.pg_current_wal_insert_lsn()), 1, 8))::bit(32)::bigint," \
  " pg_catalog.pg_wal_lsn_diff(pg_catalog.pg_current_wal_insert_lsn(), '0/0')::bigint"

constexpr char claim_statement[] =
    "SELECT verdict, state, detail, " QL3_LOG_PLACE
    " FROM ql3.ql3_dispatch_claim($1::text, $2::text, $3::text, $4::jsonb, $5::text, $6::uuid,"
    " $7::interval)";

constexpr char look_statement[] = "SELECT " QL3_LOG_PLACE;

#undef QL3_LOG_PLACE

// The server wants this one to stand alone.
constexpr char permit_statement[] =
    "SELECT ql3.ql3_dispatch_permit($1::text, $2::text, $3::text, $4::uuid, $5::uuid)";

constexpr char extend_statement[] =
    "SELECT ql3.ql3_dispatch_extend($1::text, $2::text, $3::text, $4::uuid, $5::interval)";

constexpr char settle_statement[] =
    "SELECT ql3.ql3_dispatch_settle($1::text, $2::text, $3::text, $4::uuid, $5::text, $6::text,"
    " $7::uuid)";

constexpr char reassert_statement[] =
    "SELECT ql3.ql3_dispatch_reassert($1::text, $2::text, $3::text, $4::jsonb, $5::text, $6::uuid,"
    " $7::text)";

std::string interval_parameter(Milliseconds length) {
  return std::to_string(length.count()) + " milliseconds";
}

[[noreturn]] void malformed(std::string_view phrase) {
  throw StoreError(StoreCode::malformed, phrase);
}

template <typename Answer>
struct Word {
  std::string_view text;
  Answer answer;
};

// The answer must be one row whose first column is one of the words.
template <typename Answer, std::size_t size>
Answer answer_of(const Result& result, const Word<Answer> (&words)[size]) {
  if (result.rows() != 1 || result.is_null(0, 0)) malformed("the answer is not one word");
  for (const Word<Answer>& word : words) {
    if (word.text == result.text(0, 0)) return word.answer;
  }
  malformed("the answer is a word that is not known");
}

constexpr Word<ClaimVerdict> claim_words[] = {
    {"recorded", ClaimVerdict::recorded},
    {"released", ClaimVerdict::released},
    {"identity_conflict", ClaimVerdict::identity_conflict},
    {"concluded", ClaimVerdict::concluded},
    {"foreign", ClaimVerdict::foreign},
    {"halted", ClaimVerdict::halted}};
constexpr Word<ExtendAnswer> extend_words[] = {{"extended", ExtendAnswer::extended},
                                               {"foreign", ExtendAnswer::foreign},
                                               {"concluded", ExtendAnswer::concluded},
                                               {"absent", ExtendAnswer::absent}};
constexpr Word<SettleAnswer> settle_words[] = {{"recorded", SettleAnswer::recorded},
                                               {"foreign", SettleAnswer::foreign},
                                               {"concluded", SettleAnswer::concluded},
                                               {"absent", SettleAnswer::absent}};
constexpr Word<ReassertAnswer> reassert_words[] = {{"recorded", ReassertAnswer::recorded},
                                                   {"foreign", ReassertAnswer::foreign},
                                                   {"concluded", ReassertAnswer::concluded}};

}  // namespace

PgDispatchStore::PgDispatchStore(ConnectionOptions options)
    : connection_([this, &options] {
        options.on_notice = [this, next = std::move(options.on_notice)](std::string_view state,
                                                                        std::string_view message) {
          // A commit whose wait for the standbys was cancelled (01000), or whose server stops.
          if (state == "01000" || state == "57P01" || state == "57P02") warned_ = true;
          if (next) next(state, message);
        };
        return std::move(options);
      }()) {}

Result PgDispatchStore::ask(const char* statement, std::span<const Parameter> parameters,
                            Clock::Length limit) {
  warned_ = false;
  Result result = connection_.query(statement, parameters, limit);
  if (warned_) {
    connection_.drop();
    throw StoreError(StoreCode::lost_reply, "the commit was not confirmed by the standbys");
  }
  return result;
}

LogPlace PgDispatchStore::place_of(const Result& result, int column) {
  if (!result.boolean(0, column)) {
    connection_.drop();
    throw StoreError(StoreCode::malformed, "a server that takes no writes has answered");
  }
  return {result.integer(0, column + 1), result.integer(0, column + 2)};
}

ClaimAnswer PgDispatchStore::claim(const DispatchRequest& request, const OneTimeId& token,
                                   Clock::Length limit) {
  const Parameter parameters[] = {request.request_uid,
                                  request.item,
                                  request.action,
                                  request.arguments,
                                  request.writer,
                                  token.parameter(),
                                  interval_parameter(request.observe_after)};
  const Result result = ask(claim_statement, parameters, limit);
  const ClaimVerdict verdict = answer_of(result, claim_words);
  return {verdict, std::string(result.text(0, 1)), std::string(result.text(0, 2)),
          place_of(result, 3)};
}

PermitAnswer PgDispatchStore::permit(const DispatchRequest& request, const OneTimeId& token,
                                     const OneTimeId& permit, Clock::Length limit) {
  const Parameter parameters[] = {request.request_uid, request.item, request.writer,
                                  token.parameter(), permit.parameter()};
  const Result result = ask(permit_statement, parameters, limit);
  if (result.rows() != 1) malformed("the answer is not one truth value");
  if (!result.boolean(0, 0)) return {false, {}};
  try {
    // On the very connection that has just answered: a broken one would be noticed here.
    const Result look = ask(look_statement, {}, limit);
    if (look.rows() != 1) malformed("the answer is not one row");
    return {true, place_of(look, 0)};
  } catch (const StoreError&) {
    connection_.drop();
    throw StoreError(StoreCode::lost_reply, "the server does not say where its log stands");
  }
}

ExtendAnswer PgDispatchStore::extend(const DispatchRequest& request, const OneTimeId& token,
                                     Clock::Length limit) {
  const Parameter parameters[] = {request.request_uid, request.item, request.writer,
                                  token.parameter(), interval_parameter(request.observe_after)};
  return answer_of(ask(extend_statement, parameters, limit), extend_words);
}

SettleAnswer PgDispatchStore::settle(const DispatchRequest& request, const OneTimeId& token,
                                     outcome what, const std::optional<std::string>& detail,
                                     const OneTimeId* permit, Clock::Length limit) {
  const Parameter parameters[] = {request.request_uid,
                                  request.item,
                                  request.writer,
                                  token.parameter(),
                                  std::string(to_text(what)),
                                  detail,
                                  permit == nullptr ? Parameter() : Parameter(permit->parameter())};
  return answer_of(ask(settle_statement, parameters, limit), settle_words);
}

ReassertAnswer PgDispatchStore::reassert(const DispatchRequest& request, const OneTimeId& token,
                                         outcome what, Clock::Length limit) {
  const Parameter parameters[] = {request.request_uid,       request.item,   request.action,
                                  request.arguments,         request.writer, token.parameter(),
                                  std::string(to_text(what))};
  return answer_of(ask(reassert_statement, parameters, limit), reassert_words);
}

}  // namespace ql3
