import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

import { type Client, createClient } from "@holdfast/client";

import { botToken, type FakeBotApi } from "@holdfast/testing/telegram/fake-bot-api";
import { builtHost } from "../built-host.ts";

const repository = fileURLToPath(new URL("../../..", import.meta.url));
const exitWithParent = new URL("../processes/exit-with-parent.ts", import.meta.url).href;

export interface GatewayHost {
  readonly client: Client;
  readonly process: ChildProcess;
  kill(): Promise<void>;
  /** The process keeps its connections and its state. */
  pause(): void;
  resume(): void;
}

export interface GatewayHostOptions {
  /** What to run, relative to the root of the repository. */
  readonly program?: string;
  readonly nodeFlags?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

/** A host whose bot is on this platform. It ends with its parent. */
export async function startGatewayHost(
  home: string,
  platform: FakeBotApi,
  { program = builtHost, nodeFlags = [], env = {} }: GatewayHostOptions = {},
): Promise<GatewayHost> {
  const inherited = Object.entries(process.env).filter(([name]) => !name.startsWith("HOLDFAST_"));
  const flags = ["--import", exitWithParent, ...nodeFlags];
  const child = spawn(process.execPath, [...flags, program, "serve"], {
    cwd: repository,
    stdio: ["pipe", "pipe", "inherit"],
    env: {
      ...env,
      ...Object.fromEntries(inherited),
      HOLDFAST_HOME: home,
      HOLDFAST_PORT: "0",
      HOLDFAST_LEASE_MS: "2000",
      HOLDFAST_TELEGRAM_TOKEN: botToken,
      HOLDFAST_TELEGRAM_API_ROOT: platform.address,
      HOLDFAST_TELEGRAM_ALLOW: "1,2,3",
    },
  });
  const gone = once(child, "close");
  let address = "";
  const { stdout } = child;
  if (stdout === null) throw new Error("The host has no output.");
  for await (const line of createInterface(stdout)) {
    address = /^Holdfast is at ([^\s#]+)/.exec(line)?.[1] ?? "";
    if (address !== "") break;
  }
  stdout.resume();
  if (address === "") throw new Error("The host did not start.");
  const token = readFileSync(join(home, "token"), "utf8").trim();
  return {
    client: createClient({ baseUrl: address, token }),
    process: child,
    async kill() {
      child.kill("SIGKILL");
      await gone;
    },
    pause: () => void child.kill("SIGSTOP"),
    resume: () => void child.kill("SIGCONT"),
  };
}
