// ql3_prune and ql3_forget.
#include "prune.hpp"

#include "audit.hpp"
#include "recovery_pages.hpp"
#include "session.hpp"
#include "tombstones.hpp"
#include "try_lock.hpp"

namespace ql3::pg {

namespace {

constexpr int forget_max = 10'000;

// The oldest by number, which is by time but for a clock that was set: no index on the time is needed, and what is
// looked at is bounded.
constinit statement prune_history{
    "DELETE FROM ql3.judgements WHERE judgement_id IN"
    " (SELECT oldest.judgement_id"
    "    FROM (SELECT judgement_id, judged_at FROM ql3.judgements ORDER BY judgement_id LIMIT $2) AS oldest"
    "   WHERE oldest.judged_at < $1)",
    TIMESTAMPTZOID, INT8OID};

std::int64_t prune_rows(std::int64_t older_than, int batch) {
  intend_to_write("recovery_kinds", "dispatches", "dispatch_tombstones", "recovery_pages", "judgements");
  if (!try_transaction_lock(lock_space::prune, 0))
    throw error(sqlstate::lock_not_available, "another prune is in progress", "Repeat it: the first one ends soon.");
  instant const clock = clock_now();
  instant const cutoff = later(clock, -older_than);
  int left = batch;
  auto count = [&](int removed) {
    left -= removed;
    return removed;
  };
  // Control rows before items before the audit chain: the lock order.
  int const controls = count(prune_controls(cutoff, left));
  int const dispatches = left > 0 ? count(prune_dispatches(cutoff, left)) : 0;
  int const pages = left > 0 ? count(forget_old_pages(clock, left, true)) : 0;
  int const history =
      left > 0 ? count(static_cast<int>(prune_history.write(params().time(cutoff).number(left)))) : 0;
  int const removed = batch - left;
  if (removed > 0) {
    message_text<256> after;
    after << "{\"older_than_us\": " << older_than << ", \"controls\": " << controls
          << ", \"dispatches\": " << dispatches << ", \"pages\": " << pages << ", \"judgements\": " << history << "}";
    audit({"prune", {}, {}, {}, {}, after.view()});
  }
  return removed;
}

Datum prune(FunctionCallInfo fcinfo) {
  require_writable("ql3_prune");
  arguments const given(fcinfo);
  std::int64_t const older_than = check_older_than(given.length(0, "older_than"));
  std::int32_t const batch = given.number32(1, "batch");
  check_batch(batch);
  return number_datum(in_session([&] {
    bound_idle();
    refuse_prepare();
    return prune_rows(older_than, batch);
  }));
}

Datum forget(FunctionCallInfo fcinfo) {
  require_writable("ql3_forget");
  arguments const given(fcinfo);
  std::string_view const request_uid = given.text(0, "request_uid");
  check_id(request_uid, "request_uid");
  std::string_view const reason = given.reason(1);
  return number_datum(in_session([&] {
    bound_idle();
    intend_to_write("dispatch_tombstones");
    // An attempt that another transaction is just writing counts: it is waited for, and looked at afterwards.
    wait_transaction_lock(lock_space::request, request_key(request_uid));
    if (has_attempts(request_uid))
      throw error(sqlstate::object_in_use,
                  (message_text<256>() << "request " << quoted{request_uid} << " has attempts that are not pruned")
                      .view(),
                  "ql3.ql3_prune(older_than) turns decided attempts into tombstones; what is claimed, unknown or in "
                  "conflict stays.");
    std::int64_t const removed = remove_tombstones(request_uid, forget_max);
    if (removed > 0) {
      message_text<64> after;
      after << "{\"tombstones\": " << removed << "}";
      audit({"forget", dispatch_kind, request_uid, reason, {}, after.view()});
    }
    return removed;
  }));
}

}  // namespace

}  // namespace ql3::pg

QL3_FUNCTION(ql3_prune, ql3::pg::prune)
QL3_FUNCTION(ql3_forget, ql3::pg::forget)
