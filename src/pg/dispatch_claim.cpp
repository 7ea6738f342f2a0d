// ql3_dispatch_claim and ql3_dispatch_permit: durable intent, then permission once.
#include <algorithm>

#include "dispatch_rows.hpp"
#include "durability.hpp"
#include "result_set.hpp"
#include "session.hpp"
#include "top_level.hpp"
#include "try_lock.hpp"

namespace ql3::pg {

namespace {

constexpr const char* finished_hint = "a finished item needs a new request uid";

struct claim_verdict {
  std::string_view word;
  std::optional<attempt_row> standing;
  std::optional<std::string_view> detail;
};

struct dispatch_request {
  item_name name;
  identity what;
  std::string_view writer;
  token with;
  std::int64_t observe_after;
};

bool is_own(const attempt_row& row, const dispatch_request& request) {
  return row.writer == request.writer && same_digest(row.token_digest, request.with.digest);
}

std::string_view kept_view(const message_text<512>& text) { return keep_text(text.view()); }

// The verdicts in the documented order; the first that holds is the answer. REQUIRES: the
// item's lock.
claim_verdict claim_item(const dispatch_request& request) {
  std::optional<attempt_row> const own = attempt_of_token(request.name, request.with.digest);
  if (own && own->facts.released) return {"released", own, "the token was released: make a new one"};
  if (std::optional<std::string_view> const key = difference_from_known(request.name, request.what)) {
    message_text<512> detail;
    detail << "the item has another " << quoted{*key} << "; another action needs another item or request uid";
    return {"identity_conflict", unreleased_attempt(request.name), kept_view(detail)};
  }
  if (std::optional<attempt_row> const done = concluded_attempt(request.name))
    return {"concluded", done, finished_hint};
  if (std::optional<attempt_row> const standing = own ? own : unreleased_attempt(request.name)) {
    if (is_own(*standing, request)) return {"recorded", standing, {}};
    return {"foreign", standing, "another writer has this item: ql3_dispatch_observe tells what becomes of it"};
  }
  live_lineage const live = read_live_lineage();
  if (std::optional<halt_reason> const why = halted(live)) {
    message_text<512> detail;
    detail << why->message << ". " << why->hint;
    return {"halted", {}, kept_view(detail)};
  }
  new_attempt fresh{};
  fresh.name = request.name;
  fresh.what = request.what;
  fresh.writer = request.writer;
  fresh.token_digest = request.with.digest;
  fresh.lineage = ensure_lineage_row(live);
  fresh.claimed_at = clock_now();
  fresh.observe_after = request.observe_after;
  insert_attempt(fresh);
  return {"recorded", attempt_of_token(request.name, request.with.digest), {}};
}

Datum dispatch_claim(FunctionCallInfo fcinfo) {
  require_writable("ql3_dispatch_claim");
  require_read_committed("ql3_dispatch_claim");
  arguments const given(fcinfo);
  dispatch_request request{read_item(given), read_identity(given, 2, 3), given.text(4, "writer"), {}, 0};
  check_owner(request.writer, "writer");
  request.with = read_token(given, 5);
  request.observe_after = check_observe_after(given.length(6, "observe_after"));
  result_set result(fcinfo);
  in_session([&] {
    bound_transaction();
    force_synchronous_commit();
    lock_item(request.name);
    claim_verdict const verdict = claim_item(request);
    result_row row;
    row.text(verdict.word);
    if (verdict.standing)
      row.text(to_text(state_of(verdict.standing->facts))).time(verdict.standing->claimed_at);
    else
      row.null().null();
    row.text(verdict.detail).into(result);
  }, versions_may::agree, pin_when::needed);
  return Datum(0);
}

bool permit_attempt(const item_name& name, std::string_view writer, const token& with, const token& permit) {
  lock_item(name);
  std::optional<attempt_row> own = attempt_of_token(name, with.digest);
  if (!own || own->writer != writer) return false;
  if (!may_permit(own->facts) || count_unreleased(name) != 1) return false;
  // A halt by hand waits for the permits that are being given: none is answered after it.
  wait_shared_lock(lock_space::halt, 0);
  live_lineage const live = read_live_lineage();
  if (std::optional<halt_reason> const why = halted(live))
    throw error(sqlstate::not_in_prerequisite_state, why->message, why->hint);
  // Last: a halted server says so of every attempt, also of one that is of an earlier lineage and
  // gets none.
  own->facts.own_lineage = live.row && *live.row == own->lineage;
  if (!may_permit(own->facts)) return false;
  flush_what_is_visible();
  own->permit_digest = permit.digest;
  own->facts.permitted = true;
  own->permitted_at = clock_now();
  own->observe_at = std::max(own->observe_at, later(*own->permitted_at, own->observe_after));
  update_attempt(name, *own);
  // What the permission stands on is visible; it must also survive. The error takes the mark back.
  if (!standbys_have_all())
    throw error(sqlstate::lock_not_available, "the claim is not yet proven to be durable",
                "Repeat with the same permit id; if it persists, look at synchronous_standby_names "
                "and its standbys.");
  return true;
}

Datum dispatch_permit(FunctionCallInfo fcinfo) {
  require_writable("ql3_dispatch_permit");
  require_statement_of_its_own(fcinfo, "ql3_dispatch_permit");
  require_read_committed("ql3_dispatch_permit");
  arguments const given(fcinfo);
  item_name const name = read_item(given);
  std::string_view const writer = given.text(2, "writer");
  check_owner(writer, "writer");
  token const with = read_token(given, 3);
  token const permit = read_token(given, 4, "permit");
  return BoolGetDatum(in_session([&] {
    bound_transaction();
    force_synchronous_commit();
    return permit_attempt(name, writer, with, permit);
  }, versions_may::agree, pin_when::needed));
}

}  // namespace

}  // namespace ql3::pg

QL3_FUNCTION(ql3_dispatch_claim, ql3::pg::dispatch_claim)
QL3_FUNCTION(ql3_dispatch_permit, ql3::pg::dispatch_permit)
