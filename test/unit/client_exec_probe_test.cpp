// The exec probe against programs that do everything wrong.
#include "client/exec_probe.hpp"

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "client_fakes.hpp"

namespace ql3 {
namespace {

const Target target = test::make_claimed("job", "a").target;
constexpr Milliseconds ample = std::chrono::seconds(60);

class ExecProbeTest : public ::testing::Test {
 protected:
  ExecProbeTest() {
    char name[] = "/tmp/ql3-probe-XXXXXX";
    folder_ = mkdtemp(name);
  }
  ~ExecProbeTest() override { std::filesystem::remove_all(folder_); }

  std::string file(const std::string& name) const { return folder_ + "/" + name; }

  std::string script(const std::string& body) {
    const std::string path = file("probe" + std::to_string(++scripts_));
    std::ofstream(path) << "#!/bin/sh\n" << body << "\n";
    std::filesystem::permissions(path, std::filesystem::perms::owner_all);
    return path;
  }

  ProbeAnswer run(const std::string& body, Milliseconds timeout = ample) {
    ExecProbe probe(script(body));
    return probe.judge(target, {stop_.get_token(), timeout});
  }

  std::string content(const std::string& name) const {
    std::ifstream in(file(name));
    return {std::istreambuf_iterator<char>(in), {}};
  }

  // The process whose number a script wrote is gone, or a zombie nobody of ours waits for.
  bool is_gone(const std::string& name) const {
    std::ifstream stat("/proc/" + std::to_string(std::atoi(content(name).c_str())) + "/stat");
    std::string number, program, state;
    return !(stat >> number >> program >> state) || state == "Z" || state == "X";
  }

  std::stop_source stop_;

 private:
  std::string folder_;
  int scripts_ = 0;
};

TEST_F(ExecProbeTest, ReadsTheCandidateAndAnswers) {
  const ProbeAnswer answer =
      run("cat > " + file("in") + "\necho '{\"verdict\":\"not_running\",\"reason\":\"gone\"}'");
  EXPECT_EQ(answer.verdict, Verdict::not_running);
  EXPECT_EQ(answer.reason, "gone");
  EXPECT_NE(content("in").find("\"id\":\"a\""), std::string::npos);
}

TEST_F(ExecProbeTest, AnAnswerWithoutReadingCounts) {
  EXPECT_EQ(run("exec <&-; echo '{\"verdict\":\"running\"}'").verdict, Verdict::running);
}

TEST_F(ExecProbeTest, ALargeCandidateToOneWhoReadsNothing) {
  Target large = target;
  large.source = "{\"a\":\"" + std::string(300'000, 'x') + "\"}";
  ExecProbe probe(script("echo '{\"verdict\":\"running\"}'"));
  EXPECT_EQ(probe.judge(large, {stop_.get_token(), ample}).verdict, Verdict::running);
}

TEST_F(ExecProbeTest, CrashesAreNoAnswer) {
  EXPECT_EQ(run("kill -SEGV $$").reason, "signal 11");
  EXPECT_EQ(run("exit 3").reason, "exit status 3");
  // Also with a good answer on the way out.
  EXPECT_EQ(run("echo '{\"verdict\":\"not_running\"}'; exit 1").verdict, Verdict::unknown);
  EXPECT_EQ(run("echo '{\"verdict\":\"not_running\"}'; kill -KILL $$").verdict, Verdict::unknown);
}

TEST_F(ExecProbeTest, WhatItSaysOnStandardErrorIsKeptShort) {
  const ProbeAnswer answer =
      run("echo 'cannot reach the provider' >&2; head -c 3000000 /dev/zero >&2; exit 2");
  EXPECT_EQ(answer.reason.substr(0, 51), "exit status 2; it said: cannot reach the provider  ");
  EXPECT_LT(answer.reason.size(), 600U);
}

TEST_F(ExecProbeTest, GarbageIsNoAnswer) {
  EXPECT_EQ(run("echo garbage").verdict, Verdict::unknown);
  EXPECT_EQ(run("true").verdict, Verdict::unknown);
  EXPECT_EQ(run("printf '{\"verdict\":\"not_running\"}\\000'").verdict, Verdict::unknown);
  EXPECT_EQ(run("head -c 1000 /dev/urandom").verdict, Verdict::unknown);
}

TEST_F(ExecProbeTest, AnAnswerForAnotherTargetIsConflicting) {
  const ProbeAnswer answer = run("echo '{\"verdict\":\"not_running\",\"id\":\"b\"}'");
  EXPECT_EQ(answer.verdict, Verdict::unknown);
  EXPECT_EQ(answer.why, Why::conflicting_evidence);
}

TEST_F(ExecProbeTest, EndlessOutputIsCutOff) {
  const ProbeAnswer answer = run("echo $$ > " + file("pid") + "; exec yes");
  EXPECT_EQ(answer.verdict, Verdict::unknown);
  EXPECT_NE(answer.reason.find("more than 262144 bytes"), std::string::npos);
  EXPECT_TRUE(is_gone("pid"));
}

TEST_F(ExecProbeTest, AHangEndsWithItsTimeAndItsGroup) {
  const ProbeAnswer answer =
      run("sleep 1000 & echo $! > " + file("pid") + "; trap '' TERM; wait", Milliseconds(300));
  EXPECT_EQ(answer.verdict, Verdict::unknown);
  EXPECT_EQ(answer.reason, "no answer within 300ms");
  test::wait_for([&] { return is_gone("pid"); });
}

TEST_F(ExecProbeTest, AStopEndsIt) {
  ProbeAnswer answer;
  std::thread judge([&] { answer = run("echo $$ > " + file("pid") + "; exec sleep 1000"); });
  test::wait_for([&] { return !content("pid").empty(); });
  stop_.request_stop();
  judge.join();
  EXPECT_EQ(answer.reason, "stopped before it answered");
  EXPECT_TRUE(is_gone("pid"));
}

TEST_F(ExecProbeTest, AChildThatOutlivesItNeitherDelaysNorSurvives) {
  // The child keeps both pipes open: waiting for their end would wait for the child.
  const ProbeAnswer answer =
      run("sleep 1000 & echo $! > " + file("pid") + "; echo '{\"verdict\":\"not_running\"}'");
  EXPECT_EQ(answer.verdict, Verdict::not_running);
  test::wait_for([&] { return is_gone("pid"); });
}

TEST_F(ExecProbeTest, NothingOfOursIsOpenInIt) {
  // Without the close-on-exec flag, as another library might have opened it.
  const int leaked = open("/dev/null", O_RDONLY);
  const int high = fcntl(leaked, F_DUPFD, 77);
  const ProbeAnswer answer = run("ls /proc/self/fd > " + file("fds"));
  close(leaked);
  close(high);
  // The fourth is the one ls reads the folder with.
  EXPECT_EQ(content("fds"), "0\n1\n2\n3\n");
}

TEST_F(ExecProbeTest, ItSeesNoDatabaseSettings) {
  setenv("PGPASSWORD", "secret", 1);
  setenv("QL3_PROBE_COLOUR", "blue", 1);
  run("env > " + file("env"));
  unsetenv("PGPASSWORD");
  unsetenv("QL3_PROBE_COLOUR");
  EXPECT_EQ(content("env").find("PGPASSWORD"), std::string::npos);
  EXPECT_NE(content("env").find("QL3_PROBE_COLOUR=blue"), std::string::npos);
  EXPECT_NE(content("env").find("PATH="), std::string::npos);
}

TEST_F(ExecProbeTest, SignalsAreAsAProgramExpectsThem) {
  std::signal(SIGPIPE, SIG_IGN);
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  // 32 and 33 are the C library's own: ignored below a posix_spawn, and no program can change that.
  run("sed -nE 's/^(Sig(Blk|Ign):.*)[0-9a-f]{2}(.{7})$/\\1-\\3/p' /proc/self/status > " +
      file("signals"));
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  std::signal(SIGPIPE, SIG_DFL);
  EXPECT_EQ(content("signals"), "SigBlk:\t0000000-0000000\nSigIgn:\t0000000-0000000\n");
}

TEST_F(ExecProbeTest, AWriteToAClosedPipeDoesNotKillUs) {
  Target large = target;
  large.source = "{\"a\":\"" + std::string(300'000, 'x') + "\"}";
  ExecProbe probe(script("exec <&-; sleep 0.2; echo '{\"verdict\":\"running\"}'"));
  std::signal(SIGPIPE, SIG_DFL);
  EXPECT_EQ(probe.judge(large, {stop_.get_token(), ample}).verdict, Verdict::running);
}

TEST_F(ExecProbeTest, OnlyProgramsThatMayBeRunAreAccepted) {
  EXPECT_THROW(ExecProbe("/nonexistent"), std::invalid_argument);
  EXPECT_THROW(ExecProbe("/tmp"), std::invalid_argument);
  EXPECT_THROW(ExecProbe("/etc/passwd"), std::invalid_argument);
  EXPECT_THROW(ExecProbe("no-such-program-anywhere"), std::invalid_argument);
  EXPECT_THROW(ExecProbe(""), std::invalid_argument);
  EXPECT_EQ(ExecProbe("sh").identity().substr(0, 6), "exec:/");
}

TEST_F(ExecProbeTest, AProgramThatVanishedIsNotFatal) {
  const std::string path = script("true");
  ExecProbe probe(path);
  std::filesystem::remove(path);
  EXPECT_THROW(probe.judge(target, {stop_.get_token(), ample}), std::system_error);
}

TEST(ProbeRegistry, RefusesWhatItCannotServe) {
  const auto probe = std::make_shared<test::FakeProbe>(test::until_stopped);
  ProbeRegistry probes;
  probes.add("job", probe);
  EXPECT_EQ(probes.find("job")->timeout, Milliseconds(5'000));
  EXPECT_EQ(probes.find("jo"), nullptr);
  EXPECT_EQ(probes.find("JOB"), nullptr);
  EXPECT_THROW(probes.add("job", probe), std::invalid_argument);
  EXPECT_THROW(probes.add("Job", probe), std::invalid_argument);
  EXPECT_THROW(probes.add("none", nullptr), std::invalid_argument);
  EXPECT_THROW(probes.add("zero", probe, Milliseconds(0)), std::invalid_argument);
  EXPECT_THROW(probes.add("long", probe, Milliseconds(30'001)), std::invalid_argument);
  probes.add("most", probe, Milliseconds(30'000));
  probes.add("dispatch", probe);
  for (int i = 3; i < 32; ++i) probes.add("kind_" + std::to_string(i), probe);
  EXPECT_EQ(probes.kinds().size(), 32U);
  EXPECT_THROW(probes.add("one_more", probe), std::invalid_argument);
}

}  // namespace
}  // namespace ql3
