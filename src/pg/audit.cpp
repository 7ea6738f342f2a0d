#include "audit.hpp"

#include "session.hpp"
#include "try_lock.hpp"

extern "C" {
#include "commands/trigger.h"
}

namespace ql3::pg {

namespace {

constinit statement last_event{"SELECT event_id, digest FROM ql3.audit_events ORDER BY event_id DESC LIMIT 1"};

// The digest is that of the event as it is stored, chained to the one before. The view ql3.audit has the same
// expression: change both or neither.
constinit statement insert_event{
    "INSERT INTO ql3.audit_events (event_id, at, actor, role_set, action, kind, id, reason, before, after,"
    "  previous_digest, digest)"
    " SELECT $1, $2, $3, $4, $5, $6, $7, $8, $9::pg_catalog.jsonb, $10::pg_catalog.jsonb, $11,"
    "  pg_catalog.sha256($11 || pg_catalog.convert_to(pg_catalog.jsonb_build_array($1,"
    "    pg_catalog.to_char($2 AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS.US'), $3, $4, $5, $6, $7, $8,"
    "    $9::pg_catalog.jsonb, $10::pg_catalog.jsonb)::pg_catalog.text, pg_catalog.getdatabaseencoding()))",
    INT8OID,
    TIMESTAMPTZOID,
    TEXTOID,
    TEXTOID,
    TEXTOID,
    TEXTOID,
    TEXTOID,
    TEXTOID,
    TEXTOID,
    TEXTOID,
    BYTEAOID};

std::string_view role_name(Oid role) {
  char* const name = call([&] { return GetUserNameFromId(role, true); });
  return name == nullptr ? std::string_view("(dropped role)") : std::string_view(name);
}

}  // namespace

std::string_view acting_user() { return role_name(GetSessionUserId()); }

void audit(const audited_act& act) {
  intend_to_write("audit_events");
  wait_transaction_lock(lock_space::audit, 0);
  std::int64_t id = 1;
  unsigned char previous[digest_size] = {};
  {
    rows const last = last_event.run(params());
    if (!last.empty()) {
      id = last.number(0, 1) + 1;
      std::string_view const digest = text_of(last.datum(0, 2));
      std::memcpy(previous, digest.data(), digest_size);
    }
  }
  instant const at = clock_now();
  std::string_view const actor = acting_user();
  std::string_view const role = role_name(GetOuterUserId());
  insert_event.write_one(params()
                             .number(id).time(at).text(actor).text(role).text(act.action).text(act.kind).text(act.id)
                             .text(act.reason).text(act.before).text(act.after).digest(previous));
}

namespace {

Datum refuse_change(FunctionCallInfo fcinfo) {
  if (!CALLED_AS_TRIGGER(fcinfo)) throw error("39P01", "ql3_refuse_change() is a trigger");
  auto const* data = reinterpret_cast<const TriggerData*>(fcinfo->context);
  throw error(
      sqlstate::not_in_prerequisite_state,
      (message_text<160>() << "table " << RelationGetRelationName(data->tg_relation) << " is append-only").view());
}

}  // namespace

}  // namespace ql3::pg

QL3_FUNCTION(ql3_refuse_change, ql3::pg::refuse_change)
