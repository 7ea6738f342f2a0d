// The ways to fail: C++ exceptions, and a server error in each kind of leaf that src/pg has.
#include "torture.hpp"

#include <stdexcept>
#include <string>

#include "pg/args.hpp"
#include "pg/try_lock.hpp"

extern "C" {
#include "utils/fmgrprotos.h"
}

namespace ql3::pg::torture {

namespace {

struct way_to_fail {
  const char* word;
  void (*run)();
};

// A cancel is known by the server's function that serves it.
struct server {
  static void ProcessInterrupts() {
    ereport(ERROR, (errcode(ERRCODE_QUERY_CANCELED), errmsg("canceling statement due to user request")));
  }
};

void raise_with_everything() {
  ereport(ERROR, (errcode(ERRCODE_DATA_CORRUPTED), errmsg("raised in a leaf"),
                  errdetail("the detail"), errhint("the hint"), errcontext("the context"),
                  err_generic_string(PG_DIAG_TABLE_NAME, "a table")));
}

constinit int contexts_added = 0;

void add_context(void* text) {
  ++contexts_added;
  errcontext("%s", static_cast<const char*>(text));
}

void raise_in_callback() {
  char text[] = "of the callback";
  ErrorContextCallback callback{error_context_stack, add_context, text};
  error_context_stack = &callback;
  raise_with_everything();
}

// A context that has no memory left: what is copied into it fails. `more`: flags, where the server has them.
template <class... More>
void* refuse(MemoryContext, Size, More...) {
  ereport(ERROR, (errcode(ERRCODE_OUT_OF_MEMORY), errmsg("out of memory"),
                  errdetail("the context is exhausted")));
  return nullptr;
}

// Runs `leaf` while the home of errors is exhausted, so that an error in it cannot be copied.
template <class Leaf>
void with_exhausted_home(Leaf leaf) {
  struct exhausted {
    MemoryContext context = error_home::present();
    MemoryContextMethods const* const methods = context->methods;
    MemoryContextMethods broken = *methods;
    exhausted() {
      broken.alloc = refuse;
      context->methods = &broken;
    }
    ~exhausted() { context->methods = methods; }
  } const while_here;
  call(leaf);
}

// Makes the server fail in the middle of a notice.
constinit emit_log_hook_type log_hook_before = nullptr;

void refuse_to_log(ErrorData*) {
  emit_log_hook = log_hook_before;
  raise_with_everything();
}

constinit statement divides{"SELECT 1 / $1", INT4OID};
constinit statement not_sql{"SELECT nothing FROM nowhere"};

const way_to_fail ways[] = {
    // C++ exceptions.
    {"error", [] { throw error("22012", "thrown by C++", "its hint", "its detail"); }},
    {"error_bare", [] { throw error("55000", "thrown by C++"); }},
    {"error_bad_sqlstate", [] { throw error("no", "thrown by C++"); }},
    {"error_long",
     [] {
       std::string const text(4000, 'x');
       throw error("22012", text, text, text);
     }},
    {"bad_alloc", [] { throw std::bad_alloc(); }},
    {"bad_alloc_real",
     [] {
       std::size_t volatile much = std::string().max_size();
       (void)std::string(much, 'x');
     }},
    {"std", [] { throw std::runtime_error("a standard exception"); }},
    {"std_long",
     [] {
       std::string text = "xx";
       while (text.size() < 2000) text += "\xE4\xB8\xAD";  // cut inside a character otherwise
       throw std::runtime_error(text);
     }},
    {"int", [] { throw 42; }},
    {"pointer", [] { throw "text"; }},
    // Server errors by kind of leaf.
    {"raise", [] { call([] { raise_with_everything(); }); }},
    {"raise_in_callback",
     [] {
       // The leaf leaves its callback on the stack: the boundary must take it off.
       call([] { raise_in_callback(); });
     }},
    {"callback_uncopied",
     [] {
       // The leaf's callback is dead when its error has landed: the error of the copy must not call
       // it.
       contexts_added = 0;
       try {
         with_exhausted_home([] { raise_in_callback(); });
       } catch (const pg_error&) {
         if (contexts_added == 1) throw;
         throw error(sqlstate::internal_error, "a dead callback was called");
       }
     }},
    {"raise_uncopied", [] { with_exhausted_home([] { raise_with_everything(); }); }},
    {"cancel_uncopied",
     [] {
       with_exhausted_home([] {
         server::ProcessInterrupts();
       });
     }},
    {"cancel",
     [] {
       call([] {
         server::ProcessInterrupts();
       });
     }},
    {"huge_palloc", [] { call([] { (void)palloc(MaxAllocSize + Size{1}); }); }},
    {"huge_text",
     [] {
       (void)keep_text({"x", std::size_t{2} << 30});
     }},
    {"no_memory",
     [] {
       call([] {
         MemoryContext const small =
             AllocSetContextCreate(CurrentMemoryContext, "torture", ALLOCSET_SMALL_SIZES);
         MemoryContextMethods broken = *small->methods;
         broken.alloc = refuse;
         MemoryContextMethods const* const methods = small->methods;
         small->methods = &broken;
         MemoryContextSwitchTo(small);
         PG_TRY();
         { (void)palloc(8); }
         PG_FINALLY();
         {
           MemoryContextSwitchTo(small->parent);
           small->methods = methods;
           MemoryContextDelete(small);
         }
         PG_END_TRY();
       });
     }},
    {"prepare", [] { (void)not_sql.run(params()); }},
    {"execute", [] { (void)divides.run(params().number32(0)); }},
    {"null_cell", [] { (void)divides.run(params().null()).number32(0, 1); }},
    {"syscache",
     [] { call([] { (void)GetUserNameFromId(static_cast<Oid>(4294967290U), false); }); }},
    {"relation",
     [] { call([] { (void)relation_open(static_cast<Oid>(4294967290U), AccessShareLock); }); }},
    {"relation_kept_open",
     [] {
       call([] { (void)relation_open(RelationRelationId, AccessShareLock); });
       call([] { raise_with_everything(); });
     }},
    {"lock_kept",
     [] {
       brief_lock const held(lock_space::target, 42);
       (void)try_transaction_lock(lock_space::token, 42);
       call([] { raise_with_everything(); });
     }},
    {"lwlock_kept",
     [] {
       call([] {
         LWLockAcquire(AddinShmemInitLock, LW_EXCLUSIVE);
         raise_with_everything();
       });
     }},
    {"setting",
     [] {
       call([] {
         (void)set_config_option("work_mem", "nonsense", PGC_SUSET, PGC_S_SESSION, GUC_ACTION_SAVE,
                                 true, 0, false);
       });
     }},
    {"role_kept",
     [] {
       call([] {
         SetUserIdAndSecContext(static_cast<Oid>(4294967290U), SECURITY_RESTRICTED_OPERATION);
         XactReadOnly = true;
         raise_with_everything();
       });
     }},
    {"input", [] { call([] { (void)DirectFunctionCall1(jsonb_in, CStringGetDatum("{")); }); }},
    {"array",
     [] {
       call([] {
         int dimensions[] = {1 << 30, 1 << 30};
         (void)ArrayGetNItems(2, dimensions);
       });
     }},
    {"snapshot_kept",
     [] {
       call([] {
         PushActiveSnapshot(GetTransactionSnapshot());
         raise_with_everything();
       });
     }},
    {"warning",
     [] {
       log_hook_before = std::exchange(emit_log_hook, refuse_to_log);
       warn("01000", "a warning that cannot be logged");
     }},
    {"no_plan", [] { (void)run_plan(nullptr, params(), 0, sight::fresh); }},
};

}  // namespace

void fail(std::string_view way) {
  witness here;
  for (const way_to_fail& each : ways)
    if (way == each.word) {
      witness before;
      return each.run();
    }
  throw error(sqlstate::invalid_parameter,
              (message_text<128>() << "unknown way " << quoted{way}).view());
}

}  // namespace ql3::pg::torture
