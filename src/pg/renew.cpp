// ql3_renew, ql3_renew_page and ql3_give_back.
#include <algorithm>

#include "session.hpp"
#include "target_results.hpp"

namespace ql3::pg {

namespace {

constexpr std::string_view fenced = "fenced";

std::string_view renew_one(const claim_name& name, const fenced_claim& found, std::int64_t lease,
                           page_sources& sources) {
  if (!found.holds) return fenced;
  const locked_control& row = *found.row;
  const source* const from = sources.of(name.kind);
  std::optional<std::int64_t> const max_hold = from ? from->max_hold : std::nullopt;
  instant const old_expiry = row.control.expires_at;
  if (hold_is_used_up(found.clock, lease, old_expiry, *row.claimed_at, max_hold)) return fenced;
  instant const expiry = renewed_expiry(found.clock, lease, old_expiry, *row.claimed_at, max_hold);
  if (expiry == old_expiry) return "renewed";
  // The due key moves only when it would pass before the next renewal, to judge by the time since the last one: most
  // renewals then write no index entry. It never lies after the expiry, so a takeover is never late for it.
  std::optional<instant> due;
  std::int64_t const since = std::clamp<std::int64_t>(found.clock - (old_expiry - lease), 0, lease);
  if (row.due_at && *row.due_at - found.clock <= since / 2 + since / 4) due = expiry;
  extend_claim(row, expiry, due);
  return "renewed";
}

std::string_view give_back_one(const claim_name& name, const fenced_claim& found, page_sources&) {
  unsigned char request[digest_size];
  request_of("give_back", name).digest(request);
  if (!found.holds) return repeated(found, request).value_or(fenced);
  constexpr std::string_view word = "released";
  end_claim(*found.row,
            {state::available, {}, found.clock, found.row->control.failure_count, request, word, {}});
  return word;
}

Datum renew(FunctionCallInfo fcinfo) {
  require_writable("ql3_renew");
  arguments const given(fcinfo);
  token with;
  claim_name const name = read_claim(given, with);
  std::int64_t const lease = check_lease(given.length(5, "lease"));
  return text_datum(in_session([&] {
    bound_transaction();
    page_sources sources;
    return renew_one(name, lock_claim(name), lease, sources);
  }));
}

template <class One>
Datum for_page(FunctionCallInfo fcinfo, const arguments& given, One&& one) {
  claim_page_names page;
  read_claim_page(given, page);
  result_set result(fcinfo);
  in_session([&] {
    bound_transaction();
    page_sources sources;
    auto const answers = with_claims(page, [](const bounded<fenced_claim>&) {},
                                     [&](int at, const fenced_claim& found, int) {
                                       return one(page.names[at], found, sources);
                                     });
    add_target_results(result, page, answers);
  });
  return Datum(0);
}

Datum renew_page(FunctionCallInfo fcinfo) {
  require_writable("ql3_renew_page");
  arguments const given(fcinfo);
  std::int64_t const lease = check_lease(given.length(5, "lease"));
  return for_page(fcinfo, given, [&](const claim_name& name, const fenced_claim& found, page_sources& sources) {
    return renew_one(name, found, lease, sources);
  });
}

Datum give_back(FunctionCallInfo fcinfo) {
  require_writable("ql3_give_back");
  return for_page(fcinfo, arguments(fcinfo), give_back_one);
}

}  // namespace

}  // namespace ql3::pg

QL3_FUNCTION(ql3_renew, ql3::pg::renew)
QL3_FUNCTION(ql3_renew_page, ql3::pg::renew_page)
QL3_FUNCTION(ql3_give_back, ql3::pg::give_back)
