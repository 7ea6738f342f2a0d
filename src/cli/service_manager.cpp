#include "cli/service_manager.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

namespace ql3::cli {

namespace {

std::string taken(const char* name) {
  const char* const value = std::getenv(name);
  std::string text = value == nullptr ? "" : value;
  unsetenv(name);
  return text;
}

// Zero for what is no number.
std::int64_t number(const std::string& text) {
  std::int64_t value = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), value);
  return fault == std::errc() && end == text.data() + text.size() ? value : 0;
}

}  // namespace

ServiceManager::ServiceManager() : address_(taken("NOTIFY_SOCKET")) {
  const std::string length = taken("WATCHDOG_USEC");
  const std::string process = taken("WATCHDOG_PID");
  const bool usable = !address_.empty() && address_.size() < sizeof(sockaddr_un::sun_path) &&
                      (address_[0] == '/' || address_[0] == '@');
  if (!usable) return;
  socket_ = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  // The number is inherited by whatever our parent starts; the process named is the one meant.
  if (!process.empty() && number(process) != getpid()) return;
  constexpr std::int64_t most = std::int64_t{365} * 24 * 3600 * 1'000'000;
  watchdog_ = std::chrono::microseconds(std::clamp<std::int64_t>(number(length), 0, most));
}

ServiceManager::~ServiceManager() {
  if (socket_ >= 0) close(socket_);
}

void ServiceManager::tell(const std::string& word) const noexcept {
  if (socket_ < 0) return;
  sockaddr_un to{};
  to.sun_family = AF_UNIX;
  std::memcpy(to.sun_path, address_.data(), address_.size());
  // A name that begins with @ is no file: its first byte is a zero, and its length counts.
  if (to.sun_path[0] == '@') to.sun_path[0] = '\0';
  sendto(socket_, word.data(), word.size(), MSG_NOSIGNAL, reinterpret_cast<const sockaddr*>(&to),
         static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + address_.size()));
}

}  // namespace ql3::cli
