#include "try_lock.hpp"

namespace ql3::pg {

namespace {

LOCKTAG tag_of(lock_space space, std::uint64_t key) noexcept {
  LOCKTAG tag;
  SET_LOCKTAG_ADVISORY(tag, MyDatabaseId, static_cast<uint32>(key >> 32), static_cast<uint32>(key),
                       static_cast<uint16>(space));
  return tag;
}

}  // namespace

std::uint64_t lock_key(std::string_view a, std::string_view b) noexcept {
  std::uint64_t const first =
      hash_bytes_extended(reinterpret_cast<const unsigned char*>(a.data()), static_cast<int>(a.size()), 0);
  return hash_bytes_extended(reinterpret_cast<const unsigned char*>(b.data()), static_cast<int>(b.size()), first);
}

bool try_transaction_lock(lock_space space, std::uint64_t key) {
  LOCKTAG const tag = tag_of(space, key);
  return call([&] { return LockAcquire(&tag, ExclusiveLock, false, true) != LOCKACQUIRE_NOT_AVAIL; });
}

void wait_transaction_lock(lock_space space, std::uint64_t key) {
  LOCKTAG const tag = tag_of(space, key);
  call([&] { (void)LockAcquire(&tag, ExclusiveLock, false, false); });
}

void wait_shared_lock(lock_space space, std::uint64_t key) {
  LOCKTAG const tag = tag_of(space, key);
  call([&] { (void)LockAcquire(&tag, ShareLock, false, false); });
}

brief_lock::brief_lock(lock_space space, std::uint64_t key) : tag_(tag_of(space, key)) {
  held_ = call([&] { return LockAcquire(&tag_, ExclusiveLock, false, true) != LOCKACQUIRE_NOT_AVAIL; });
}

void brief_lock::release() {
  if (!held_) return;
  call([&] { LockRelease(&tag_, ExclusiveLock, false); });
  held_ = false;
}

}  // namespace ql3::pg
