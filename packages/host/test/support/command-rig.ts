import { PassThrough } from "node:stream";
import { runCommandLine } from "../../src/cli/cli.ts";
import { readConfig } from "../../src/ops/config/read-config.ts";
import { openApp } from "../../src/app.ts";
import { reportOnly } from "../../src/ops/telemetry/logger.ts";
import { listen } from "../../src/server/http/server.ts";

export interface CommandEnd {
  readonly code: number;
  readonly said: string;
  readonly told: string;
}

/** Runs a CLI command in this process, over pipes, with these settings only. */
export async function runHere(
  args: readonly string[],
  environment: Readonly<Record<string, string>>,
  typed = "",
): Promise<CommandEnd> {
  const input = new PassThrough();
  input.end(typed);
  let said = "";
  let told = "";
  const code = await runCommandLine(args, {
    environment,
    personFolder: environment["HOLDFAST_HOME"] ?? "/nonexistent",
    input,
    output: { write: (text: string) => (said += text) },
    print: (line) => void (said += `${line}\n`),
    printError: (line) => void (told += `${line}\n`),
  });
  return { code, said, told };
}

/** A host serving this home from this process, on SQLite by default, and how commands find it. */
export async function serveHere(home: string, environment: Readonly<Record<string, string>> = {}) {
  const flags = { home, model: "rehearsal" };
  const config = readConfig({ flags, environment, personFolder: home });
  if (!config.ok) throw new Error(config.failure.message);
  const logger = reportOnly((bug) => {
    throw bug;
  });
  const opened = await openApp(config.value, logger);
  if (!opened.ok) throw new Error(opened.failure.message);
  const { httpApp: app, token, gateways: chats, start: begin, stop } = opened.value;
  const listener = await listen(app, { host: "127.0.0.1", port: 0 });
  if (!listener.ok) throw new Error(listener.failure.message);
  begin(`http://127.0.0.1:${listener.value.port}/`);
  chats.start();
  return {
    settings: {
      HOLDFAST_HOME: home,
      HOLDFAST_TOKEN: token,
      HOLDFAST_URL: `http://127.0.0.1:${listener.value.port}`,
    },
    close: () => stop(() => listener.value.close()),
  };
}
