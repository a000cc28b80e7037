import { z } from "zod";
import type { Logger as Pino } from "pino";
import type { Json } from "@holdfast/protocol";
import { type Redact, redactJson, createRedactor } from "../secrets/redact.ts";
import type { Config } from "../config/settings.ts";

const logLine = z.looseObject({
  level: z.string(),
  time: z.string(),
  msg: z.string().optional(),
  stack: z.string().optional(),
});

const hiddenFields: ReadonlySet<string> = new Set(["level", "time", "msg", "stack", "pid"]);

/** A log line as shown in a terminal. */
function prettyLine(json: string): string {
  let parsed;
  try {
    parsed = logLine.safeParse(JSON.parse(json));
  } catch {
    return escapeControls(json);
  }
  if (!parsed.success) return escapeControls(json);
  const { level, time, msg = "", stack } = parsed.data;
  const fields = Object.entries(parsed.data)
    .filter(([name]) => !hiddenFields.has(name))
    .map(([name, value]) => `${name}=${typeof value === "string" ? value : JSON.stringify(value)}`);
  const head = [time.slice(11, 19), level.toUpperCase().padEnd(5), msg, ...fields].join(" ");
  return stack === undefined || stack === ""
    ? escapeControls(head)
    : `${escapeControls(head)}\n${stack.split("\n").map(indentedLine).join("\n")}`;
}

/** Indented, so that a line break in an error's message cannot begin what looks like another line of the log. */
function indentedLine(line: string): string {
  return `    ${escapeControls(line)}`;
}

/** Untrusted text must neither control the terminal nor begin a line of its own. */
function escapeControls(text: string): string {
  return text
    .replaceAll("\n", "\\n")
    .replaceAll("\t", "\\t")
    .replaceAll(/[\p{Cc}\p{Cf}\u2028\u2029]/gu, "\ufffd");
}

const logLevels = ["debug", "info", "warn", "error", "silent"] as const;
type LogLevel = (typeof logLevels)[number];
type LogFormat = "json" | "pretty";

type LogFields = Readonly<Record<string, Json | undefined>>;

/** The host's log for its operator. */
export interface Logger {
  debug(message: string, fields?: LogFields): void;
  info(message: string, fields?: LogFields): void;
  warn(message: string, fields?: LogFields): void;
  error(message: string, fields?: LogFields): void;
  /** Logs a bug with its stack. */
  readonly report: (bug: Error, fields?: LogFields) => void;
  /** Resolves when every line has been written. */
  flush(): Promise<void>;
}

export interface LoggerOptions {
  readonly level: LogLevel;
  readonly format: LogFormat;
  readonly redact: Redact;
  /** Receives a line without its newline. */
  readonly write: (line: string) => void;
}

type ActiveLevel = Exclude<LogLevel, "silent">;

/** Loads the library with the first line, so a host with nothing to log does not wait for it. */
export function createLogger({ level, format, redact, write }: LoggerOptions): Logger {
  const minLevel = logLevels.indexOf(level);
  let pino: Promise<Pino> | undefined;
  let queue: Promise<void> = Promise.resolve();

  async function open(): Promise<Pino> {
    const { pino: create, stdTimeFunctions } = await import("pino");
    const options = {
      level: level === "silent" ? "error" : level,
      base: { pid: process.pid },
      timestamp: stdTimeFunctions.isoTime,
      formatters: { level: (label: string) => ({ level: label }) },
    };
    return create(options, {
      write(text: string) {
        const line = text.trimEnd();
        write(format === "pretty" ? prettyLine(line) : line);
      },
    });
  }

  function log(lineLevel: ActiveLevel, message: string, fields: LogFields): void {
    if (logLevels.indexOf(lineLevel) < minLevel) return;
    pino ??= open();
    const clean = redactFields(fields, redact);
    const text = redact(message);
    queue = Promise.all([pino, queue]).then(([opened]) => opened[lineLevel](clean, text));
  }

  return {
    debug: (message, fields = {}) => log("debug", message, fields),
    info: (message, fields = {}) => log("info", message, fields),
    warn: (message, fields = {}) => log("warn", message, fields),
    error: (message, fields = {}) => log("error", message, fields),
    report(bug, fields = {}) {
      const { name, message, stack = "" } = bug;
      log("error", message, { ...fields, error: name, stack });
    },
    flush: () => queue,
  };
}

/** Fields with these names are never logged, whatever they contain. */
const secretNames =
  /^(?:authorization|(?:set-)?cookie|token|password|passphrase|secret|(?:api[-_]?)?key)$/i;

function redactFields(fields: LogFields, redact: Redact): Record<string, Json> {
  const clean: Record<string, Json> = {};
  for (const [name, value] of Object.entries(fields)) {
    if (value === undefined) continue;
    clean[name] = secretNames.test(name) ? "[redacted]" : redactJson(value, redact);
  }
  return clean;
}

/** For a host embedded in another program, which reports bugs in its own way. */
export function reportOnly(report: (bug: Error) => void): Logger {
  const silent = (): void => undefined;
  return {
    debug: silent,
    info: silent,
    warn: silent,
    error: silent,
    report: (bug) => report(bug),
    flush: async () => undefined,
  };
}

/** The log of a host process, on stderr. */
export function createHostLogger(
  { logLevel, logFormat, token, store, objectStorageSecretKey }: Config,
  write: (line: string) => void,
): Logger {
  const password = URL.parse(store.value ?? "")?.password;
  const secrets = [token.value, password, objectStorageSecretKey.value].flatMap(
    (secret) => secret ?? [],
  );
  const pretty = process.stderr.isTTY ? "pretty" : "json";
  return createLogger({
    level: logLevel.value,
    format: logFormat.value === "auto" ? pretty : logFormat.value,
    redact: createRedactor(() => secrets),
    write,
  });
}
