// ql3_claim.
#include <algorithm>
#include <tuple>

#include "installed.hpp"
#include "recovery_pages.hpp"
#include "result_set.hpp"
#include "session.hpp"
#include "try_lock.hpp"

namespace ql3::pg {

namespace {

constexpr int pages_forgotten_by_claim = 4;

enum claim_argument : int { arg_owner, arg_page_size, arg_lease, arg_token, arg_kinds };

void add_row(result_set& result, std::string_view kind, const facts& now, instant observed_at, std::string_view owner,
             const token& with, std::int64_t version, instant expires_at, std::int32_t failure_count) {
  result_row()
      .text(kind).text(now.id).text(now.run_id).text(now.status).time(now.created_at).time(now.lost_at)
      .time(observed_at).text(owner).uuid(with.bytes).number(version).time(expires_at)
      .length(std::max<std::int64_t>(expires_at - clock_now(), 0)).number32(failure_count).json(now.further)
      .into(result);
}

void warn_long(std::string_view kind, std::string_view id) {
  warn("22001", (message_text<512>() << "the further columns of " << kind << " " << quoted{id} << " exceed "
                                     << source_json_max << " bytes, or one of its page is no JSON: left out").view());
}

[[noreturn]] void refuse_other(const char* argument) {
  throw error(sqlstate::invalid_parameter,
              (message_text<160>() << "the token was used with another " << argument).view(),
              "A claim is repeated with the same arguments; a new claim needs a new token.");
}

void check_same_request(const remembered_page& page, const claim_request& request,
                        const std::optional<bounded<std::string_view>>& kinds) {
  if (page.owner != request.owner) refuse_other("owner");
  if (page.page_size != request.page_size) refuse_other("page_size");
  if (page.kinds.has_value() != kinds.has_value() || (kinds && *page.kinds != *kinds)) refuse_other("kinds");
}

// The repeat of a claim: what is still held of its page, and nothing new.
void return_held(result_set& result, const remembered_page& page, const token& with,
                 const per_source<source>& sources) {
  bounded<locked_control> held;
  instant const clock = clock_now();
  for (std::size_t at = 0; at < page.target_ids.size(); ++at) {
    std::optional<locked_control> const row = read_control(page.target_kinds[at], page.target_ids[at]);
    if (row && row->control.st == state::claimed && same_digest(row->token_digest, with.digest) &&
        claim_is_valid(clock, row->control.expires_at))
      held.push_back(*row);
  }
  if (held.empty())
    throw error(sqlstate::invalid_parameter, "the page of this token is over",
                "A token claims once; a new claim needs a new token.");
  std::sort(held.begin(), held.end(), [](const locked_control& a, const locked_control& b) {
    return std::tie(a.lost_at, a.kind, a.id) < std::tie(b.lost_at, b.kind, b.id);
  });
  for (const locked_control& row : held) {
    facts now{};
    now.id = row.id;
    now.run_id = row.run_id;
    now.status = row.status;
    now.created_at = row.created_at;
    now.lost_at = row.lost_at;
    for (const source& each : sources) {
      if (each.kind != row.kind) continue;
      source_reader reader(each);
      wanted_row wanted{row.id, row.lost_at, false, {}};
      reader.look_up(&wanted, 1);
      if (wanted.listed) now.further = wanted.now.further;
    }
    add_row(result, row.kind, now, row.observed_at, *row.owner, with, row.control.version, row.control.expires_at,
            row.control.failure_count);
  }
}

void hand_out(result_set& result, const claim_page& page, const claim_request& request, const token& with) {
  bounded<const taken_target*> sorted;
  for (const taken_target& each : page.targets()) sorted.push_back(&each);
  std::sort(sorted.begin(), sorted.end(), [&](const taken_target* a, const taken_target* b) {
    return std::tie(a->now.lost_at, page.reader_of(*a).from().kind, a->now.id) <
           std::tie(b->now.lost_at, page.reader_of(*b).from().kind, b->now.id);
  });
  for (const taken_target* each : sorted) {
    std::string_view const kind = page.reader_of(*each).from().kind;
    if (!each->now.further) warn_long(kind, each->now.id);
    add_row(result, kind, each->now, page.stamp().observed_at, request.owner, with, each->version,
            page.stamp().expires_at, each->failure_count);
  }
}

Datum claim(FunctionCallInfo fcinfo) {
  require_writable("ql3_claim");
  require_read_committed("ql3_claim");
  arguments const given(fcinfo);
  claim_request request{};
  request.owner = given.owner(arg_owner);
  request.page_size = given.number32(arg_page_size, "page_size");
  check_page_size(request.page_size);
  request.lease = check_lease(given.length(arg_lease, "lease"));
  bool const own_token = !given.is_null(arg_token);
  token with = own_token ? read_token(given, arg_token) : random_token();
  bind_to_installation(with);
  request.token_digest = with.digest;
  result_set result(fcinfo);

  in_session([&] {
    std::optional<bounded<std::string_view>> kinds = read_kinds(given, arg_kinds);
    if (kinds) std::sort(kinds->begin(), kinds->end());
    per_source<source> const sources = sources_of(kinds);
    bound_transaction();
    refuse_prepare();
    intend_to_write("recovery_pages");
    if (own_token) {
      if (!try_transaction_lock(lock_space::token, lock_key("token", {reinterpret_cast<const char*>(with.digest),
                                                                       digest_size})))
        throw error(sqlstate::lock_not_available, "a claim with this token is still in progress",
                    "Repeat it: the first one commits or ends soon.");
      if (std::optional<remembered_page> const known = find_page(with.digest)) {
        check_same_request(*known, request, kinds);
        return_held(result, *known, with, sources);
        return;
      }
    }
    // A repeat is answered above: what it returns is held, whatever was paused since.
    per_source<source> const open = unpaused(sources, !kinds.has_value());
    seed_discovery(open);
    claim_page page(request, open);
    page.fill();
    for (const source_reader& each : page.readers()) {
      if (each.is_blind()) warn_blind(each.from(), each.why());
      each.warn_of_flaw();
    }
    if (page.targets().empty()) return;
    hand_out(result, page, request, with);
    remember_page(request, kinds, page);
    forget_old_pages(page.stamp().claimed_at, pages_forgotten_by_claim, false);
  });
  return Datum(0);
}

}  // namespace

}  // namespace ql3::pg

QL3_FUNCTION(ql3_claim, ql3::pg::claim)
