"""Runs a command to its end: exit code, output, wall and CPU time, peak memory."""
import collections, os, signal, subprocess, tempfile, threading, time

Outcome = collections.namedtuple("Outcome", "code out err wall cpu peak")  # seconds; peak in bytes; code < 0: a signal or time-out

# A finding of a sanitizer must not look like one of edgec's own exit codes.
SANITIZER = {"ASAN_OPTIONS": "exitcode=99:allocator_may_return_null=1", "UBSAN_OPTIONS": "exitcode=99:print_stacktrace=1"}


def run(command, timeout=120, env=None, cwd=None):
    # Peak memory as the kernel counts it: never below what this Python process itself takes at the fork (about 15 MB).
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        start = time.perf_counter()
        try:
            child = subprocess.Popen([str(c) for c in command], stdin=subprocess.DEVNULL, stdout=out, stderr=err, cwd=cwd,
                                     env={**SANITIZER, **os.environ, **(env or {})})
        except OSError as e:
            return Outcome(127, "", str(e), 0, 0, 0)
        timer = threading.Timer(timeout, os.kill, (child.pid, signal.SIGKILL))
        timer.start()
        _, status, usage = os.wait4(child.pid, 0)
        wall = time.perf_counter() - start
        timer.cancel()
        child.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0), err.seek(0)
        err_text = err.read().decode(errors="replace")
        if wall >= timeout:
            err_text = f"timed out after {timeout} s\n{err_text}"
        return Outcome(child.returncode, out.read().decode(errors="replace"), err_text, wall, usage.ru_utime + usage.ru_stime,
                       usage.ru_maxrss * 1024)


def crashed(outcome):
    """Ended by a signal, by a sanitizer, or with a bug of ours."""
    marks = ("AddressSanitizer", "LeakSanitizer", "UndefinedBehaviorSanitizer", "runtime error:")
    return outcome.code < 0 or outcome.code in (70, 99) or outcome.code >= 128 or any(m in outcome.err for m in marks)


def first_line(text):
    return next((line.strip()[:200] for line in text.splitlines() if line.strip()), "(no message)")
