import { spawn, spawnSync } from "node:child_process";
import {
  chmodSync,
  closeSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { text as readText } from "node:stream/consumers";
import { fileURLToPath } from "node:url";

import { startProcess } from "@holdfast/testing/process/start-process";
import { expect, onTestFinished, test } from "vitest";

import {
  createHomes,
  openTestConfinement,
  runConfined,
} from "../../test/support/open-confinement.ts";
import { withParentCheck } from "./parent-check.ts";

const hostScript = fileURLToPath(new URL("../../test/support/run-confined.ts", import.meta.url));

test("[safety] a list of arguments is run as it is, even if it begins with a shell builtin", async () => {
  const folders = createHomes();
  const args = ["$HOME", "a b", "; id", "", "--", "-c"] as const;
  const script = "console.log(JSON.stringify([process.argv.slice(1), process.cwd()]))";
  const end = await runConfined(folders, [process.execPath, "-e", script, "--", ...args]);
  expect(JSON.parse(end.output)).toEqual([args, folders.workspace]);
  expect((await runConfined(folders, ["eval", "echo evaluated"])).output).not.toContain(
    "evaluated\n",
  );
});

test.each([
  ["exit 3", { kind: "exited", code: 3 }],
  ["kill -9 $$", { kind: "exited", code: 137 }],
  ["echo out; echo err >&2", { kind: "exited", code: 0 }],
  ["head -c 3000000 /dev/zero | tr '\\0' a", { kind: "exited", code: 0 }],
])("`%s` ends as expected in a sandbox", async (script, end) => {
  expect(await runConfined(createHomes(), script)).toMatchObject(end);
});

test.each([
  "with space",
  "tab\tand\nline",
  "back\\slash #hash \"quote\" 'single'",
  "ünï\u{1F600}",
  "-rf",
  "\\040",
])("[safety] a workspace called %j can be changed, and nothing beside it seen", async (name) => {
  const folders = createHomes(name);
  writeFileSync(join(folders.workspace, "..", "beside"), "secret");
  const end = await runConfined(
    folders,
    "exec 2>/dev/null; echo here > made; ls ..; cat ../beside; pwd",
  );
  expect(readFileSync(join(folders.workspace, "made"), "utf8")).toBe("here\n");
  expect(end.output).not.toContain("secret");
  expect(end.output.endsWith(`${folders.workspace}\n`)).toBe(true);
});

test("[safety] toolchains in the home are visible and cannot be changed, and nothing else in it is", async () => {
  const folders = createHomes();
  const { personHome } = folders;
  for (const folder of [
    ".nvm/versions/node/v1/bin",
    ".cargo/bin",
    ".local/bin",
    ".local/share",
    "bin",
  ])
    mkdirSync(join(personHome, folder), { recursive: true });
  const plant = (path: string, text = "visible"): void =>
    writeFileSync(join(personHome, path), text, { mode: 0o755 });
  plant(".nvm/versions/node/v1/bin/tool", "#!/bin/sh\necho the tool ran\n");
  plant(".cargo/bin/other");
  plant(".cargo/credentials.toml", "SECRET");
  plant(".nvm/alias", "SECRET");
  plant(".local/share/keyring", "SECRET");
  plant("bin/own");
  plant(".netrc", "SECRET");
  // A relative entry, the home itself and a folder in the home of Holdfast are no toolchains.
  const entries = [
    ".nvm/versions/node/v1/bin",
    ".cargo/bin",
    ".local/bin",
    "bin",
    "",
    ".holdfast/workspaces",
  ];
  const path = [...entries.map((entry) => join(personHome, entry)), ".", "/usr/bin", "/bin"].join(
    ":",
  );
  const script = `tool; cat ~/.cargo/bin/other ~/bin/own; cat ~/.cargo/* ~/.nvm/alias ~/.local/share/* ~/.netrc; touch ~/bin/new ~/.cargo/bin/new && echo WROTE`;
  const { output } = await runConfined(folders, script, { environment: { PATH: path } });
  expect(output).toContain("the tool ran");
  expect(output).toContain("visiblevisible");
  expect(output).not.toMatch(/SECRET|WROTE/);
});

test("[safety] git knows who commits, and none of the person's other settings", async () => {
  const folders = createHomes();
  const config =
    '[user]\n\tname = "A \\"B\\" \\\\C"\n\temail = a@example.org\n[credential]\n\thelper = store --file SECRET\n';
  writeFileSync(join(folders.personHome, ".gitconfig"), config);
  const { output } = await runConfined(folders, "git config --global --list; git config user.name");
  expect(output.split("\n")).toEqual([
    'user.name=A "B" \\C',
    "user.email=a@example.org",
    'A "B" \\C',
    "",
  ]);
});

test("[safety] a command has no terminal, and only the listed environment", async () => {
  const script = "(echo typed > /dev/tty) 2>/dev/null && echo TERMINAL; env";
  const environment = { MY_SECRET: "s", LD_PRELOAD: "x" };
  const { output } = await runConfined(createHomes(), script, { environment });
  expect(output).not.toMatch(/TERMINAL|MY_SECRET|LD_PRELOAD/);
  expect(output).toContain("TMPDIR=/tmp\n");
});

test("[safety] a file that the host inherited is not open in a command", async () => {
  const folders = createHomes();
  const secret = join(folders.personHome, "secret");
  writeFileSync(secret, "SECRET");
  const file = openSync(secret, "r");
  onTestFinished(() => closeSync(file));
  // Node closes the lowest ones by itself.
  const stdio = [
    ...Array<"ignore">(40)
      .fill("ignore")
      .with(1, "pipe" as never),
    file,
  ];
  const line = "cat <&9; ls -l /proc/self/fd; cat /proc/self/fd/40";
  const args = [hostScript, folders.home, folders.workspace, line];
  const host = spawn(process.execPath, args, { stdio });
  const output = await readText(host.stdout as Readable);
  expect(output).toContain("/dev/null");
  expect(output).not.toMatch(/SECRET|secret/);
});

test("a server inside can be reached from inside", async () => {
  const server = `const s = require("http").createServer((q, r) => r.end("from inside")).listen(0, "127.0.0.1", async () => {
    console.log(await (await fetch("http://localhost:" + s.address().port)).text()); s.close(); s.closeAllConnections(); })`;
  const end = await runConfined(createHomes(), [process.execPath, "-e", server]);
  expect(end).toMatchObject({ kind: "exited", code: 0, output: "from inside\n" });
});

test("[safety] a stopped command ends with everything it started, even processes in sessions of their own", async () => {
  const folders = createHomes();
  const cancel = new AbortController();
  const mark = `survivor-${process.pid}`;
  const onOutput = (text: string): void => void (text.includes("up") && cancel.abort());
  const script = `setsid setsid sh -c 'trap "" TERM; echo up; sleep 100; : ${mark}' & trap "" TERM; wait; sleep 100`;
  const end = await runConfined(folders, script, { signal: cancel.signal, onOutput });
  expect(end).toMatchObject({ kind: "stopped", why: "cancelled" });
  await expect.poll(() => isRunning(mark)).toBe(false);
});

test("[safety] a command ends with a host that is killed", async () => {
  const folders = createHomes();
  const mark = `orphan-${process.pid}`;
  const line = `setsid sh -c 'sleep 100; : ${mark}'`;
  const host = startProcess([hostScript, folders.home, folders.workspace, line]);
  await expect.poll(() => isRunning(mark), { timeout: 20_000 }).toBe(true);
  await host.kill();
  await expect.poll(() => isRunning(mark), { timeout: 20_000 }).toBe(false);
}, 60_000);

test("[safety] a command never begins if whoever starts it has ended before it could ask to end with it", async () => {
  const { home, workspace } = createHomes();
  const confined = await openTestConfinement({ home, mode: "required" }).confine(
    { argv: ["touch", "begun"], folder: workspace, environment: { PATH: "/usr/bin:/bin" } },
    { writable: [workspace], network: "none" },
  );
  if (!confined.ok) throw new Error(confined.message);
  const { argv, environment, endsWithParent } = confined.command;
  expect(endsWithParent).toBe(true);
  const run = ([program, ...args]: readonly string[], env: NodeJS.ProcessEnv): number | null =>
    spawnSync(program as string, args, { cwd: "/", env, stdio: "ignore" }).status;
  const { pid: ended } = spawnSync("true");

  // Where one process makes the namespaces, the one below it must not outlive it either.
  const maker = argv.findIndex((word) => word.endsWith("/unshare"));
  const lateStarts = [withParentCheck(argv, ended), ...(maker < 0 ? [] : [argv.slice(maker)])];
  const late = { ...environment, HOLDFAST_PARENT: `${ended}` };
  expect(lateStarts.map((start) => run(start, late))).toEqual(lateStarts.map(() => 125));
  expect(readdirSync(workspace)).toEqual([]);

  expect(run(withParentCheck(argv, process.pid), environment)).toBe(0);
  expect(readdirSync(workspace)).toEqual(["begun"]);
});

test("[safety] where a sandbox is required and none works, nothing runs", async () => {
  const { workspace, personHome } = createHomes();
  const file = join(personHome, "file");
  writeFileSync(file, "");
  const plain = { argv: ["true"], folder: workspace, environment: {} } as const;
  const profile = { writable: [workspace], network: "none" } as const;
  const required = openTestConfinement({ home: join(file, "home"), mode: "required" });
  const state = await required.state();
  expect(state.kind).toBe("none");
  expect(state.reason).toContain("ENOTDIR");
  expect(await required.confine(plain, profile)).toMatchObject({
    ok: false,
    code: "sandbox_required",
  });
  expect(await required.leaveOpen(plain)).toMatchObject({ ok: false, code: "sandbox_required" });
  expect((await required.describe(profile)).words).toMatch(/^Will not run/);
  const preferred = openTestConfinement({ home: join(file, "home"), mode: "preferred" });
  expect(await preferred.confine(plain, profile)).toEqual({
    ok: true,
    command: plain,
    network: null,
  });
  expect((await preferred.describe(profile)).words).toMatch(/^Not in a sandbox \(ENOTDIR/);
});

test("[safety] configured folders can be read, but not the home of Holdfast inside one", async () => {
  const folders = createHomes();
  const { personHome, home } = folders;
  writeFileSync(join(personHome, "readable"), "visible");
  writeFileSync(join(home, "token"), "SECRET");
  symlinkSync(home, join(personHome, "link"));
  const script = `cat "$OLDPWD"/x ${personHome}/readable; cat ${home}/token ${personHome}/link/token; touch ${personHome}/new && echo WROTE`;
  const elsewhere = { ...folders, personHome: "/nonexistent" };
  const options = { folders: [personHome, home] };
  const { output } = await runConfined(elsewhere, script, options);
  expect(output).toContain("visible");
  expect(output).not.toMatch(/SECRET|WROTE/);
});

/** Whether a process other than the test's own has this word in its command line. */
test("[safety] a confined command can use the machine's devices, and not change who may", async () => {
  const before = statSync("/dev/full").mode;
  onTestFinished(() => {
    if (statSync("/dev/full").mode !== before) chmodSync("/dev/full", before);
  });
  const { output } = await runConfined(
    createHomes(),
    "chmod 600 /dev/full 2>/dev/null; echo lost > /dev/null && head -c 1 /dev/zero | wc -c",
  );
  expect(output.trim()).toBe("1");
  expect(statSync("/dev/full").mode).toBe(before);
});

function isRunning(mark: string): boolean {
  return readdirSync("/proc").some((pid) => {
    if (!/^\d+$/.test(pid)) return false;
    try {
      const line = readFileSync(`/proc/${pid}/cmdline`, "utf8");
      return line.includes(`: ${mark}`) && !line.includes("run-confined");
    } catch {
      return false;
    }
  });
}
