// A fault at the n-th statement that runs: the executor of the server refuses it. So every place of
// the real functions where a statement runs is made to fail, one after another.
#include "torture.hpp"

#include "pg/args.hpp"

namespace ql3::pg::torture {

namespace {

// 0 = disarmed; otherwise the statement with which it reaches 0 fails.
constinit int countdown = 0;
constinit bool fired = false;
char sqlstate_to_raise[6] = "22012";
constinit ExecutorStart_hook_type next_hook = nullptr;

// A cancel is known by the server's function that serves it.
struct server {
  static void ProcessInterrupts(const char* code);
};

void count_down() {
  if (countdown == 0 || --countdown > 0) return;
  fired = true;
  server::ProcessInterrupts(sqlstate_to_raise);
}

void server::ProcessInterrupts(const char* code) {
  ereport(ERROR, (errcode(MAKE_SQLSTATE(code[0], code[1], code[2], code[3], code[4])),
                  errmsg("an injected fault"), errdetail("the detail"), errhint("the hint")));
}

void on_start(QueryDesc* query, int flags) {
  if (next_hook != nullptr)
    next_hook(query, flags);
  else
    standard_ExecutorStart(query, flags);
  count_down();
}

// arm(n, sqlstate): the n-th statement that starts after this one fails.
Datum arm(FunctionCallInfo fcinfo) {
  arguments const given(fcinfo);
  strlcpy(sqlstate_to_raise, keep_text(given.text(1, "sqlstate")).data(), sizeof sqlstate_to_raise);
  countdown = given.number32(0, "n");
  fired = false;
  return text_datum("armed");
}

// Whether the fault happened.
Datum disarm(FunctionCallInfo) {
  countdown = 0;
  return BoolGetDatum(std::exchange(fired, false));
}

}  // namespace

}  // namespace ql3::pg::torture

extern "C" {
#pragma GCC visibility push(default)
void _PG_init(void);
#pragma GCC visibility pop

void _PG_init(void) {
  ql3::pg::torture::next_hook = ExecutorStart_hook;
  ExecutorStart_hook = ql3::pg::torture::on_start;
}
}

QL3_FUNCTION(ql3_torture_arm, ql3::pg::torture::arm)
QL3_FUNCTION(ql3_torture_disarm, ql3::pg::torture::disarm)
