// The dispatch calls of a real control database.
#pragma once

#include "client/connection.hpp"
#include "client/dispatch_store.hpp"
#include "client/export.hpp"

namespace ql3 {

class QL3_API PgDispatchStore final : public DispatchStore {
 public:
  // Of `options` the choice of servers is not taken: it is always one that takes writes.
  explicit PgDispatchStore(ConnectionOptions options);

  ClaimAnswer claim(const DispatchRequest& request, const OneTimeId& token,
                    Clock::Length limit) override;
  PermitAnswer permit(const DispatchRequest& request, const OneTimeId& token,
                      const OneTimeId& permit, Clock::Length limit) override;
  ExtendAnswer extend(const DispatchRequest& request, const OneTimeId& token,
                      Clock::Length limit) override;
  SettleAnswer settle(const DispatchRequest& request, const OneTimeId& token, outcome what,
                      const std::optional<std::string>& detail, const OneTimeId* permit,
                      Clock::Length limit) override;
  ReassertAnswer reassert(const DispatchRequest& request, const OneTimeId& token, outcome what,
                          Clock::Length limit) override;
  void drop() noexcept override { connection_.drop(); }

 private:
  Result ask(const char* statement, std::span<const Parameter> parameters, Clock::Length limit);
  LogPlace place_of(const Result& result, int column);

  bool warned_ = false;
  Connection connection_;
};

}  // namespace ql3
