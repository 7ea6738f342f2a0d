// The claim store of a real control database.
#pragma once

#include "client/claims.hpp"
#include "client/connection.hpp"
#include "client/export.hpp"

namespace ql3 {

class QL3_API PgClaimStore final : public ClaimStore {
 public:
  explicit PgClaimStore(ConnectionOptions options) : connection_(std::move(options)) {}

  std::vector<ClaimedTarget> claim(const ClaimRequest& request, const ClaimToken& token,
                                   Clock::Length limit) override;
  std::vector<Renewed> renew_page(const Holder& holder, std::span<const Held> held,
                                  Milliseconds lease, Clock::Length limit) override;
  Settled settle(const Holder& holder, const Held& held, disposition how,
                 std::optional<Milliseconds> delay, const std::string& note,
                 Clock::Length limit) override;
  Concluded conclude(const Holder& holder, const Held& held, const std::string& verdict,
                     const std::string& evidence, Clock::Length limit) override;
  std::vector<GivenBack> give_back(const Holder& holder, std::span<const Held> held,
                                   Clock::Length limit) override;

 private:
  Connection connection_;
};

}  // namespace ql3
