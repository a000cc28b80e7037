import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { findFreePort } from "@holdfast/testing/process/free-port";
import { startHost } from "@holdfast/testing/process/start-process";
import { onTestFinished } from "vitest";
import { makeFolder, settingsFor } from "../served-host.ts";

export const repository = fileURLToPath(new URL("../../..", import.meta.url));

/** The one code block of a document that contains these words. */
export function blockWith(file: string, words: string): string {
  const text = readFileSync(join(repository, file), "utf8");
  const blocks = [...text.matchAll(/^```[a-z]*\n([^]*?)^```$/gm)].map(([, block = ""]) => block);
  const found = blocks.filter((block) => block.includes(words));
  if (found.length !== 1 || found[0] === undefined)
    throw new Error(`${found.length} blocks of ${file} contain ${JSON.stringify(words)}.`);
  return found[0];
}

/** A host as the README starts it, in a home folder of its own. Only the port is another one. */
export async function serveAsDocumented() {
  const folder = makeFolder();
  const port = String(await findFreePort());
  const env = {
    ...settingsFor({ HOLDFAST_PORT: port }),
    HOLDFAST_HOME: undefined,
    HOME: folder,
    PATH: [
      join(repository, "node_modules/node/bin"),
      join(repository, "node_modules/.bin"),
      process.env["PATH"],
    ].join(":"),
  };
  const host = startHost(["serve"], { env });
  await host.line((text) => text.startsWith("Holdfast is at "));
  const token = readFileSync(join(folder, ".holdfast/token"), "utf8").trim();
  const withPort = (lines: string): string =>
    lines.replaceAll("127.0.0.1:8787", `127.0.0.1:${port}`);
  return { env, folder, address: `http://127.0.0.1:${port}/`, token, withPort };
}

export type DocumentedHost = Awaited<ReturnType<typeof serveAsDocumented>>;

/** A shell into which a person pastes lines. */
export function openShell({ env, withPort }: DocumentedHost, cwd = repository) {
  const shell = spawn("bash", [], { cwd, env: { ...process.env, ...env }, stdio: "pipe" });
  let [stdout, stderr] = ["", ""];
  const waiting = new Set<() => void>();
  shell.stdout.setEncoding("utf8").on("data", (text: string) => {
    stdout += text;
    waiting.forEach((look) => look());
  });
  shell.stderr.setEncoding("utf8").on("data", (text: string) => (stderr += text));
  const exited = once(shell, "exit");
  function signalCommand(signal: NodeJS.Signals): void {
    const list = spawnSync("ps", ["-A", "-o", "ppid=,pid="], { encoding: "utf8" }).stdout;
    for (const line of list.split("\n")) {
      const [parent, pid] = line.trim().split(/\s+/).map(Number);
      if (parent === shell.pid && pid !== undefined) process.kill(pid, signal);
    }
  }
  onTestFinished(async () => {
    // Otherwise a host outlives its shell.
    if (shell.exitCode === null) signalCommand("SIGKILL");
    shell.kill("SIGKILL");
    await exited;
  });
  return {
    paste: (lines: string): void => void shell.stdin.write(withPort(`${lines}\n`)),
    until: (pattern: RegExp): Promise<RegExpExecArray> =>
      new Promise((resolve, reject) => {
        const look = (): void => {
          const match = pattern.exec(stdout);
          if (match === null) return;
          waiting.delete(look);
          resolve(match);
        };
        waiting.add(look);
        void exited.then(() => reject(new Error(`The shell has ended.\n${stdout}\n${stderr}`)));
        look();
      }),
    /** What Ctrl-C does: it ends the command, and the shell goes on. */
    interrupt: (): void => signalCommand("SIGTERM"),
    /** Ends the shell after its last line; what it printed. */
    async output(): Promise<string> {
      shell.stdin.end();
      const [code] = (await exited) as [number | null];
      if (code !== 0) throw new Error(`It ended with ${code}.\n${stdout}\n${stderr}`);
      return stdout;
    },
  };
}

/** What some lines print when they are pasted into a shell. */
export function runLines(host: DocumentedHost, lines: string, cwd?: string): Promise<string> {
  const shell = openShell(host, cwd);
  shell.paste(lines);
  return shell.output();
}
