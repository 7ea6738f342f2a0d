// One dispatch: the token, the permit id and the latch live and die here.
#pragma once

#include <optional>

#include "client/dispatch.hpp"
#include "client/dispatch_extension.hpp"
#include "client/dispatch_latch.hpp"
#include "client/dispatch_storage.hpp"

namespace ql3 {

class Invocation {
 public:
  Invocation(DispatchStore& store, DispatchStore& extending, const DispatchOptions& options,
             const Tell& listener, Clock& clock, const DispatchRequest& request,
             const DispatchStop& stop);

  // REQUIRES: called once.
  DispatchReport run(const DispatchCall& call);

 private:
  // Each step: the report that ends the dispatch, or nothing when the next step is due.
  std::optional<DispatchReport> claim();
  std::optional<DispatchReport> permit();
  std::optional<DispatchReport> make_call(const DispatchCall& call, CallResult& result);
  DispatchReport store(const CallResult& result);

  std::optional<DispatchReport> claim_ended(const ClaimAnswer& answer);
  DispatchReport claim_given_up(const StoreError* error);
  void free_unanswered_claim();
  std::optional<DispatchReport> permit_failed(const StoreError& error);

  // Nothing was sent and nothing ever will be: `end` once the database knows.
  DispatchReport give_up(DispatchEnd end, const std::string& why,
                         const StoreError* error = nullptr);
  DispatchReport leave();

  Clock::Length limit() const;
  // False when the deadline or a stop comes first.
  bool pause(Clock::Length length);

  DispatchStore& store_;
  DispatchStore& extending_;
  const DispatchOptions& options_;
  const Tell& listener_;
  Clock& clock_;
  const DispatchRequest& request_;
  const DispatchStop& stop_;

  const OneTimeId token_ = OneTimeId::random();
  const OneTimeId permit_ = OneTimeId::random();
  CallLatch latch_;
  OutcomeStorage storage_;
  const Clock::Time deadline_;
  LogPlace claimed_at_;
  Clock::Time permit_asked_;
  bool claim_in_doubt_ = false;
  bool permit_sent_ = false;
  // Lives on while the result is stored, so that its last statement delays nothing.
  std::optional<Extension> extension_;
};

}  // namespace ql3
