import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { startHost, type OnCleanup } from "@holdfast/testing/process/start-process";

/** A folder that is gone when the test is over, unless told otherwise. */
export function makeFolder(whenOver: OnCleanup = onTestFinished): string {
  const folder = mkdtempSync(join(tmpdir(), "holdfast-whole-"));
  whenOver(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** What a test sets; the settings of whoever runs the tests stay out of it. */
export function settingsFor(settings: Record<string, string>): Record<string, string | undefined> {
  const isSetting = (name: string): boolean =>
    /^HOLDFAST_|^(?:ANTHROPIC|OPENAI|GEMINI|GOOGLE_GENERATIVE_AI)_API_KEY$/.test(name);
  const inherited = Object.keys(process.env).filter(isSetting);
  const cleared = Object.fromEntries(inherited.map((name) => [name, undefined]));
  return { ...cleared, HOLDFAST_PORT: "0", ...settings };
}

/** Serves from a fresh home on a free port, until the test is over unless told otherwise. */
export async function serveFreshHome(
  settings: Record<string, string> = {},
  whenOver: OnCleanup = onTestFinished,
) {
  const home = join(makeFolder(whenOver), "home");
  const env = settingsFor({ HOLDFAST_HOME: home, ...settings });
  const host = startHost(["serve"], { env, onCleanup: whenOver });
  const line = await host.line((text) => text.startsWith("Holdfast is at "));
  const link = /^Holdfast is at (\S+)/.exec(line)?.[1] ?? "";
  return { host, home, link, address: link.slice(0, link.indexOf("#")) };
}
