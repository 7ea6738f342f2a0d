// The library's entry points for the server.
#include "discovered.hpp"
#include "installed.hpp"
#include "row_checks.hpp"
#include "session.hpp"
#include "source_plans.hpp"
#include "top_level.hpp"

extern "C" {
#pragma GCC visibility push(default)
PG_MODULE_MAGIC;
void _PG_init(void);
#pragma GCC visibility pop

void _PG_init(void) {
  ql3::pg::define_settings();
  ql3::pg::watch_relations();
  ql3::pg::watch_own_tables();
  ql3::pg::watch_rollbacks();
  ql3::pg::watch_executions();
  ql3::pg::watch_installation();
}
}
