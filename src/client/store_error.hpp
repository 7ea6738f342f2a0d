// The one exception of everything that talks to the control database.
#pragma once

#include <exception>
#include <string>
#include <string_view>

#include "client/export.hpp"

namespace ql3 {

// Stable: a code never changes its meaning, and to_text(code) never changes its word.
enum class StoreCode {
  unreachable,        // no connection; nothing was sent
  lost_reply,         // sent, and the connection broke or was silent too long: done or not
  read_only,          // a standby, or a primary that turned read-only (25006)
  shutting_down,      // the server is stopping or starting (57P01 57P02 57P03 57P05)
  exhausted,          // disk, memory or connections (53xxx)
  locked,             // a lock was not got in time (55P03)
  conflict,           // serialization failure or deadlock (40xxx)
  cancelled,          // the statement was cancelled or timed out at the server (57014 25P04)
  not_ready,          // the extension is not installed here, or too old (3F000 42883 42P01)
  denied,             // a right is missing (42501 28xxx)
  unknown_kind,       // no source of this kind is attached (42704)
  not_possible,       // the object is not in the state it needs (55000 55006)
  wrong_transaction,  // isolation or transaction block (25xxx 0A000)
  bad_text,           // a text this database cannot store (22021 22P05)
  invalid,            // an argument was refused (other 22xxx 42xxx 54xxx)
  malformed,          // the answer is not what the interface promises
  failed              // anything else
};

QL3_API std::string_view to_text(StoreCode code) noexcept;
QL3_API bool is_retryable(StoreCode code) noexcept;
QL3_API StoreCode code_of_sqlstate(std::string_view sqlstate) noexcept;

// What the server said, for a person at a terminal. It may name the caller's own objects, so it is
// kept apart from what(): services print what() alone.
struct ServerText {
  std::string message;
  std::string detail;
  std::string hint;
};

// what() is made of the code, a fixed phrase and the SQLSTATE: it never has SQL, a host, a user's
// data or a secret in it.
class QL3_API StoreError : public std::exception {
 public:
  // For what the client finds out itself; `phrase` is fixed text.
  StoreError(StoreCode code, std::string_view phrase);
  // For an error the server reported.
  StoreError(std::string_view sqlstate, ServerText text);

  StoreCode code() const noexcept { return code_; }
  // Five characters, or empty when no server spoke.
  const std::string& sqlstate() const noexcept { return sqlstate_; }
  // The same call may succeed later, on a fresh connection, and repeating it is safe.
  bool retryable() const noexcept { return is_retryable(code_); }
  // The statement may have been done although no answer came.
  bool in_doubt() const noexcept { return code_ == StoreCode::lost_reply; }
  const ServerText& server() const noexcept { return server_; }
  const char* what() const noexcept override { return what_.c_str(); }

 private:
  StoreCode code_;
  std::string sqlstate_;
  ServerText server_;
  std::string what_;
};

}  // namespace ql3
