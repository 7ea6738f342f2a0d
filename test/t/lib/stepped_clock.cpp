// Preloaded into a server: its wall clock is off by as many seconds as the file QL3_CLOCK holds (a 64-bit number, which
// is mapped, so that all its processes see a step at once). libfaketime reads such a file with fopen() at each look at
// the clock; a server looks at it in signal handlers, and one that interrupts malloc() aborts the process.
#include <cstdint>
#include <cstdlib>
#include <ctime>

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <unistd.h>

namespace {

using Real = int (*)(clockid_t, timespec*);
Real real;
const volatile std::int64_t* off;

[[gnu::constructor]] void begin() {
  real = reinterpret_cast<Real>(dlsym(RTLD_NEXT, "clock_gettime"));
  const char* const path = std::getenv("QL3_CLOCK");
  const int file = path == nullptr ? -1 : open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return;
  void* const mapped = mmap(nullptr, sizeof(std::int64_t), PROT_READ, MAP_SHARED, file, 0);
  close(file);
  if (mapped != MAP_FAILED) off = static_cast<const std::int64_t*>(mapped);
}

}  // namespace

extern "C" int clock_gettime(clockid_t id, timespec* read) noexcept {
  // Other libraries may look at the clock before our turn to begin.
  if (real == nullptr) real = reinterpret_cast<Real>(dlsym(RTLD_NEXT, "clock_gettime"));
  const int answer = real(id, read);
  if (answer == 0 && off != nullptr && (id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE)) read->tv_sec += *off;
  return answer;
}

extern "C" int gettimeofday(timeval* read, void*) noexcept {
  timespec now;
  const int answer = clock_gettime(CLOCK_REALTIME, &now);
  if (answer == 0) *read = {now.tv_sec, now.tv_nsec / 1000};
  return answer;
}

extern "C" time_t time(time_t* read) noexcept {
  timespec now;
  if (clock_gettime(CLOCK_REALTIME, &now) != 0) return -1;
  if (read != nullptr) *read = now.tv_sec;
  return now.tv_sec;
}
