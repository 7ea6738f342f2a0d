#include "installed.hpp"

#include "compat.hpp"
#include "contract.hpp"

extern "C" {
#include "access/stratnum.h"
#include "catalog/indexing.h"
#include "catalog/pg_extension.h"
#include "port/pg_bswap.h"
#include "utils/fmgroids.h"
}

namespace ql3::pg {

namespace {

// What was read last; any change of a function or relation (every upgrade, drop and create makes one) voids it.
constinit bool version_is_ours = false;
constinit bool installation_is_known = false;
constinit uuid_value installation{};

void on_catalog_change(Datum, compat::cache_id, uint32) {
  version_is_ours = false;
  installation_is_known = false;
}

}  // namespace

std::string_view installed_version() {
  return call([] {
    std::string_view version;
    Relation const table = table_open(ExtensionRelationId, AccessShareLock);
    ScanKeyData key;
    ScanKeyInit(&key, Anum_pg_extension_extname, BTEqualStrategyNumber, F_NAMEEQ, CStringGetDatum("ql3"));
    SysScanDesc const scan = systable_beginscan(table, ExtensionNameIndexId, true, nullptr, 1, &key);
    HeapTuple const tuple = systable_getnext(scan);
    if (HeapTupleIsValid(tuple)) {
      bool null = false;
      Datum const value = heap_getattr(tuple, Anum_pg_extension_extversion, RelationGetDescr(table), &null);
      if (!null) version = TextDatumGetCString(value);
    }
    systable_endscan(scan);
    table_close(table, AccessShareLock);
    return version;
  });
}

void require_same_version() {
  if (version_is_ours || creating_extension) return;
  std::string_view const sql = installed_version();
  std::string_view const library = library_version();
  if (sql == library) {
    version_is_ours = true;
    return;
  }
  throw error(sqlstate::not_in_prerequisite_state,
              (message_text<256>() << "the library of ql3 is version " << library
                                   << ", its SQL in this database is version "
                                   << (sql.empty() ? std::string_view("none") : sql)).view(),
              "ALTER EXTENSION ql3 UPDATE brings the SQL to the version of the installed package; where the library is "
              "the older one, install that package and connect anew.");
}

uuid_value const& installation_id() {
  if (installation_is_known) return installation;
  bool const found = call([] {
    bool read = false;
    Oid const relation = get_relname_relid("installation", get_namespace_oid("ql3", false));
    Relation const table = table_open(relation, AccessShareLock);
    SysScanDesc const scan = systable_beginscan(table, InvalidOid, false, nullptr, 0, nullptr);
    HeapTuple const tuple = systable_getnext(scan);
    if (HeapTupleIsValid(tuple)) {
      bool null = false;
      Datum const value = heap_getattr(tuple, 1, RelationGetDescr(table), &null);
      if (!null) {
        memcpy(installation.bytes, DatumGetUUIDP(value)->data, sizeof installation.bytes);
        read = true;
      }
    }
    systable_endscan(scan);
    table_close(table, AccessShareLock);
    return read;
  });
  if (!found)
    throw error(sqlstate::internal_error, "ql3.installation is empty", "The extension was tampered with.");
  installation_is_known = true;
  return installation;
}

void bind_to_installation(token& with) {
  struct {
    unsigned char token[token_size];
    uuid_value installation;
    std::uint32_t database;
  } bytes{};
  static_assert(sizeof bytes == token_size + sizeof(uuid_value) + 4, "no padding in what is digested");
  std::memcpy(bytes.token, with.bytes, token_size);
  bytes.installation = installation_id();
  bytes.database = pg_hton32(MyDatabaseId);
  digest_of(&bytes, sizeof bytes, with.digest);
}

void watch_installation() {
  CacheRegisterSyscacheCallback(PROCOID, on_catalog_change, Datum(0));
  CacheRegisterSyscacheCallback(RELOID, on_catalog_change, Datum(0));
}

}  // namespace ql3::pg
