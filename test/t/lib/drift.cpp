// Preloaded into a client: its monotonic clock (CLOCK_BOOTTIME) runs QL3_DRIFT times as fast as the
// machine's. libfaketime cannot do that for a program that waits on condition variables: it moves
// the clock they count by and not their waits, which then never end.
#include <cstdlib>
#include <ctime>

#include <dlfcn.h>

extern "C" int clock_gettime(clockid_t id, timespec* read) noexcept {
  using Real = int (*)(clockid_t, timespec*);
  static const Real real = reinterpret_cast<Real>(dlsym(RTLD_NEXT, "clock_gettime"));
  const int answer = real(id, read);
  const char* const rate = std::getenv("QL3_DRIFT");
  if (answer != 0 || id != CLOCK_BOOTTIME || rate == nullptr) return answer;
  const double moved =
      (static_cast<double>(read->tv_sec) + static_cast<double>(read->tv_nsec) * 1e-9) *
      std::atof(rate);
  read->tv_sec = static_cast<time_t>(moved);
  read->tv_nsec = static_cast<long>((moved - static_cast<double>(read->tv_sec)) * 1e9);
  return answer;
}
