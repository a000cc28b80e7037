import { systemClock } from "@holdfast/engine";
import { withTimeout } from "@holdfast/protocol";
import type { JSONRPCMessage, Transport } from "@modelcontextprotocol/client";
import { launchServer } from "../../sandbox/launch.ts";
import type { PlainCommand } from "../../sandbox/sandbox.ts";

/** Splits a byte stream into lines in bounded memory. */
export interface LineReader {
  /** The lines completed so far. `null` if a line is too long; its buffer is dropped. */
  add(bytes: Buffer): readonly string[] | null;
}

export function createLineReader(maxBytes: number): LineReader {
  let chunks: Buffer[] = [];
  let buffered = 0;

  function reset(): null {
    chunks = [];
    buffered = 0;
    return null;
  }

  return {
    add(bytes) {
      const lines: string[] = [];
      let from = 0;
      for (let end = bytes.indexOf(10); end !== -1; end = bytes.indexOf(10, from)) {
        const line = Buffer.concat([...chunks, bytes.subarray(from, end)]);
        reset();
        if (line.byteLength > maxBytes) return null;
        lines.push(line.toString("utf8"));
        from = end + 1;
      }
      const rest = bytes.subarray(from);
      if (rest.byteLength > 0) chunks.push(rest);
      buffered += rest.byteLength;
      return buffered > maxBytes ? reset() : lines;
    },
  };
}

/** Process groups started by this process and not known to have ended. */
const leaders = new Set<number>();

/** If this process exits without cleanup, its servers end with it. */
export function trackGroup(leader: number): void {
  if (leaders.size === 0) process.once("exit", killAll);
  leaders.add(leader);
}

export function untrackGroup(leader: number): void {
  leaders.delete(leader);
  if (leaders.size === 0) process.removeListener("exit", killAll);
}

/** A group that has ended is no error. */
export function signalGroup(leader: number, signal: NodeJS.Signals): void {
  try {
    process.kill(-leader, signal);
  } catch {
    // It is gone, or no longer ours.
  }
}

function killAll(): void {
  for (const leader of leaders) signalGroup(leader, "SIGKILL");
}

export interface LaunchSettings {
  /** What the operator calls it. */
  readonly name: string;
  /** What is started, with its complete environment: nothing of the host's own is added. */
  readonly launched: PlainCommand;
  readonly decode: (line: string) => JSONRPCMessage;
  /** Receives a line the program wrote to stderr. */
  readonly onStderrLine: (line: string) => void;
  /** Called once when it has ended, or could not be started. */
  readonly onEnd: () => void;
}

type Child = ReturnType<typeof launchServer>;

const maxMessageBytes = 16 * 1024 * 1024;
const maxStderrLineBytes = 64 * 1024;
/** A program that writes this many invalid lines does not speak the protocol. */
const maxInvalidLines = 1_000;
/** How long a program may take to exit once its stdin is closed, and again after SIGTERM. */
const exitTimeoutMs = 500;
const terminateTimeoutMs = 1_000;
/** How long a process outside the group may hold stdout open after the program has exited. */
const lingerMs = 500;

/**
 * A server as a child process: messages are lines on stdin and stdout. Its process group ends with it and with the
 * host.
 */
export class StdioTransport implements Transport {
  onclose?: (() => void) | undefined;
  onerror?: ((error: Error) => void) | undefined;
  onmessage?: Transport["onmessage"];
  readonly #launch: LaunchSettings;
  #child: Child | undefined;
  #ended: Promise<void> = Promise.resolve();
  #handled: Promise<void> = Promise.resolve();
  #invalidLines = 0;
  /** Why it was stopped, or how it ended. */
  end: string | undefined;

  constructor(launch: LaunchSettings) {
    this.#launch = launch;
  }

  /** The client recognizes a pipe by these two. */
  get pid(): number | null {
    return this.#child?.pid ?? null;
  }
  get stderr(): null {
    return null;
  }

  start(): Promise<void> {
    const { name, launched } = this.#launch;
    const child = launchServer(launched);
    const started = new Promise<void>((resolve, reject) => {
      child.once("spawn", resolve);
      child.once("error", (error: NodeJS.ErrnoException) => {
        this.end = `${name} could not be started (${error.code ?? "unknown"}).`;
        this.#launch.onEnd();
        reject(new Error(this.end));
      });
    });
    // A program that failed to start may have no pipes, for example when this process is out of file descriptors.
    if (child.pid === undefined) return started;
    this.#child = child;
    trackGroup(child.pid);
    this.#listen(child);
    this.#ended = new Promise((resolve) => {
      child.once("exit", (code, signal) => {
        this.end ??=
          signal === null ? `It ended with exit code ${code ?? 0}.` : `It was ended by ${signal}.`;
        if (child.pid !== undefined) endGroup(child.pid);
        const timer = setTimeout(() => {
          child.stdout.destroy();
          child.stderr.destroy();
        }, lingerMs);
        child.once("close", () => clearTimeout(timer));
      });
      child.once("close", () => {
        resolve();
        this.#launch.onEnd();
        void this.#handled.then(() => this.onclose?.());
      });
    });
    return started;
  }

  #listen(child: Child): void {
    const messages = createLineReader(maxMessageBytes);
    child.stdout.on("data", (bytes: Buffer) => {
      const lines = messages.add(bytes);
      if (lines === null) return this.#fail("It wrote a message that is too long.");
      // One at a time: the client handles a notification asynchronously, and a response right after it would overtake
      // it.
      for (const line of lines)
        this.#handled = this.#handled.then(() => this.#handleLine(line)).then(pause);
    });
    const reason = createLineReader(maxStderrLineBytes);
    child.stderr.on("data", (bytes: Buffer) => {
      for (const line of reason.add(bytes) ?? []) this.#launch.onStderrLine(line);
    });
    // A program that exits closes its stdin; its exit is reported separately.
    for (const stream of [child.stdin, child.stdout, child.stderr])
      stream.on("error", (error) => this.onerror?.(error));
  }

  #handleLine(line: string): void {
    if (line.trim() === "") return;
    let message: JSONRPCMessage;
    try {
      message = this.#launch.decode(line);
    } catch {
      this.#invalidLines += 1;
      if (this.#invalidLines > maxInvalidLines) this.#fail("It writes what is no message.");
      return;
    }
    this.onmessage?.(message);
  }

  #fail(reason: string): void {
    if (this.end !== undefined) return;
    this.end = reason;
    this.#child?.stdout.destroy();
    if (this.pid !== null) signalGroup(this.pid, "SIGKILL");
  }

  send(message: JSONRPCMessage): Promise<void> {
    const input = this.#child?.stdin;
    if (input === undefined || !input.writable)
      return Promise.reject(new Error("The program takes no input any more."));
    return new Promise((resolve, reject) => {
      input.write(`${JSON.stringify(message)}\n`, (error) => (error ? reject(error) : resolve()));
    });
  }

  /** Closes stdin, then sends SIGTERM, then SIGKILL to the whole group. */
  async close(): Promise<void> {
    const child = this.#child;
    if (child?.pid === undefined) return;
    child.stdin.end();
    if (await this.#exitsWithin(exitTimeoutMs)) return;
    signalGroup(child.pid, "SIGTERM");
    if (await this.#exitsWithin(terminateTimeoutMs)) return;
    signalGroup(child.pid, "SIGKILL");
    await this.#ended;
  }

  async #exitsWithin(ms: number): Promise<boolean> {
    const exit = await withTimeout({ clock: systemClock, ms }, () => this.#ended);
    return exit.status === "done";
  }
}

async function pause(): Promise<void> {}

function endGroup(leader: number): void {
  signalGroup(leader, "SIGKILL");
  untrackGroup(leader);
}
