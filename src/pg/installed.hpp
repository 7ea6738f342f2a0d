// What is installed in this database: the version of the SQL and the id of the installation, remembered until the
// catalog changes.
#pragma once

#include "lineage.hpp"

namespace ql3::pg {

// The version that pg_extension names; empty where there is none.
std::string_view installed_version();

// 55000 when the SQL in this database is not of the library's version. Every function asks first: their rows and
// tables may differ. Not asked within the scripts of an extension, which run before the versions agree again.
void require_same_version();

// The id that CREATE EXTENSION gave this installation.
// XX000 when it is not there.
uuid_value const& installation_id();

// A recovery token as this installation knows it: what a dump brings along from another one, or a template copy from
// another database, is no claim here.
void bind_to_installation(token& with);

// Called once from _PG_init.
void watch_installation();

}  // namespace ql3::pg
