import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { startHost } from "../support/process.ts";

/** A folder that is gone when the test is over. */
export function makeFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "holdfast-whole-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** What a test sets; the settings of whoever runs the tests stay out of it. */
export function settingsFor(settings: Record<string, string>): Record<string, string | undefined> {
  const inherited = Object.keys(process.env).filter((name) => name.startsWith("HOLDFAST_"));
  const cleared = Object.fromEntries(inherited.map((name) => [name, undefined]));
  return { ...cleared, HOLDFAST_PORT: "0", ...settings };
}

/** Serves from a fresh home on a free port, until the test is over. */
export async function serveFreshHome(settings: Record<string, string> = {}) {
  const home = join(makeFolder(), "home");
  const host = startHost(["serve"], { env: settingsFor({ HOLDFAST_HOME: home, ...settings }) });
  const line = await host.line((text) => text.startsWith("Holdfast is at "));
  const link = /^Holdfast is at (\S+)/.exec(line)?.[1] ?? "";
  return { host, home, link, address: link.slice(0, link.indexOf("#")) };
}
