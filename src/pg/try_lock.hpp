// Heavyweight locks in tag spaces of our own (the advisory lock tag with a fourth field nobody else uses).
//
// Lock order: control row, request, item, halt, attempt row, audit chain. Target and token locks are only ever tried,
// so nobody waits for them: a target lock is held for one look-up and one insert, a token lock to the end of the
// claiming transaction.
#pragma once

#include "boundary.hpp"

namespace ql3::pg {

enum class lock_space : std::uint16_t {
  target = 0x716c,
  token = 0x716d,
  audit = 0x716e,
  item = 0x716f,
  halt = 0x7170,
  prune = 0x7171,
  request = 0x7172,
};

std::uint64_t lock_key(std::string_view a, std::string_view b) noexcept;

inline std::uint64_t request_key(std::string_view request_uid) noexcept { return lock_key("request", request_uid); }

// Held to the end of the transaction. False: somebody else has it.
bool try_transaction_lock(lock_space space, std::uint64_t key);

// Waits at most the session's lock timeout (1 s; 55P03). Held to the end of the transaction.
void wait_transaction_lock(lock_space space, std::uint64_t key);
// The same, beside others that share it.
void wait_shared_lock(lock_space space, std::uint64_t key);

// Held until release(); an error in between leaves it to the transaction's abort.
class brief_lock {
 public:
  brief_lock(lock_space space, std::uint64_t key);
  brief_lock(const brief_lock&) = delete;
  brief_lock& operator=(const brief_lock&) = delete;
  bool held() const noexcept { return held_; }
  void release();

 private:
  LOCKTAG tag_;
  bool held_;
};

}  // namespace ql3::pg
