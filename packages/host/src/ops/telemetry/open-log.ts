import type { Config } from "../config/settings.ts";
import { createRedactor } from "../secrets/redact.ts";
import { createLogger, type Logger } from "./telemetry-logger.ts";

/** What a host that is a process of its own tells on standard error. */
export function createHostLogger(
  { logLevel, logFormat, token, store }: Config,
  write: (line: string) => void,
): Logger {
  const password = URL.parse(store.value ?? "")?.password;
  const secrets = [token.value, password].flatMap((secret) => secret ?? []);
  const pretty = process.stderr.isTTY ? "pretty" : "json";
  return createLogger({
    level: logLevel.value,
    format: logFormat.value === "auto" ? pretty : logFormat.value,
    redact: createRedactor(() => secrets),
    write,
  });
}
