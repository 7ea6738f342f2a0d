// ql3_pause and ql3_resume: nothing new is handed out and nothing is concluded, of one kind or of all.
#include "audit.hpp"
#include "session.hpp"
#include "sources.hpp"

namespace ql3::pg {

namespace {

constinit statement attached_kinds{"SELECT kind FROM ql3.recovery_sources WHERE attached ORDER BY kind"};
constinit statement paused_kinds{"SELECT kind FROM ql3.recovery_kinds WHERE paused_at IS NOT NULL ORDER BY kind"};

constinit statement set_paused{
    "INSERT INTO ql3.recovery_kinds AS k (kind, paused_at, paused_by, paused_reason) VALUES ($1, $2, $3, $4)"
    " ON CONFLICT (kind) DO UPDATE SET paused_at = EXCLUDED.paused_at, paused_by = EXCLUDED.paused_by,"
    "  paused_reason = EXCLUDED.paused_reason WHERE k.paused_at IS NULL",
    TEXTOID, TIMESTAMPTZOID, TEXTOID, TEXTOID};
constinit statement unset_paused{
    "UPDATE ql3.recovery_kinds SET paused_at = NULL, paused_by = NULL, paused_reason = NULL"
    " WHERE kind = $1 AND paused_at IS NOT NULL",
    TEXTOID};

// Each changes one row and answers whether it was otherwise before.
bool pause_one(std::string_view kind, std::string_view reason) {
  return set_paused.write(params().text(kind).time(clock_now()).text(acting_user()).text(reason)) != 0;
}

bool resume_one(std::string_view kind, std::string_view) { return unset_paused.write(params().text(kind)) != 0; }

struct pause_change {
  std::string_view act;
  const char* function;
  std::string_view word;
  statement& all;
  bool (*one)(std::string_view kind, std::string_view reason);
  std::string_view before;
  std::string_view after;
};

// One event for each row that changed, after all of them: the lock order.
Datum change_pause(FunctionCallInfo fcinfo, const pause_change& what) {
  require_writable(what.function);
  arguments const given(fcinfo);
  std::optional<std::string_view> kind;
  if (!given.is_null(0)) kind = given.kind(0);
  std::string_view const reason = given.reason(1);
  bool const any = in_session([&] {
    auto record = [&](std::string_view of) { audit({what.act, of, {}, reason, what.before, what.after}); };
    if (kind) {
      require_known_kind(*kind);
      bool const changed = what.one(*kind, reason);
      if (changed) record(*kind);
      return changed;
    }
    rows const kinds = what.all.run(params());
    auto* const changed = call([&] { return static_cast<bool*>(palloc0(kinds.size() + 1)); });
    bool some = false;
    for (int at = 0; at < kinds.size(); ++at) some |= changed[at] = what.one(kinds.text(at, 1), reason);
    for (int at = 0; at < kinds.size(); ++at)
      if (changed[at]) record(kinds.text(at, 1));
    return some;
  });
  return text_datum(any ? what.word : std::string_view("unchanged"));
}

constexpr std::string_view goes_on = "{\"paused\": false}";
constexpr std::string_view stands = "{\"paused\": true}";

Datum pause(FunctionCallInfo fcinfo) {
  return change_pause(fcinfo, {"pause", "ql3_pause", "paused", attached_kinds, pause_one, goes_on, stands});
}

Datum resume(FunctionCallInfo fcinfo) {
  return change_pause(fcinfo, {"resume", "ql3_resume", "resumed", paused_kinds, resume_one, stands, goes_on});
}

}  // namespace

}  // namespace ql3::pg

QL3_FUNCTION(ql3_pause, ql3::pg::pause)
QL3_FUNCTION(ql3_resume, ql3::pg::resume)
