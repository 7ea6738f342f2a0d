// A program in a process group of its own, with pipes to its standard streams.
#pragma once

#include <string>
#include <vector>

#include <sys/types.h>

namespace ql3 {

// A file descriptor that is closed with its owner.
class Descriptor {
 public:
  explicit Descriptor(int number = -1) noexcept : number_(number) {}
  ~Descriptor() { close(); }
  Descriptor(Descriptor&& other) noexcept : number_(other.release()) {}
  Descriptor& operator=(Descriptor&& other) noexcept;

  int number() const noexcept { return number_; }
  bool open() const noexcept { return number_ >= 0; }
  void close() noexcept;
  int release() noexcept;

 private:
  int number_;
};

// Both ends of a pipe, or of nothing; neither survives an exec.
struct Pipe {
  Descriptor read_end;
  Descriptor write_end;
  static Pipe make();  // std::system_error
};

// Started by the constructor; the group is killed and the child waited for at the latest by the
// destructor. Thread rule: one thread, and the one that constructs it must outlive it, because the
// child dies with that thread.
class ChildProcess {
 public:
  // std::system_error when it cannot be started.
  ChildProcess(const std::string& path, const std::vector<std::string>& environment);
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  Descriptor input;   // non-blocking, to its standard input
  Descriptor output;  // non-blocking, from its standard output
  Descriptor errors;  // non-blocking, from its standard error

  // Readable once the child itself has ended, whoever still holds its pipes; not open on a kernel
  // without pidfds: then ask ended() from time to time.
  const Descriptor& end_signal() const noexcept { return end_; }
  bool ended() const noexcept;

  // Kills the whole group and waits for the child: how it ended, or how it was ended.
  int kill_and_wait() noexcept;

 private:
  pid_t child_ = -1;
  int status_ = 0;
  Descriptor end_;
};

// "exit status 3", "signal 11", or empty for exit status 0.
std::string describe_end(int wait_status);

}  // namespace ql3
