import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

import type { FaultName, History } from "./history.ts";
import type { ClientResponse, ClientRequest } from "./protocol.ts";

const repository = fileURLToPath(new URL("../../..", import.meta.url));

/** A process that clients can talk to. */
export interface Endpoint {
  readonly name: string;
  readonly isUp: boolean;
  /** Never rejects; an answer that doesn't come in time is `lost`. */
  ask(number: number, request: ClientRequest): Promise<ClientResponse>;
}

export interface LaunchSpec {
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** Node by default. */
  readonly command?: string;
  /** The first line of its standard input. */
  readonly startupMessage?: unknown;
}

export interface ManagedProcessDeps {
  readonly name: string;
  readonly history: History;
  /** Whether the store may be unreachable at this moment, so that a process may fail to start. */
  readonly isTroubled: () => boolean;
  readonly launch: (instance: string) => LaunchSpec;
  readonly isReady: (line: string) => boolean;
  readonly hear: (instance: string, line: string) => void;
  /** The process that works, where the one that was started only holds it. */
  readonly workerOf?: (pid: number) => number | undefined;
  /** What else it may say on standard error. */
  readonly mayReport?: readonly RegExp[];
}

interface Life {
  readonly instance: string;
  readonly child: ChildProcess;
  readonly ended: Promise<unknown>;
  readonly ready: PromiseWithResolvers<void>;
  isReady: boolean;
  isWantedToEnd: boolean;
  isStopped: boolean;
  wasTroubled: boolean;
  stderr: string;
}

/** A slot for one process after another. A process that ends by itself is reported and restarted. */
export class ManagedProcess {
  readonly #options: ManagedProcessDeps;
  #life: Life | undefined;
  #lives = 0;
  #isOver = false;

  constructor(options: ManagedProcessDeps) {
    this.#options = options;
  }

  get name(): string {
    return this.#options.name;
  }

  get isUp(): boolean {
    return this.#life?.isReady === true && !this.#life.isWantedToEnd;
  }

  /** Resolves when it works, or when it is gone. */
  get ready(): Promise<void> {
    return this.#life?.ready.promise ?? Promise.resolve();
  }

  get isStarting(): boolean {
    return this.#life !== undefined && !this.#life.isReady;
  }

  start(): void {
    if (this.#life !== undefined || this.#isOver) return;
    const instance = `${this.name}.${(this.#lives += 1)}`;
    const { args, env, startupMessage, command } = this.#options.launch(instance);
    const child = spawn(command ?? process.execPath, [...args], {
      cwd: repository,
      env: { ...withoutSettings(), ...env },
      stdio: ["pipe", "pipe", "pipe"],
    });
    const life: Life = {
      instance,
      child,
      ready: Promise.withResolvers<void>(),
      ended: once(child, "close"),
      isReady: false,
      isWantedToEnd: false,
      isStopped: false,
      wasTroubled: this.#options.isTroubled(),
      stderr: "",
    };
    this.#life = life;
    this.#note("start", instance);
    createInterface(child.stdout).on("line", (line) => this.#onLine(life, line));
    child.stderr.setEncoding("utf8").on("data", (text: string) => (life.stderr += text));
    // It may be killed before it has read them.
    child.stdin.on("error", () => {});
    if (startupMessage !== undefined) child.stdin.write(`${JSON.stringify(startupMessage)}\n`);
    void life.ended.then(() => this.#exited(life));
  }

  write(line: unknown): void {
    this.#life?.child.stdin?.write(`${JSON.stringify(line)}\n`);
  }

  /**
   * `SIGSTOP`, and `SIGCONT` after a while unless it was killed meanwhile. `false`: this was not the wanted moment, and
   * it goes on at once.
   */
  async stop(
    ms: number,
    isWanted: () => Promise<boolean> = async () => true,
    whileStopped: () => Promise<void> = async () => {},
  ): Promise<boolean> {
    const life = this.#life;
    if (life === undefined || life.isWantedToEnd || life.isStopped) return false;
    life.isStopped = true;
    this.#signal(life, "SIGSTOP");
    const isStopped = await isWanted();
    if (isStopped) {
      this.#note("stop", life.instance);
      const over = Promise.race([new Promise((resolve) => setTimeout(resolve, ms)), life.ended]);
      await Promise.all([over, whileStopped()]);
    }
    life.isStopped = false;
    if (this.#signal(life, "SIGCONT") && isStopped) this.#note("continue", life.instance);
    return isStopped;
  }

  /** `kill -9`; resolves when it is gone and all of its output was read. `false`: there was none. */
  async kill(): Promise<boolean> {
    const life = this.#life;
    if (life === undefined || life.isWantedToEnd) return false;
    life.isWantedToEnd = true;
    this.#note(life.isReady ? "kill" : "kill while starting", life.instance);
    life.child.kill("SIGKILL");
    await life.ended;
    return true;
  }

  /** Asks it to exit, and waits until it has. Exiting late or uncleanly is reported. */
  async leave(timeoutMs: number): Promise<void> {
    const life = this.#life;
    if (life === undefined || life.isWantedToEnd || life.isStopped) return;
    life.isWantedToEnd = true;
    this.#note("orderly stop", life.instance);
    this.#signal(life, "SIGTERM");
    const late = setTimeout(() => life.child.kill("SIGKILL"), timeoutMs);
    await life.ended;
    clearTimeout(late);
    if (life.child.exitCode !== 0)
      this.#wrong(`${life.instance} was asked to leave and ended with ${endOf(life)}`);
  }

  /** Nothing is started in this slot any more. */
  async end(): Promise<void> {
    this.#isOver = true;
    await this.kill();
  }

  /** A store fault began or ended: processes that are starting meanwhile may fail. */
  trouble(): void {
    if (this.#life !== undefined) this.#life.wasTroubled = true;
  }

  #signal({ child }: Life, signal: NodeJS.Signals): boolean {
    const { pid } = child;
    const worker = pid === undefined ? undefined : (this.#options.workerOf ?? ((own) => own))(pid);
    if (worker === undefined) return false;
    try {
      return process.kill(worker, signal);
    } catch {
      // It has just ended.
      return false;
    }
  }

  #onLine(life: Life, line: string): void {
    if (!life.isReady && this.#options.isReady(line)) {
      life.isReady = true;
      life.ready.resolve();
    }
    this.#options.hear(life.instance, line);
  }

  #exited(life: Life): void {
    this.#life = undefined;
    life.ready.resolve();
    const isExcused = !life.isReady && life.wasTroubled && life.child.exitCode === 1;
    const said = isExcused ? "" : unexpectedIn(life.stderr, this.#options.mayReport);
    if (said !== "") this.#wrong(`${life.instance} said: ${said}`);
    if (life.isWantedToEnd) return;
    if (isExcused) this.#note("could not start", life.instance);
    else this.#wrong(`${life.instance} ended by itself (${endOf(life)}): ${life.stderr}`);
    setTimeout(() => this.start(), 500);
  }

  #note(what: FaultName, whom: string): void {
    this.#options.history.note({ kind: "fault", what, whom });
  }

  #wrong(what: string): void {
    this.#options.history.note({ kind: "wrong", what });
  }
}

function endOf({ child, stderr }: Life): string {
  return `${child.exitCode ?? child.signalCode}${stderr === "" ? "" : `: ${stderr}`}`;
}

/**
 * Expected output: that the store is unreachable or refuses writes, from a runner with a stack, and from a host in a
 * line and with each request that a full store refuses. A host also warns about a low file limit. Nothing else may
 * appear.
 */
const expected = [
  /^(StoreFailure: |\s+at )/,
  /"level":"warn".*"msg":"The store (does not answer|takes no writes|answers again)/,
  /"level":"warn".*"msg":"Only \d+ files may be open/,
  /"level":"error".*"status":507,.*"msg":"request"/,
];

function unexpectedIn(stderr: string, more: readonly RegExp[] = []): string {
  const patterns = [...expected, ...more];
  const lines = stderr.split("\n").filter((line) => line.trim() !== "");
  return lines.filter((line) => !patterns.some((pattern) => pattern.test(line))).join("\n");
}

/** The settings of the current environment don't apply. */
function withoutSettings(): NodeJS.ProcessEnv {
  const own = Object.entries(process.env).filter(([name]) => !/^(HOLDFAST|VITEST)/.test(name));
  return Object.fromEntries(own);
}
