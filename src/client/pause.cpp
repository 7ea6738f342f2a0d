#include "client/pause.hpp"

#include <algorithm>
#include <random>

namespace ql3 {

namespace {

double random_between(double low, double high) {
  thread_local std::minstd_rand generator(std::random_device{}());
  return std::uniform_real_distribution<double>(low, high)(generator);
}

Clock::Length scaled(Clock::Length length, double factor) {
  return Clock::Length(
      static_cast<Clock::Length::rep>(static_cast<double>(length.count()) * factor));
}

}  // namespace

Clock::Length Backoff::next() {
  constexpr Clock::Length first = std::chrono::milliseconds(100);
  constexpr Clock::Length most = std::chrono::seconds(2);
  const Clock::Length pause = std::min<Clock::Length>(first * (1 << std::min(tries_, 5)), most);
  ++tries_;
  return scaled(pause, random_between(0.75, 1.0));
}

Clock::Length jittered(Clock::Length length) { return scaled(length, random_between(0.8, 1.2)); }

bool sleep_until(Clock& clock, Clock::Time until, std::stop_token stop) {
  std::mutex mutex;
  std::condition_variable changed;
  const std::stop_callback wake(stop, [&] {
    const std::lock_guard held(mutex);
    changed.notify_all();
  });
  std::unique_lock lock(mutex);
  while (!stop.stop_requested() && clock.now() < until) clock.wait(lock, changed, until);
  return !stop.stop_requested();
}

}  // namespace ql3
