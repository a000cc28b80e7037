import { type ChildProcess, type ChildProcessByStdio, spawn } from "node:child_process";
import { openSync, readdirSync, readFileSync } from "node:fs";
import type { Readable, Writable } from "node:stream";

import { withParentCheck } from "./parent-check.ts";
import type { PlainCommand } from "./sandbox.ts";

/**
 * The only place where the host starts processes; `npm run check` refuses any other. Each one leads a session of its
 * own, so that it has no terminal to type into, and inherits no open file but its standard streams.
 */
function options({ folder, environment }: PlainCommand) {
  return { cwd: folder, env: environment, detached: true, shell: false } as const;
}

function programOf({ argv, endsWithParent }: PlainCommand): PlainCommand["argv"] {
  return endsWithParent === true ? withParentCheck(argv, process.pid) : argv;
}

const closeOnExec = 0o2000000;
const standardStreams = 3;
let inheritedFiles: readonly number[] | undefined;

/** Files that this process got open from its parent, and that a child would get too. */
function findInheritedFiles(): readonly number[] {
  try {
    return readdirSync("/proc/self/fd")
      .map(Number)
      .filter((file) => file >= standardStreams && !isClosedOnExec(file));
  } catch {
    return [];
  }
}

function isClosedOnExec(file: number): boolean {
  try {
    const flags = /^flags:\s+([0-7]+)/m.exec(
      readFileSync(`/proc/self/fdinfo/${file}`, "utf8"),
    )?.[1];
    return flags !== undefined && (Number.parseInt(flags, 8) & closeOnExec) !== 0;
  } catch {
    // It was the folder itself.
    return true;
  }
}

let emptyFile: number | undefined;

/** In their place the child gets an empty file; everything that Node opens itself is closed. */
function withoutInherited<T extends readonly unknown[]>(streams: T): T {
  inheritedFiles ??= findInheritedFiles();
  const last = Math.max(-1, ...inheritedFiles);
  if (last < streams.length) return streams;
  emptyFile ??= openSync("/dev/null", "r");
  const rest = Array.from({ length: last + 1 - streams.length }, (_, index) =>
    inheritedFiles?.includes(index + streams.length) === true ? emptyFile : "ignore",
  );
  // The types of a child know its first streams, which stay what they are.
  return [...streams, ...rest] as unknown as T;
}

/** A command that reads nothing. */
export function launchCommand(
  command: PlainCommand,
): ChildProcessByStdio<null, Readable, Readable> {
  const [program, ...args] = programOf(command);
  const stdio = withoutInherited<["ignore", "pipe", "pipe"]>(["ignore", "pipe", "pipe"]);
  return spawn(program, args, { ...options(command), stdio });
}

/** A program that is spoken to on its standard streams. */
export function launchServer(
  command: PlainCommand,
): ChildProcessByStdio<Writable, Readable, Readable> {
  const [program, ...args] = programOf(command);
  const stdio = withoutInherited<["pipe", "pipe", "pipe"]>(["pipe", "pipe", "pipe"]);
  return spawn(program, args, { ...options(command), stdio });
}

/** A process of the host's own code that outlives it. It is not confined; what it starts is. */
export function launchSupervisor(command: PlainCommand): ChildProcess {
  const [program, ...args] = command.argv;
  const stdio = withoutInherited<["ignore", "ignore", "ignore", "ipc"]>([
    "ignore",
    "ignore",
    "ignore",
    "ipc",
  ]);
  return spawn(program, args, { ...options(command), stdio });
}

/** A process of the host's own code that reads files for it, and ends with it. It sends values over its channel. */
export function launchReader(command: PlainCommand): ChildProcess {
  const [program, ...args] = command.argv;
  const stdio = withoutInherited<["ignore", "ignore", "pipe", "ipc"]>([
    "ignore",
    "ignore",
    "pipe",
    "ipc",
  ]);
  return spawn(program, args, { ...options(command), stdio, serialization: "advanced" });
}

/** A host that outlives the command that starts it. Its errors go to an open file. */
export function launchHost(command: PlainCommand, errorFile: number): ChildProcess {
  const [program, ...args] = command.argv;
  const stdio = withoutInherited<["ignore", "ignore", number]>(["ignore", "ignore", errorFile]);
  return spawn(program, args, { ...options(command), stdio });
}
