// The writer's side of a dispatch: intent first, then permission, then the call, at most once.
#pragma once

#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

#include "client/clock.hpp"
#include "client/dispatch_store.hpp"
#include "client/events.hpp"
#include "client/export.hpp"
#include "client/store_error.hpp"

namespace ql3 {

struct DispatchOptions {
  // How long claim and permit together may be tried before nothing is sent.
  Milliseconds deadline = std::chrono::seconds(30);
  // How long one statement is waited for before its connection is given up.
  Milliseconds answer_limit = std::chrono::seconds(10);
};

// What the caller may ask for while a dispatch runs. After `stopping` no call is started; one that
// was started goes on and its result is kept. After `detaching` nothing is waited for any more:
// the attempt is left as it is, for recovery to observe.
struct DispatchStop {
  std::stop_token stopping;
  std::stop_token detaching;
};

// How the call ended. `not_sent` only when it is certain that nothing went out; `unknown` when
// nobody can tell. `left` means that the call still runs and its result will not be known here.
struct CallResult {
  outcome what = outcome::unknown;
  std::string detail;
  bool left = false;
};

// The external action. It is called once or not at all, with no connection or transaction of ours
// open. What it throws counts as `unknown`.
using DispatchCall = std::function<CallResult(const DispatchStop&)>;

enum class DispatchEnd {
  recorded,           // the outcome is stored, and it is what the item has come to
  concluded,          // the item has an outcome by somebody else; one of ours stands beside it
  foreign,            // another writer has the item
  identity_conflict,  // the item is known with another action or other arguments
  halted,             // the database halts dispatch until an operator has spoken
  not_sent,           // nothing was sent, and the item may be tried again
  left,               // the attempt is left to be observed
  refused             // nothing was sent, because of `error`
};

QL3_API std::string_view to_text(DispatchEnd end) noexcept;

struct DispatchReport {
  DispatchEnd end = DispatchEnd::refused;
  // The action was called.
  bool called = false;
  // The database has confirmed the outcome.
  bool stored = false;
  // Of the call, or `not_sent`; absent when it is not known or there was nothing to say.
  std::optional<outcome> what;
  // For a person; never a token.
  std::string detail;
  std::optional<StoreError> error;
};

// Why the request cannot be sent to any database, or the empty string.
QL3_API std::string request_fault(const DispatchRequest& request);

// Makes token and permit id inside each dispatch() and forgets them with it. Rules it keeps, at
// any failure of network, server or itself: the call is made at most once, only on a permission
// whose answer came whole over a connection that was not in doubt, never later than half of
// observe_after after that permission was asked for, never by a forked child, never by an
// invocation that has sent `not_sent`, and never on a server whose log went backwards meanwhile.
// A result of the call is kept in memory and stored however long that takes.
// Thread rule: one dispatch at a time; `store` and `extending` are used by nobody else meanwhile.
class QL3_API Dispatcher {
 public:
  // `extending` says that the call still runs, from a thread of its own: another connection.
  Dispatcher(DispatchStore& store, DispatchStore& extending, DispatchOptions options = {},
             Tell listener = {}, Clock& clock = boot_clock());

  // std::invalid_argument for a request_fault(): nothing was sent to the database. Every other end
  // is a report.
  DispatchReport dispatch(const DispatchRequest& request, const DispatchCall& call,
                          const DispatchStop& stop = {});

 private:
  DispatchStore& store_;
  DispatchStore& extending_;
  const DispatchOptions options_;
  const Tell listener_;
  Clock& clock_;
};

}  // namespace ql3
