// Preloaded into a client. QL3_NET_LOG: a line for each TCP connection it begins, with the socket's
// options as the kernel has them then. QL3_NET_HOLD: while this file exists, looking up the name
// "far.test" hangs; without it, that is this machine.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include <arpa/inet.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

namespace {

template <typename Function>
Function* next(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

int option(int socket, int level, int name) {
  int value = -1;
  socklen_t size = sizeof value;
  getsockopt(socket, level, name, &value, &size);
  return value;
}

void log_connection(const char* path, int socket, int port) {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  char line[200];
  const int size = std::snprintf(
      line, sizeof line, "%.6f %d keepalive=%d idle=%d interval=%d count=%d user_timeout=%d\n",
      static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9, port,
      option(socket, SOL_SOCKET, SO_KEEPALIVE), option(socket, IPPROTO_TCP, TCP_KEEPIDLE),
      option(socket, IPPROTO_TCP, TCP_KEEPINTVL), option(socket, IPPROTO_TCP, TCP_KEEPCNT),
      option(socket, IPPROTO_TCP, TCP_USER_TIMEOUT));
  const int file = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  [[maybe_unused]] const ssize_t written = write(file, line, static_cast<std::size_t>(size));
  close(file);
}

}  // namespace

extern "C" int connect(int socket, const sockaddr* address, socklen_t size) {
  const char* const path = std::getenv("QL3_NET_LOG");
  if (path != nullptr && address->sa_family == AF_INET) {
    log_connection(path, socket, ntohs(reinterpret_cast<const sockaddr_in*>(address)->sin_port));
  }
  return next<decltype(connect)>("connect")(socket, address, size);
}

extern "C" int getaddrinfo(const char* name, const char* service, const addrinfo* hints,
                           addrinfo** found) {
  const char* const hold = std::getenv("QL3_NET_HOLD");
  if (name != nullptr && hold != nullptr && std::strcmp(name, "far.test") == 0) {
    while (access(hold, F_OK) == 0) {
      const std::string hung = std::string(hold) + ".hung";
      close(open(hung.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
      usleep(20'000);
    }
    name = "127.0.0.1";
  }
  return next<decltype(getaddrinfo)>("getaddrinfo")(name, service, hints, found);
}
