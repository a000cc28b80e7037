import { z } from "zod";
import type { ToolResult, Clock, Random } from "@holdfast/engine";
import { backoffMs } from "@holdfast/protocol";
import { ConnectionRefusal, streamLost } from "./http-transport.ts";
import { type Sdk, connect, type McpConnection, loadSdk } from "./connect.ts";
import type { Confinement } from "../../sandbox/confinement.ts";
import type { Redact } from "../../ops/secrets/redact.ts";
import type { McpServer } from "../../ops/config/mcp-servers.ts";
import { type ServerSignIn, SignInNeeded } from "./sign-in/sign-ins.ts";
import type { ToolList } from "./tool-list.ts";
import type { ValueSources } from "./resolve-values.ts";

const maxMessageLength = 2_000;

/** Why a call has no result, and whether it may have run. */
export interface CallFailure {
  readonly outcome: Extract<ToolResult["outcome"], "failed" | "unknown">;
  readonly message: string;
  /** Whether the connection is unusable. */
  readonly isLost: boolean;
  /** Pages that a person has to finish on before the server does anything. */
  readonly pages?: readonly { readonly url: string; readonly message: string }[];
}

const pagesToOpen = z.array(z.object({ url: z.string(), message: z.string() }));

const notSentCodes: ReadonlySet<string> = new Set([
  "ECONNREFUSED",
  "ENOTFOUND",
  "EAI_AGAIN",
  "EHOSTUNREACH",
  "ENETUNREACH",
]);

/**
 * P7: the protocol redelivers nothing. A call that was sent and not answered may have run: its outcome is unknown, and
 * it is not sent again.
 */
function classifyCallFailure(
  {
    ProtocolError,
    SdkError,
    SdkErrorCode,
    SdkHttpError,
    UrlElicitationRequiredError,
    InsufficientScopeError,
  }: Sdk,
  error: unknown,
): CallFailure {
  const message = (error instanceof Error ? error.message : String(error)).slice(
    0,
    maxMessageLength,
  );
  if (error instanceof UrlElicitationRequiredError)
    return {
      outcome: "failed",
      message,
      isLost: false,
      pages: pagesToOpen.safeParse(error.elicitations).data ?? [],
    };
  if (error instanceof ProtocolError) {
    if (error.code === streamLost) return { outcome: "unknown", message, isLost: true };
    return { outcome: "failed", message, isLost: false };
  }
  // The server refused before it did anything.
  if (error instanceof SignInNeeded) return { outcome: "failed", message, isLost: true };
  // P7: it is not made again by itself, although it could be: a person decides about the permission first.
  if (error instanceof InsufficientScopeError)
    return { outcome: "failed", message: scopeMissing(error.requiredScope), isLost: false };
  if (error instanceof ConnectionRefusal) return { outcome: "failed", message, isLost: true };
  if (error instanceof SdkHttpError) {
    const { status } = error;
    const isRefused = status >= 400 && status < 500 && status !== 408;
    return { outcome: isRefused ? "failed" : "unknown", message, isLost: true };
  }
  if (error instanceof SdkError) {
    switch (error.code) {
      case SdkErrorCode.NotConnected:
        return { outcome: "failed", message, isLost: true };
      case SdkErrorCode.UnsupportedResultType:
        return { outcome: "failed", message: inputNotSupported, isLost: false };
      case SdkErrorCode.InputRequiredRoundsExceeded:
        return { outcome: "unknown", message: "The server asked too many times.", isLost: false };
      case SdkErrorCode.InvalidResult:
        return { outcome: "unknown", message: "The answer is no result.", isLost: false };
      default:
        return {
          outcome: "unknown",
          message,
          isLost: error.code !== SdkErrorCode.RequestTimeout,
        };
    }
  }
  const isUnsent = notSentCodes.has(causeOf(error)) || message === "Not connected";
  return { outcome: isUnsent ? "failed" : "unknown", message, isLost: true };
}

function scopeMissing(scope: string | undefined): string {
  const named = scope === undefined ? "" : ` (${scope.slice(0, 200)})`;
  return `The server did nothing: it needs a permission that it does not have${named}. A person has to sign in again. Call it again after that.`;
}

const inputNotSupported = "The server asks for something in return, which it is not given here.";

function causeOf(error: unknown): string {
  const cause = error instanceof Error ? error.cause : undefined;
  const code = cause instanceof Error && "code" in cause ? cause.code : undefined;
  return typeof code === "string" ? code : "";
}

export type ServerState = "starting" | "ready" | "away" | "stopped";

export interface ManagedServerDeps extends ValueSources {
  readonly name: string;
  readonly server: McpServer;
  readonly confinement: Confinement;
  readonly clock: Clock;
  readonly random: Random;
  readonly times: ServerTimes;
  readonly authProvider?: ServerSignIn | undefined;
  readonly redact: Redact;
  readonly log: (line: string) => void;
  readonly onTools: () => void;
}

export interface ServerTimes {
  /** For each response during setup. */
  readonly responseTimeoutMs: number;
  /** Before the second attempt; doubled after each one. */
  readonly backoffMs: number;
  readonly maxBackoffMs: number;
}

/** One configured server, kept connected. Agents share its connection and never close it. */
export interface ManagedServer {
  readonly state: () => ServerState;
  /** Its tools, also while it is away: a short outage does not change what models are told. */
  readonly list: () => ToolList | null;
  readonly lastError: () => string | null;
  /** The last lines of its stderr. */
  readonly stderrLines: () => readonly string[];
  /** Resolves after the first attempt, whatever its outcome. */
  readonly firstAttempt: Promise<void>;
  /** The connection once there is one, or `null` after the timeout. */
  connection(withinMs: number, signal: AbortSignal): Promise<McpConnection | null>;
  /** Classifies a call without a result, drops a broken connection, and records what a person has to allow. */
  classifyFailure(connection: McpConnection, error: unknown): Promise<CallFailure>;
  start(): void;
  restart(): void;
  stop(): Promise<void>;
}

const maxLineLength = 500;
const maxStderrLines = 20;
/** A connection that lasted this long resets the backoff. */
const stableAfterMs = 60_000;

export function manageServer(deps: ManagedServerDeps): ManagedServer {
  const { name, server, confinement, environment, secrets, clock, random, times } = deps;
  const { redact, log, onTools } = deps;
  const backoff = { firstMs: times.backoffMs, longestMs: times.maxBackoffMs };
  const stopping = new AbortController();
  const firstAttempt = Promise.withResolvers<void>();
  const waiters = new Set<() => void>();
  let restarting = new AbortController();
  let sdk: Sdk | undefined;
  let current: McpConnection | null = null;
  let state: ServerState = "stopped";
  let list: ToolList | null = null;
  const stderrLines: string[] = [];
  let lastError: string | null = null;
  let dropReason: string | null = null;
  let loop: Promise<void> | undefined;

  function addStderrLine(line: string): void {
    const redacted = redact(line.slice(0, maxLineLength));
    stderrLines.push(redacted);
    if (stderrLines.length > maxStderrLines) stderrLines.shift();
    log(`${name}: ${redacted}`);
  }

  function wakeAll(): void {
    for (const wake of waiters) wake();
  }

  /** Lists the tools again. If that fails, the old list stays and the connection is checked. */
  async function refresh(connection: McpConnection): Promise<void> {
    try {
      setTools(await connection.listTools());
    } catch (error) {
      if (connection !== current) return;
      dropReason = errorMessage(error);
      await connection.close().catch(() => undefined);
    }
  }

  function setTools(listed: ToolList): void {
    const isSame = JSON.stringify(list) === JSON.stringify(listed);
    list = listed;
    if (!isSame) onTools();
  }

  async function noteMissingScope({ InsufficientScopeError }: Sdk, error: unknown): Promise<void> {
    if (!(error instanceof InsufficientScopeError)) return;
    const { requiredScope: scope, resourceMetadataUrl } = error;
    await deps.authProvider?.needScope({
      ...(scope !== undefined && { scope }),
      ...(resourceMetadataUrl !== undefined && { metadataUrl: resourceMetadataUrl.href }),
    });
  }

  async function connectOnce(signal: AbortSignal): Promise<void> {
    state = "starting";
    dropReason = null;
    sdk ??= await loadSdk();
    const connection = await connect({
      sdk,
      name,
      server,
      confinement,
      environment,
      secrets,
      clock,
      responseTimeoutMs: times.responseTimeoutMs,
      authProvider: deps.authProvider,
      onStderrLine: addStderrLine,
      onToolsChanged: () => current !== null && void refresh(current),
      signal,
    });
    const close = (): void => void connection.close().catch(() => undefined);
    signal.addEventListener("abort", close, { once: true });
    try {
      setTools(await connection.listTools());
      current = connection;
      state = "ready";
      lastError = null;
      firstAttempt.resolve();
      wakeAll();
      const end = await connection.closed;
      lastError = dropReason ?? end;
    } finally {
      current = null;
      signal.removeEventListener("abort", close);
      await connection.close().catch(() => undefined);
    }
  }

  async function reconnectLoop(): Promise<void> {
    let failures = 0;
    while (!stopping.signal.aborted) {
      restarting = new AbortController();
      const startedAt = clock.now();
      try {
        await connectOnce(AbortSignal.any([stopping.signal, restarting.signal]));
      } catch (error) {
        if (sdk !== undefined) await noteMissingScope(sdk, error).catch(() => undefined);
        lastError = errorMessage(error);
      }
      firstAttempt.resolve();
      const isRestart = restarting.signal.aborted;
      if (isRestart || stopping.signal.aborted) continue;
      state = "away";
      log(`${name}: ${lastError ?? "It is away."}`);
      failures = clock.now() - startedAt > stableAfterMs ? 0 : failures + 1;
      const wake = AbortSignal.any([stopping.signal, restarting.signal]);
      await clock.sleep(backoffMs(backoff, failures, random), wake);
      if (restarting.signal.aborted) failures = 0;
    }
    state = "stopped";
    wakeAll();
  }

  return {
    state: () => state,
    list: () => list,
    lastError: () => lastError && redact(lastError),
    stderrLines: () => stderrLines,
    firstAttempt: firstAttempt.promise,
    async connection(withinMs, signal) {
      if (current !== null || state === "stopped") return current;
      const woken = new AbortController();
      const wake = (): void => woken.abort();
      waiters.add(wake);
      await clock.sleep(withinMs, AbortSignal.any([woken.signal, signal]));
      waiters.delete(wake);
      return current;
    },
    async classifyFailure(connection, error) {
      if (sdk === undefined) throw new Error("A call failed before the library was loaded.");
      await noteMissingScope(sdk, error);
      const failure = classifyCallFailure(sdk, error);
      if (failure.isLost && connection === current) void refresh(connection);
      return failure;
    },
    start() {
      if (loop !== undefined) return;
      state = "starting";
      loop = reconnectLoop();
    },
    restart() {
      if (loop === undefined || stopping.signal.aborted) return;
      current = null;
      state = "starting";
      restarting.abort();
    },
    async stop() {
      stopping.abort();
      await loop;
    },
  };
}

function errorMessage(error: unknown): string {
  return (error instanceof Error ? error.message : String(error)).slice(0, maxLineLength);
}
