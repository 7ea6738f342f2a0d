// Closing what a child process must not have.
#pragma once

#include <sys/syscall.h>
#include <unistd.h>

namespace ql3 {

// Closes every descriptor from `first` on. Nothing but system calls: for a child that shares its
// parent's memory.
inline void close_from(int first) noexcept {
// Kernels have it from 5.9 on; the name with SYS_ came to the C library later.
#ifdef __NR_close_range
  if (syscall(__NR_close_range, first, ~0U, 0) == 0) return;
#endif
  for (int number = first; number < 1024; ++number) close(number);
}

}  // namespace ql3
