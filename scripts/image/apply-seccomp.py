"""Applies a container engine's seccomp profile to this process and becomes a command, as the engine does.

apply-seccomp.py PROFILE [--probe] -- COMMAND…

With --probe it tries calls that the profile must refuse, prints their names, and ends.
"""
import ctypes
import json
import os
import sys

ACTIONS = {"SCMP_ACT_ALLOW": 0x7FFF0000, "SCMP_ACT_ERRNO": 0x00050000}
COMPARISONS = {"SCMP_CMP_NE": 1, "SCMP_CMP_EQ": 4, "SCMP_CMP_MASKED_EQ": 7}
DANGEROUS = ["bpf", "kexec_load", "keyctl", "init_module", "open_by_handle_at", "perf_event_open", "reboot", "swapon"]
EPERM = 1


class Comparison(ctypes.Structure):
    _fields_ = [("arg", ctypes.c_uint), ("op", ctypes.c_int), ("a", ctypes.c_uint64), ("b", ctypes.c_uint64)]


library = ctypes.CDLL("libseccomp.so.2", use_errno=True)
library.seccomp_init.restype = ctypes.c_void_p
library.seccomp_load.argtypes = [ctypes.c_void_p]
library.seccomp_rule_add_array.argtypes = [
    ctypes.c_void_p, ctypes.c_uint32, ctypes.c_int, ctypes.c_uint, ctypes.POINTER(Comparison)]


def load(profile):
    refused = ACTIONS[profile["defaultAction"]] | profile["defaultErrnoRet"]
    context = library.seccomp_init(refused)
    for rule in profile["syscalls"]:
        given = rule.get("args", [])
        action = ACTIONS[rule["action"]] | rule.get("errnoRet", 0)
        tests = (Comparison * max(1, len(given)))(
            *[Comparison(test["index"], COMPARISONS[test["op"]], test["value"], 0) for test in given])
        for name in rule["names"]:
            number = library.seccomp_syscall_resolve_name(name.encode())
            # The library or the machine may not know a call. It is then refused.
            if number < 0:
                continue
            result = library.seccomp_rule_add_array(context, action, number, len(given), tests)
            if result != 0:
                sys.exit(f"The rule for {name} was not accepted ({result}).")
    result = library.seccomp_load(context)
    if result != 0:
        sys.exit(f"The profile was not accepted ({result}).")


def refused_calls():
    libc = ctypes.CDLL(None, use_errno=True)
    for name in DANGEROUS:
        ctypes.set_errno(0)
        libc.syscall(library.seccomp_syscall_resolve_name(name.encode()), -1, -1, -1, -1, -1)
        if ctypes.get_errno() == EPERM:
            yield name


with open(sys.argv[1]) as file:
    load(json.load(file))
if "--probe" in sys.argv:
    print(" ".join(refused_calls()))
else:
    command = sys.argv[sys.argv.index("--") + 1:]
    os.execvp(command[0], command)
