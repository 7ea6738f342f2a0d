// ql3_observe and ql3_observe_one: read-only, bounded, also on a hot standby.
#include <algorithm>
#include <tuple>

#include "control_rows.hpp"
#include "installed.hpp"
#include "result_set.hpp"
#include "session.hpp"

namespace ql3::pg {

namespace {

struct listed_target {
  int reader;
  facts now;
};

// The oldest `page_size` targets of all kinds, and whether there are more.
struct listing {
  bounded<listed_target> targets;
  bool has_more;
};

bool older(const per_source<source_reader>& readers, const listed_target& a, const listed_target& b) {
  return std::tie(a.now.lost_at, readers[a.reader].from().kind, a.now.id) <
         std::tie(b.now.lost_at, readers[b.reader].from().kind, b.now.id);
}

listing list_oldest(per_source<source_reader>& readers, int page_size) {
  listing found{};
  boost::container::static_vector<listed_target, 2 * page_size_max + 2> merged;
  auto const wanted = static_cast<std::size_t>(page_size) + 1;  // one more tells whether there is more
  for (int at = 0; at < static_cast<int>(readers.size()); ++at) {
    for (const facts& row : readers[at].page(place{}, page_size + 1, true)) merged.push_back({at, row});
    std::sort(merged.begin(), merged.end(),
              [&](const listed_target& a, const listed_target& b) { return older(readers, a, b); });
    if (merged.size() > wanted) merged.resize(wanted);
  }
  found.has_more = merged.size() == wanted;
  if (found.has_more) merged.pop_back();
  for (const listed_target& each : merged) found.targets.push_back(each);
  return found;
}

// Says what of a source could not be read: nothing of it, or a row that cannot be a target. Without it, an empty answer
// would say that nothing is left to recover.
void add_blind(result_set& result, const source_reader& reader) {
  if (!reader.is_blind() && reader.flaw() == nullptr) return;
  char detail[300];
  if (reader.is_blind()) pg_snprintf(detail, sizeof detail, "%s: %s", reader.why().sqlstate, reader.why().message);
  else pg_snprintf(detail, sizeof detail, "22000: a row cannot be a target: %s", reader.flaw());
  result_row()
      .text(reader.from().kind).null().null().null().null().null().time(statement_time()).text("blind").null().null()
      .null().null().null().null().boolean(false).boolean(false).text(detail).into(result);
}

// state, owner, version, expires_at, next_claim_at, failure_count: of its control row, or of a target never claimed.
void add_state(result_row& row, const std::optional<locked_control>& known) {
  if (!known) {
    row.text(to_text(state::available)).null().number(0).null().null().number32(0);
    return;
  }
  row.text(to_text(known->control.st)).text(known->owner).number(known->control.version);
  if (known->control.has_expires) row.time(known->control.expires_at);
  else row.null();
  if (known->control.has_next) row.time(known->control.next_claim_at);
  else row.null();
  row.number32(known->control.failure_count);
}

// Why nobody gets it: its kind is paused, else what its own row says.
std::optional<std::string_view> detail_of(const source& from, const std::optional<locked_control>& known) {
  if (!from.paused) return known ? known->detail : std::nullopt;
  message_text<note_max + 16> text;
  text << "paused: " << *from.paused;
  return keep_text(text.view());
}

void add_target(result_set& result, const source& from, const facts& now, bool has_more) {
  std::optional<locked_control> const known = read_control(from.kind, now.id);
  bool const changed = known && !known->is_incident_of(now);
  bool const claimable =
      !from.paused && (!known || judge(known->control, clock_now(), changed) == claimability::claimable);
  result_row row;
  row.text(from.kind).text(now.id).text(now.run_id).text(now.status).time(now.created_at).time(now.lost_at)
      .time(statement_time());
  add_state(row, known);
  row.json(now.further).boolean(claimable).boolean(has_more);
  row.text(detail_of(from, known));
  row.into(result);
}

Datum observe(FunctionCallInfo fcinfo) {
  arguments const given(fcinfo);
  std::int32_t const page_size = given.number32(0, "page_size");
  check_page_size(page_size);
  result_set result(fcinfo);
  in_reading_session([&] {
    per_source<source_reader> readers;
    for (const source& each : sources_of(read_kinds(given, 1))) readers.push_back(source_reader(each));
    listing const listed = list_oldest(readers, page_size);
    for (const source_reader& each : readers) add_blind(result, each);
    for (const listed_target& each : listed.targets)
      add_target(result, readers[each.reader].from(), each.now, listed.has_more);
  });
  return Datum(0);
}

Datum observe_one(FunctionCallInfo fcinfo) {
  arguments const given(fcinfo);
  std::string_view const kind = given.kind(0);
  std::string_view const id = given.id(1);
  std::optional<token> with;
  if (!given.is_null(2)) {
    with = read_token(given, 2);
    bind_to_installation(*with);
  }
  result_set result(fcinfo);
  in_reading_session([&] {
    std::optional<locked_control> const known = read_control(kind, id);
    if (!known) require_known_kind(kind);
    std::optional<source> const from = source_of(kind);
    std::optional<bool> listed;
    if (from) {
      source_reader reader(*from);
      // By the id alone: lost_at may have changed since it was remembered.
      wanted_row wanted{id, {}, false, {}};
      reader.look_up(&wanted, 1);
      if (reader.is_blind()) warn_blind(*from, reader.why());
      else listed = wanted.listed;
      reader.warn_of_flaw();
    }
    if (!known && !listed.value_or(false)) return;
    bool const held = known && with && known->control.st == state::claimed &&
                      same_digest(known->token_digest, with->digest) &&
                      claim_is_valid(clock_now(), known->control.expires_at);
    result_row row;
    add_state(row, known);
    if (listed) row.boolean(*listed);
    else row.null();
    row.boolean(held);
    row.into(result);
  });
  return Datum(0);
}

}  // namespace

}  // namespace ql3::pg

QL3_FUNCTION(ql3_observe, ql3::pg::observe)
QL3_FUNCTION(ql3_observe_one, ql3::pg::observe_one)
