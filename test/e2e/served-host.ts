import { mkdtempSync, rmSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { startHost, type OnCleanup } from "@holdfast/testing/process/start-process";
import { type Client, createClient, type SessionState } from "@holdfast/client";
import { type MessageEntry, type Seq, type SessionId, type StoredEvent } from "@holdfast/protocol";

/** A folder that is deleted when the test ends, or by `onCleanup`. */
export function makeFolder(onCleanup: OnCleanup = onTestFinished): string {
  const folder = mkdtempSync(join(tmpdir(), "holdfast-whole-"));
  onCleanup(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** The settings of a test; those of the current environment don't apply. */
export function settingsFor(settings: Record<string, string>): Record<string, string | undefined> {
  const isSetting = (name: string): boolean =>
    /^HOLDFAST_|^(?:ANTHROPIC|OPENAI|GEMINI|GOOGLE_GENERATIVE_AI)_API_KEY$/.test(name);
  const inherited = Object.keys(process.env).filter(isSetting);
  const cleared = Object.fromEntries(inherited.map((name) => [name, undefined]));
  return { ...cleared, HOLDFAST_PORT: "0", ...settings };
}

/** Serves from a fresh home on a free port until the test ends, or until `onCleanup`. */
export async function serveFreshHome(
  settings: Record<string, string> = {},
  onCleanup: OnCleanup = onTestFinished,
) {
  const home = join(makeFolder(onCleanup), "home");
  const env = settingsFor({ HOLDFAST_HOME: home, ...settings });
  const host = startHost(["serve"], { env, onCleanup });
  const line = await host.line((text) => text.startsWith("Holdfast is at "));
  const link = /^Holdfast is at (\S+)/.exec(line)?.[1] ?? "";
  return { host, home, link, address: link.slice(0, link.indexOf("#")) };
}

/** A host process, and a client that talks to it over HTTP. */
export async function serveWithClient(
  settings: Record<string, string> = {},
  onCleanup?: OnCleanup,
) {
  const served = await serveFreshHome(settings, onCleanup);
  const home = settings["HOLDFAST_HOME"] ?? served.home;
  const token = readFileSync(join(home, "token"), "utf8").trim();
  const connect = (): Client => createClient({ baseUrl: served.address, token });
  const { host, address } = served;
  return { host, home, address, token, connect, client: connect() };
}

export function valueOf<T>(result: { ok: true; value: T } | { ok: false; error: unknown }): T {
  if (!result.ok) throw new Error(JSON.stringify(result.error));
  return result.value;
}

/** The state that a page shows, followed until it is as the test wants it. */
export async function followUntil(
  client: Client,
  id: SessionId,
  isReached: (state: SessionState) => boolean,
): Promise<SessionState> {
  for await (const item of client.open(id)) {
    if (item.kind === "ended") throw new Error(JSON.stringify(item.error));
    if (item.kind === "state" && isReached(item.state)) return item.state;
  }
  throw new Error("The stream ended.");
}

export const hasEnded = ({ run, inbox }: SessionState): boolean =>
  run !== null && run.endedAt !== null && inbox.length === 0;

/** Every event up to the head that still exists by itself. */
export async function readLog(client: Client, id: SessionId, head: Seq): Promise<StoredEvent[]> {
  const events: StoredEvent[] = [];
  for await (const item of client.follow(id, 0 as Seq)) {
    if (item.kind !== "event") throw new Error(JSON.stringify(item));
    events.push(item.event);
    if (item.event.seq >= head) break;
  }
  return events;
}

export const countWords = (text: string): number =>
  text.split(/\s+/).filter((word) => word !== "").length;

export function textIn(entry: MessageEntry): string {
  return entry.parts.map((part) => (part.type === "text" ? part.text : "")).join("");
}

/** What the agent has written in the session, as a page shows it. */
export async function settledText(client: Client, id: SessionId): Promise<string> {
  const { entries } = valueOf(await client.readSession({ params: { id } }));
  return entries
    .flatMap((entry) => (entry.type === "message" && entry.role === "assistant" ? [entry] : []))
    .filter(({ superseded }) => superseded !== true)
    .map(textIn)
    .join("");
}
