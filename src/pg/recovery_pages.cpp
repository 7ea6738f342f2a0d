#include "recovery_pages.hpp"

#include <algorithm>

#include "arrays.hpp"
#include "session.hpp"

namespace ql3::pg {

namespace {

constexpr std::int64_t remembered_after_expiry = 10 * one_minute;
// How many of the newest pages are asked where discovery of a kind stood.
constexpr int seed_pages = 16;

constinit statement select_page{
    "SELECT owner, page_size, kinds, target_kinds, target_ids FROM ql3.recovery_pages WHERE token_digest = $1",
    BYTEAOID};

constinit statement insert_page{
    "INSERT INTO ql3.recovery_pages (token_digest, owner, page_size, kinds, claimed_at, forget_after, target_kinds,"
    "  target_ids, cursor_kinds, cursor_lost_at, cursor_ids)"
    " VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)",
    BYTEAOID, TEXTOID, INT4OID, TEXTARRAYOID, TIMESTAMPTZOID, TIMESTAMPTZOID, TEXTARRAYOID, TEXTARRAYOID, TEXTARRAYOID,
    timestamptz_array, TEXTARRAYOID};

constinit statement oldest_pages{
    "SELECT token_digest, target_kinds, target_ids, over_seen_at, forget_after FROM ql3.recovery_pages"
    " WHERE forget_after >= $1 AND forget_after < $2 ORDER BY forget_after LIMIT $3 FOR UPDATE SKIP LOCKED",
    TIMESTAMPTZOID, TIMESTAMPTZOID, INT8OID};

constinit statement postpone_page{
    "UPDATE ql3.recovery_pages SET forget_after = $2, over_seen_at = $3 WHERE token_digest = $1", BYTEAOID,
    TIMESTAMPTZOID, TIMESTAMPTZOID};

constinit statement delete_page{"DELETE FROM ql3.recovery_pages WHERE token_digest = $1", BYTEAOID};

constinit statement newest_cursors{
    "SELECT cursor_kinds, cursor_lost_at, cursor_ids FROM ql3.recovery_pages ORDER BY claimed_at DESC LIMIT $1",
    INT8OID};

// Is any target of the page still held under its token?
bool is_held(const unsigned char* token_digest, const bounded<std::string_view>& kinds,
             const bounded<std::string_view>& ids, instant clock) {
  for (std::size_t at = 0; at < ids.size(); ++at) {
    std::optional<locked_control> const row = read_control(kinds[at], ids[at]);
    if (row && row->control.st == state::claimed && same_digest(row->token_digest, token_digest) &&
        claim_is_valid(clock, row->control.expires_at))
      return true;
  }
  return false;
}

}  // namespace

std::optional<remembered_page> find_page(const unsigned char* token_digest) {
  rows const found = select_page.run(params().digest(token_digest));
  if (found.empty()) return std::nullopt;
  remembered_page page;
  page.owner = keep_text(found.text(0, 1));
  page.page_size = found.number32(0, 2);
  if (!found.is_null(0, 3)) page.kinds = texts_of(found.datum(0, 3));
  page.target_kinds = texts_of(found.datum(0, 4));
  page.target_ids = texts_of(found.datum(0, 5));
  return page;
}

void remember_page(const claim_request& request, const std::optional<bounded<std::string_view>>& kinds,
                   const claim_page& page) {
  bounded<std::string_view> target_kinds;
  bounded<std::string_view> target_ids;
  for (const taken_target& each : page.targets()) {
    target_kinds.push_back(page.reader_of(each).from().kind);
    target_ids.push_back(each.now.id);
  }
  bounded<std::string_view> cursor_kinds;
  bounded<std::string_view> cursor_ids;
  bounded<instant> cursor_times;
  for (const source_reader& each : page.readers()) {
    place const stands = read_place(each.from().kind, each.from().generation, walk::discovery)->at;
    if (stands.at_start()) continue;
    cursor_kinds.push_back(each.from().kind);
    cursor_ids.push_back(keep_text(stands.id_text()));
    cursor_times.push_back(stands.lost_at);
  }
  params to;
  to.digest(request.token_digest).text(request.owner).number32(request.page_size);
  if (kinds) to.add(text_array(*kinds));
  else to.null();
  to.time(page.stamp().claimed_at).time(later(page.stamp().expires_at, remembered_after_expiry))
      .add(text_array(target_kinds)).add(text_array(target_ids)).add(text_array(cursor_kinds))
      .add(time_array(cursor_times))
      .add(text_array(cursor_ids));
  insert_page.write(to);
}

int forget_old_pages(instant clock, int most, bool from_start) {
  int forgotten = 0;
  // Entries of pages that were forgotten are not walked again, as with what is due: only what another session had
  // locked and then kept may lie before the mark, for the next look from the start.
  Oid const table = call([] { return get_relname_relid("recovery_pages", get_namespace_oid("ql3", false)); });
  due_mark const mark = read_due_mark({}, 0, table);
  rows const old = oldest_pages.run(
      params().time(from_start ? instant_min : mark.from).time(clock).number(most), most);
  advance_due_mark({}, 0, table, mark, clock, old.empty() ? clock : old.time(0, 5));
  for (int at = 0; at < old.size(); ++at) {
    std::string_view const digest_text = text_of(old.datum(at, 1));
    auto const* digest = reinterpret_cast<const unsigned char*>(digest_text.data());
    bool const held = is_held(digest, texts_of(old.datum(at, 2)), texts_of(old.datum(at, 3)), clock);
    bool const seen_over = !old.is_null(at, 4);
    // 10 minutes after the page was first seen to be over: its last expiry may have been later than the first.
    if (!held && seen_over) {
      delete_page.write(params().digest(digest));
      ++forgotten;
      continue;
    }
    params to;
    to.digest(digest).time(later(clock, remembered_after_expiry));
    if (held) to.null();
    else to.time(clock);
    postpone_page.write(to);
  }
  return forgotten;
}

void seed_discovery(const per_source<source>& sources) {
  for (const source& each : sources) {
    if (!needs_seed(each.kind, each.generation)) continue;
    rows const newest = newest_cursors.run(params().number(seed_pages), seed_pages);
    for (int at = 0; at < newest.size(); ++at) {
      bounded<std::string_view> const kinds = texts_of(newest.datum(at, 1));
      bounded<std::string_view> const ids = texts_of(newest.datum(at, 3));
      auto const found = std::find(kinds.begin(), kinds.end(), each.kind);
      if (found == kinds.end()) continue;
      auto const position = static_cast<int>(found - kinds.begin());
      instant const lost_at = call([&] {
        bool null;
        int index = position + 1;
        return DatumGetTimestampTz(array_get_element(newest.datum(at, 2), 1, &index, -1, sizeof(TimestampTz),
                                                     FLOAT8PASSBYVAL, TYPALIGN_DOUBLE, &null));
      });
      (void)move_place(each.kind, each.generation, walk::discovery, place{},
                       place::of(lost_at, ids[static_cast<std::size_t>(position)]));
      break;
    }
  }
}

}  // namespace ql3::pg
