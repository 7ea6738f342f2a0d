#include "boundary.hpp"

namespace ql3::pg {

namespace {

// Where the server serves a cancel. An error with the same SQLSTATE from elsewhere is somebody's own: RAISE gives any
// SQLSTATE, and so does another server that a foreign table reads.
constexpr char serves_cancels[] = "ProcessInterrupts";

// Used when copying an error runs out of memory: nothing here is allocated. The SQLSTATE stays, and a cancel is
// still known as one (must_pass).
ErrorData uncopied_error(int sqlerrcode) noexcept {
  ErrorData data{};
  data.elevel = ERROR;
  data.output_to_server = true;
  data.output_to_client = true;
  data.sqlerrcode = sqlerrcode;
  if (sqlerrcode == ERRCODE_QUERY_CANCELED) data.funcname = serves_cancels;
  data.message = const_cast<char*>("out of memory while an error was reported");
  return data;
}

int encode(const char* code) noexcept {
  return MAKE_SQLSTATE(code[0], code[1], code[2], code[3], code[4]);
}

// A message is cut at a character boundary, or it could not be converted for the client.
void copy(char (&to)[512], const char* from) noexcept {
  message_text<sizeof to> kept;
  kept << std::string_view(from == nullptr ? "" : from);
  strlcpy(to, kept.c_str(), sizeof to);
}

}  // namespace

ErrorData* take_server_error(MemoryContext context) noexcept {
  static ErrorData exhausted;
  int const sqlerrcode = geterrcode();
  MemoryContextSwitchTo(error_home::present() != nullptr ? error_home::present() : context);
  stack_keeper keeper;
  sigjmp_buf landing;
  ErrorData* volatile copied = nullptr;
  if (sigsetjmp(landing, 0) == 0) {
    PG_exception_stack = &landing;
    copied = CopyErrorData();
  } else {
    exhausted = uncopied_error(sqlerrcode);
    copied = &exhausted;
  }
  keeper.restore();
  MemoryContextSwitchTo(context);
  FlushErrorState();
  return copied;
}

void keep(failure& slot, const error& thrown) noexcept {
  strlcpy(slot.sqlstate, thrown.sqlstate(), sizeof slot.sqlstate);
  copy(slot.message, thrown.message());
  copy(slot.detail, thrown.detail());
  copy(slot.hint, thrown.hint());
}

void keep(failure& slot, const char* sqlstate, const char* message) noexcept {
  strlcpy(slot.sqlstate, sqlstate, sizeof slot.sqlstate);
  copy(slot.message, message);
}

void raise(const failure& slot) {
  if (slot.server != nullptr) ReThrowError(slot.server);
  ereport(ERROR, (errcode(encode(slot.sqlstate)), errmsg_internal("%s", slot.message),
                  slot.detail[0] != '\0' ? errdetail_internal("%s", slot.detail) : 0,
                  slot.hint[0] != '\0' ? errhint("%s", slot.hint) : 0));
  pg_unreachable();
}

bool must_pass(const ErrorData* data) noexcept {
  if (data->elevel > ERROR) return true;  // a shutdown, a dropped database: never a mere ERROR
  return data->sqlerrcode == ERRCODE_QUERY_CANCELED && data->funcname != nullptr &&
         std::strcmp(data->funcname, serves_cancels) == 0;
}

void warn(const char* sqlstate, std::string_view message, std::string_view hint) {
  call([&] {
    ereport(WARNING,
            (errcode(encode(sqlstate)),
             errmsg_internal("%.*s", static_cast<int>(message.size()), message.data()),
             hint.empty() ? 0 : errhint("%.*s", static_cast<int>(hint.size()), hint.data())));
  });
}

}  // namespace ql3::pg
