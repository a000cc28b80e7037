import { once } from "node:events";
import { mkdirSync, realpathSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { until } from "@holdfast/testing/rigs/run-rig";
import { expect, onTestFinished, test } from "vitest";

import { openMcpRig } from "../../../test/support/mcp/mcp-rig.ts";
import { createHomes, openTestConfinement } from "../../../test/support/open-confinement.ts";
import type { SandboxMode } from "../../sandbox/confinement.ts";
import type { ProgramServer } from "../../ops/config/mcp-servers.ts";

interface Rig {
  readonly mode?: SandboxMode;
  readonly server?: Partial<ProgramServer>;
}

/** Starts a server that says what it finds and speaks no protocol; resolves to what it said once it said `end`. */
async function sayings(folders: ReturnType<typeof createHomes>, script: string, rig: Rig = {}) {
  const { home, personHome } = folders;
  const { mode = "required", server = {} } = rig;
  const environment = { ...process.env, HOME: personHome, MY_SECRET: "SECRET" };
  const confinement = openTestConfinement({ home, mode, environment });
  const line = `exec >&2; ${script}; echo end; sleep 100`;
  const program = { command: "/bin/sh", args: ["-c", line], ...server };
  const { said, stop } = openMcpRig({ odd: program }, environment, confinement);
  onTestFinished(stop);
  await until(() => said.some((one) => /odd: (?:end|sandbox_)/.test(one)));
  return said.join("\n");
}

test("[safety] a server sees the folders that its settings name, and no secrets, and keeps its home", async () => {
  const folders = createHomes();
  const { personHome, home } = folders;
  writeFileSync(join(home, "token"), "SECRET");
  writeFileSync(join(personHome, ".netrc"), "SECRET");
  const outside = realpathSync(mkdtempSync(join(tmpdir(), "holdfast-mcp-")));
  onTestFinished(() => rmSync(outside, { recursive: true }));
  for (const name of ["cwd", "named", "read", "other"]) {
    mkdirSync(join(outside, name));
    writeFileSync(join(outside, name, "file"), `seen ${name}`);
  }
  const script = `cat file ${outside}/named/file ${outside}/read/file ${outside}/other/file; cat ${home}/token ~/.netrc; env; cat /proc/*/environ; true > ${outside}/read/new && echo WROTE; true > ${outside}/named/new && echo changed; cat ~/kept; echo was here > ~/kept`;
  const server: Partial<ProgramServer> = {
    cwd: join(outside, "cwd"),
    sandbox: {
      network: "none",
      folders: [join(outside, "read")],
      writable: [join(outside, "named")],
    },
  };
  const first = await sayings(folders, script, { server });
  for (const text of ["seen cwd", "seen named", "seen read", "changed"])
    expect(first).toContain(text);
  expect(first).not.toMatch(/SECRET|WROTE|seen other|was here/);
  expect(await sayings(folders, script, { server })).toContain("was here");
});

test("[safety] a server keeps the host's network until its settings name another", async () => {
  const folders = createHomes();
  const server = createServer((socket) => socket.end("host loopback")).listen(0, "127.0.0.1");
  onTestFinished(() => void server.close());
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const script = `${process.execPath} -e 'require("net").connect(${port}, "127.0.0.1").on("data", (d) => console.log(String(d))).on("error", (e) => console.log(e.code))'`;
  expect(await sayings(folders, script)).toContain("host loopback");
  for (const network of ["none", ["example.org"]] as const) {
    const own = { sandbox: { network: typeof network === "string" ? network : [...network] } };
    const said = await sayings(folders, script, { server: own });
    expect(said).toContain("ECONNREFUSED");
    expect(said).not.toContain("host loopback");
  }
});

test("[safety] a server that is exempt runs unconfined, but not where a sandbox is required", async () => {
  const folders = createHomes();
  writeFileSync(join(folders.home, "token"), "the token\n");
  const script = `cat ${folders.home}/token`;
  const server = { sandbox: "off" } as const;
  expect(await sayings(folders, script, { mode: "preferred", server })).toContain("the token");
  expect(await sayings(folders, script, { server })).toContain("sandbox_required");
});
