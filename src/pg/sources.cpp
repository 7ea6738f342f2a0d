#include "sources.hpp"

#include <algorithm>

namespace ql3::pg {

namespace {

#define QL3_SOURCE_COLUMNS                                                                                        \
  "SELECT s.kind, s.generation, s.relation_schema, s.relation_name, s.relation_owner, s.transition_schema,"       \
  "       s.transition_name, s.max_failures, s.max_hold, coalesce(k.version_floor, 0), k.paused_reason"           \
  "  FROM ql3.recovery_sources AS s LEFT JOIN ql3.recovery_kinds AS k ON k.kind = s.kind"

constinit statement all_sources{QL3_SOURCE_COLUMNS " WHERE s.attached ORDER BY s.kind"};
constinit statement one_source{QL3_SOURCE_COLUMNS " WHERE s.kind = $1 AND s.attached", TEXTOID};
constinit statement floor_of_kind{"SELECT version_floor FROM ql3.recovery_kinds WHERE kind = $1", TEXTOID};

constinit statement known_kind{"SELECT 1 FROM ql3.recovery_sources WHERE kind = $1", TEXTOID};

std::optional<std::string_view> kept(std::optional<std::string_view> text) {
  if (!text) return std::nullopt;
  return keep_text(*text);
}

source read_source(const rows& found, int at) {
  source one;
  one.kind = keep_text(found.text(at, 1));
  one.generation = found.number(at, 2);
  one.schema = keep_text(found.text(at, 3));
  one.name = keep_text(found.text(at, 4));
  one.owner = keep_text(found.text(at, 5));
  one.transition_schema = kept(found.maybe_text(at, 6));
  one.transition_name = kept(found.maybe_text(at, 7));
  one.max_failures = found.maybe_number32(at, 8);
  if (!found.is_null(at, 9)) one.max_hold = found.number(at, 9);
  one.version_floor = found.number(at, 10);
  one.paused = kept(found.maybe_text(at, 11));
  return one;
}

[[noreturn]] void refuse_unknown(std::string_view kind) {
  throw error(sqlstate::undefined_object,
              (message_text<256>() << "no source is attached for kind " << quoted{kind}).view(),
              "ql3.ql3_attach_source(kind, relation) attaches one.");
}

constexpr std::size_t kinds_shown = 5;

message_text<384> names_of(const per_source<source>& some) {
  message_text<384> names;
  for (std::size_t at = 0; at < std::min(some.size(), kinds_shown); ++at)
    names << (at == 0 ? "" : ", ") << quoted{some[at].kind};
  if (some.size() > kinds_shown) names << " and " << some.size() - kinds_shown << " more";
  return names;
}

[[noreturn]] void refuse_all_paused(const per_source<source>& paused) {
  if (paused.size() == 1) refuse_paused(paused[0]);
  throw error(sqlstate::not_in_prerequisite_state,
              (message_text<512>() << "all " << paused.size() << " kinds are paused: "
                                   << names_of(paused).view()).view(),
              "ql3.ql3_resume(kind, reason) ends it for one of them, ql3.ql3_resume(NULL, reason) for all. What is "
              "held can be settled, renewed and given back meanwhile.");
}

}  // namespace

std::optional<bounded<std::string_view>> read_kinds(const arguments& given, int position) {
  if (given.is_null(position)) return std::nullopt;
  bounded<std::string_view> kinds = given.texts(position, "kinds");
  if (kinds.empty())
    throw error(sqlstate::invalid_parameter, "kinds must not be empty", "Leave it out for every attached kind.");
  for (std::size_t at = 0; at < kinds.size(); ++at) {
    check_kind(kinds[at], "kinds");
    for (std::size_t before = 0; before < at; ++before)
      if (kinds[before] == kinds[at])
        throw error(sqlstate::invalid_parameter,
                    (message_text<256>() << "kinds names " << quoted{kinds[at]} << " twice").view());
  }
  return kinds;
}

per_source<source> attached_sources() {
  per_source<source> attached;
  rows const found = all_sources.run(params());
  for (int at = 0; at < found.size(); ++at) attached.push_back(read_source(found, at));
  return attached;
}

per_source<source> sources_of(const std::optional<bounded<std::string_view>>& kinds) {
  per_source<source> attached = attached_sources();
  if (!kinds) {
    // The built-in kind alone is nothing to supervise by default: forgetting to attach must not look like an empty
    // page.
    if (attached.empty() || (attached.size() == 1 && attached[0].kind == dispatch_kind))
      throw error(sqlstate::not_in_prerequisite_state, "no source is attached",
                  "ql3.ql3_attach_source(kind, relation) attaches one.");
    return attached;
  }
  per_source<source> chosen;
  for (std::string_view kind : *kinds) {
    bool known = false;
    for (const source& each : attached)
      if (each.kind == kind) {
        known = true;
        chosen.push_back(each);
      }
    if (!known) refuse_unknown(kind);
  }
  return chosen;
}

std::optional<source> source_of(std::string_view kind) {
  rows const found = one_source.run(params().text(kind));
  if (found.empty()) return std::nullopt;
  return read_source(found, 0);
}

void refuse_paused(const source& which) {
  throw error(sqlstate::not_in_prerequisite_state,
              (message_text<256>() << "kind " << quoted{which.kind} << " is paused").view(),
              "ql3.ql3_resume(kind, reason) ends it. What is held can be settled, renewed and given back meanwhile.");
}

per_source<source> unpaused(const per_source<source>& sources, bool all_kinds) {
  per_source<source> open;
  per_source<source> paused;
  for (const source& each : sources) (each.paused ? paused : open).push_back(each);
  // The built-in kind alone is nothing to claim for who named none.
  if (open.empty() || (all_kinds && open.size() == 1 && open[0].kind == dispatch_kind)) refuse_all_paused(paused);
  for (const source& each : paused)
    warn(sqlstate::not_in_prerequisite_state,
         (message_text<256>() << "kind " << quoted{each.kind} << " is paused and left out").view(),
         "ql3.ql3_resume(kind, reason) ends it.");
  return open;
}

std::int64_t current_floor(std::string_view kind) {
  rows const found = floor_of_kind.run(params().text(kind));
  return found.empty() ? 0 : found.number(0, 1);
}

const source* page_sources::of(std::string_view kind) {
  for (const known& each : known_)
    if (each.kind == kind) return each.from ? &*each.from : nullptr;
  known_.push_back({kind, source_of(kind)});
  return known_.back().from ? &*known_.back().from : nullptr;
}

void require_known_kind(std::string_view kind) {
  if (known_kind.run(params().text(kind)).empty()) refuse_unknown(kind);
}

blindness blind(const char* code, std::string_view message) {
  blindness made{};
  strlcpy(made.sqlstate, code, sizeof made.sqlstate);
  // An error of the user's view is cut at a character boundary, as every free text.
  std::string_view const kept = kept_note(message, sizeof made.message - 1);
  std::memcpy(made.message, kept.data(), kept.size());
  return made;
}

blindness blind(const ErrorData* raised) {
  return blind(unpack_sql_state(raised->sqlerrcode), raised->message == nullptr ? "" : raised->message);
}

std::optional<blindness> resolve(const source& from, resolved_source& to) {
  struct found {
    Oid relation;
    Oid owner;
    Oid wanted_owner;
  };
  found const now = call([&] {
    found read{InvalidOid, InvalidOid, InvalidOid};
    Oid const schema = get_namespace_oid(from.schema.data(), true);
    read.wanted_owner = get_role_oid(from.owner.data(), true);
    if (OidIsValid(schema)) read.relation = get_relname_relid(from.name.data(), schema);
    if (OidIsValid(read.relation)) {
      HeapTuple tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(read.relation));
      if (HeapTupleIsValid(tuple)) {
        read.owner = reinterpret_cast<Form_pg_class>(GETSTRUCT(tuple))->relowner;
        ReleaseSysCache(tuple);
      }
    }
    return read;
  });
  if (!OidIsValid(now.relation) || !OidIsValid(now.owner))
    return blind("42P01",
                 (message_text<256>() << "relation " << from.schema << "." << from.name << " does not exist").view());
  if (!OidIsValid(now.wanted_owner) || now.owner != now.wanted_owner)
    return blind("42501", (message_text<256>() << "relation " << from.schema << "." << from.name
                                                << " no longer belongs to role " << from.owner).view());
  to = {now.relation, now.owner};
  return std::nullopt;
}

void warn_blind(const source& which, const blindness& why) {
  warn(why.sqlstate,
       (message_text<512>() << "source of kind " << quoted{which.kind} << " cannot be read: " << why.message).view(),
       "The other kinds are not affected. ql3.ql3_observe() shows this one as blind until it is mended.");
}

}  // namespace ql3::pg
