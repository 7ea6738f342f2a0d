#include "top_level.hpp"

#include "compat.hpp"

extern "C" {
#include "executor/execdesc.h"
#include "nodes/plannodes.h"
#include "tcop/pquery.h"
}

namespace ql3::pg {

namespace {

// Functions, DO and triggers run their statements through SPI, and some of those through portals
// that look like a client's. Asking for a name that SPI cannot know answers whether it is in use at
// all.
bool runs_under_spi() {
  return SPI_unregister_relation("ql3 asks whether SPI is in use") != SPI_ERROR_UNCONNECTED;
}

bool is_letter(char c) noexcept {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '$';
}

// Does the text of the statement call the function at `at`? A call that the planner copied out of
// an SQL function keeps the position that it had in that function's body.
bool calls_at(const char* text, int at, std::string_view name) noexcept {
  std::string_view const all(text);
  if (at < 0 || static_cast<std::size_t>(at) >= all.size()) return false;
  if (at > 0 && (is_letter(all[at - 1]) || all[at - 1] == '.' || all[at - 1] == '"')) return false;
  std::string_view rest = all.substr(static_cast<std::size_t>(at));
  std::size_t const open = rest.find('(');
  if (open == std::string_view::npos) return false;
  rest = rest.substr(0, open);
  while (!rest.empty() &&
         (rest.back() == ' ' || rest.back() == '"' || (rest.back() >= '\t' && rest.back() <= '\r')))
    rest.remove_suffix(1);
  if (rest.size() < name.size()) return false;
  std::string_view const called = rest.substr(rest.size() - name.size());
  if (pg_strncasecmp(called.data(), name.data(), name.size()) != 0) return false;
  return called.size() == rest.size() || !is_letter(rest[rest.size() - name.size() - 1]);
}

bool only_columns(List* targets) {
  ListCell* cell;
  foreach (cell, targets)
    if (!IsA(lfirst_node(TargetEntry, cell)->expr, Var)) return false;
  return true;
}

// The execution in progress, and after how many rows it will pause; 0 = never.
struct execution {
  QueryDesc* query;
  uint64 limit;
};
constinit execution running{};
constinit ExecutorRun_hook_type next_executor_run = nullptr;

// An error leaves the inner one behind: harmless, it is compared with the portal's own query.
QL3_EXECUTOR_RUN(note_execution) {
  execution const outer = running;
  running = {query, count};
  if (next_executor_run != nullptr)
    QL3_RUN_EXECUTOR(next_executor_run);
  else
    QL3_RUN_EXECUTOR(standard_ExecutorRun);
  running = outer;
}

// The plan is this one call: SELECT f(...) or SELECT ... FROM f(...).
bool is_all_of(Plan* plan, Node* wanted) {
  if (plan->lefttree != nullptr || plan->qual != NIL) return false;
  if (IsA(plan, Result))
    return list_length(plan->targetlist) == 1 &&
           reinterpret_cast<Node*>(linitial_node(TargetEntry, plan->targetlist)->expr) == wanted;
  if (!IsA(plan, FunctionScan)) return false;
  List* const functions = reinterpret_cast<FunctionScan*>(plan)->functions;
  return only_columns(plan->targetlist) && list_length(functions) == 1 &&
         linitial_node(RangeTblFunction, functions)->funcexpr == wanted;
}

// The running portal is a client's own statement, to be read to its end, and nothing but this call.
bool is_whole_statement(FunctionCallInfo fcinfo, std::string_view name) {
  Node* const wanted = fcinfo->flinfo->fn_expr;
  if (runs_under_spi() || wanted == nullptr || !IsA(wanted, FuncExpr) || ActivePortal == nullptr)
    return false;
  if (ActivePortal->strategy != PORTAL_ONE_SELECT ||
      (ActivePortal->cursorOptions & CURSOR_OPT_HOLD) != 0)
    return false;
  QueryDesc* const query = ActivePortal->queryDesc;
  if (query == nullptr || running.query != query || running.limit != 0) return false;
  if (query->plannedstmt == nullptr || query->plannedstmt->subplans != NIL) return false;
  if (!calls_at(ActivePortal->sourceText, reinterpret_cast<FuncExpr*>(wanted)->location, name))
    return false;
  return is_all_of(query->plannedstmt->planTree, wanted);
}

// Support function of the permit: the planner calls it, so the library, and with it the watch, is there
// before a session's first call is executed. It has nothing to say to the planner.
Datum load_before_execution(FunctionCallInfo) { return Datum(0); }

}  // namespace

void watch_executions() {
  next_executor_run = ExecutorRun_hook;
  ExecutorRun_hook = note_execution;
}

void require_statement_of_its_own(FunctionCallInfo fcinfo, const char* what) {
  if (IsTransactionBlock() || IsSubTransaction())
    throw error(sqlstate::active_sql_transaction,
                (message_text<128>() << what << "() cannot run inside a transaction block").view(),
                "Commit first, then call it in autocommit: psycopg2 conn.autocommit = True, JDBC "
                "setAutoCommit(true).");
  if (!call([&] { return is_whole_statement(fcinfo, what); }))
    throw error(sqlstate::active_sql_transaction,
                (message_text<128>() << what << "() must be a statement of its own").view(),
                "Send SELECT ql3.ql3_dispatch_permit(...) alone and without a row limit: not from "
                "a function, DO or "
                "cursor, not as part of another query.");
  // Refuses what is left ("a; b" in one message) and asks for the commit of a pipelined call before
  // its answer.
  call([&] { PreventInTransactionBlock(true, what); });
}

}  // namespace ql3::pg

QL3_FUNCTION(ql3_load, ql3::pg::load_before_execution)
