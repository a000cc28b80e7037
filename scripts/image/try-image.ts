// Carries out deploy/Dockerfile and starts the result as an engine would, on a Linux machine without a container
// engine: `npm run try-image`, as root. docs/operations.md says what this proves and what it does not.
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { findFreePort } from "@holdfast/testing/process/free-port";
import { addNode, addStandIn, buildImage, type BuiltImage } from "./build-image.ts";
import { type Container, startContainer } from "./container.ts";

const repository = fileURLToPath(new URL("../..", import.meta.url));
const profilePath = join(repository, "deploy/seccomp.json");
const program = fileURLToPath(new URL("apply-seccomp.py", import.meta.url));
const user = 10_001;
const graceMs = 30_000;
const startTimeoutMs = 60_000;

const folder = mkdtempSync(join(tmpdir(), "holdfast-image-"));
let failures = 0;
const say = (line: string): void => console.log(line);

function check(what: string, holds: boolean, seen: string): void {
  if (!holds) failures += 1;
  say(`${holds ? "ok    " : "FAILED"}  ${what}${holds ? "" : `\n${seen}`}`);
}

let containers = 0;
function newFolder(): string {
  const path = join(folder, `container-${(containers += 1)}`);
  mkdirSync(path);
  return path;
}

function newVolume(owner = user): string {
  const path = join(newFolder(), "volume");
  mkdirSync(path, { mode: 0o700 });
  chownSync(path, owner, owner);
  return path;
}

interface Run {
  readonly command: readonly string[];
  readonly volumes?: Readonly<Record<string, string>>;
  readonly settings?: Readonly<Record<string, string>>;
  readonly profile?: string;
  readonly hidesProc?: true;
  readonly entry?: readonly string[];
  readonly probes?: true;
}

function run(image: BuiltImage, { volumes = {}, profile = profilePath, ...given }: Run): Container {
  const seccomp = { profile, program };
  const all = {
    "/tmp": "size=256m,mode=1777",
    "/data": newVolume(),
    "/workspaces": newVolume(),
    ...volumes,
  };
  return startContainer(image, { ...given, folder: newFolder(), volumes: all, seccomp });
}

/** The same profile without the calls that only the sandbox needs, as engines have it by default. */
function usualProfile(): string {
  const profile = JSON.parse(readFileSync(profilePath, "utf8")) as {
    syscalls: { comment: string }[];
  };
  const others = profile.syscalls.filter(({ comment }) => !comment.startsWith("The sandbox:"));
  const namespaces = [{ index: 0, value: 0x7e020000, op: "SCMP_CMP_MASKED_EQ" }];
  const usual = [
    ...others,
    { names: ["clone"], action: "SCMP_ACT_ALLOW", args: namespaces },
    // A program then tries clone, whose flags can be seen.
    { names: ["clone3"], action: "SCMP_ACT_ERRNO", errnoRet: 38 },
  ];
  const path = join(folder, "usual.json");
  writeFileSync(path, JSON.stringify({ ...profile, syscalls: usual }));
  return path;
}

async function tryServing(image: BuiltImage, given: Omit<Run, "command">) {
  const port = String(await findFreePort());
  const data = newVolume();
  const container = run(image, {
    ...given,
    command: ["serve"],
    volumes: { "/data": data },
    settings: { HOLDFAST_PORT: port, HOLDFAST_HOST: "127.0.0.1", ...given.settings },
  });
  const address = `http://127.0.0.1:${port}`;
  const isReady = async () =>
    (await fetch(`${address}/health?ready`).catch(() => undefined))?.ok === true;
  const until = async (reached: () => Promise<boolean>, what: string) => {
    const giveUpAt = Date.now() + startTimeoutMs;
    while (!(await reached())) {
      if (Date.now() > giveUpAt || container.process.exitCode !== null)
        throw new Error(`${what}\n${container.output()}`);
      await sleep(100);
    }
  };
  await until(isReady, "The host does not become ready.");
  const token = readFileSync(join(data, "home/token"), "utf8").trim();
  async function call(path: string, body?: unknown): Promise<unknown> {
    const response = await fetch(`${address}/api/${path}`, {
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      ...(body === undefined ? {} : { method: "POST", body: JSON.stringify(body) }),
    });
    if (!response.ok) throw new Error(`${path}: ${await response.text()}`);
    return response.json();
  }
  return { container, port, data, call, until };
}

type Approvals = { approvals: { approvalId: string; details?: unknown }[] };

/** What the approval of a command says of the sandbox, and what the command printed. */
async function tryCommand(
  { call, until }: Awaited<ReturnType<typeof tryServing>>,
  command: string,
) {
  const { session } = (await call("sessions", {})) as { session: { id: string } };
  const text = `{tool:terminal ${JSON.stringify({ command })}}`;
  await call(`sessions/${session.id}/messages`, { clientId: "one", text });
  let found: Approvals = { approvals: [] };
  await until(
    async () => (found = (await call("approvals")) as Approvals).approvals.length > 0,
    "Nothing asks.",
  );
  const [approval] = found.approvals;
  await call(`approvals/${approval?.approvalId}`, { decision: "once" });
  let read = "";
  const isOver = async () =>
    /"state":"(completed|failed)"/.test(
      (read = JSON.stringify(await call(`sessions/${session.id}`))),
    );
  await until(isOver, "The run does not end.");
  return { card: JSON.stringify(approval), read };
}

async function trySandboxed(image: BuiltImage): Promise<void> {
  const served = await tryServing(image, {});
  check("the host becomes ready as user 10001 on a read-only root", true, "");
  const { card, read } = await tryCommand(
    served,
    "id -u; cat /data/home/token; echo written > here; cat here",
  );
  check(
    "an approval says that the command runs in a sandbox",
    card.includes("In a sandbox (namespaces)"),
    card,
  );
  check(
    "the command runs, and does not see the token",
    /written/.test(read) && /token: No such file/.test(read),
    read,
  );
  const probe = run(image, {
    command: [],
    entry: ["node", "/opt/holdfast/healthcheck.mjs"],
    settings: { HOLDFAST_PORT: served.port },
  });
  check("the health check finds it healthy", (await probe.ended) === 0, probe.output());
  const code = await served.container.stop(graceMs);
  check("the stop signal ends it in order", code === 0, `${code}\n${served.container.output()}`);
  const gone = run(image, {
    command: [],
    entry: ["node", "/opt/holdfast/healthcheck.mjs"],
    settings: { HOLDFAST_PORT: served.port },
  });
  check("the health check then fails", (await gone.ended) === 1, gone.output());
  const doctor = run(image, { command: ["doctor", "--json"], volumes: { "/data": served.data } });
  await doctor.ended;
  check(
    "doctor says that commands are confined",
    /"confined|\(namespaces\)|namespaces/.test(doctor.output()),
    doctor.output(),
  );
  const escapes = run(image, {
    command: ["doctor", "--escape"],
    volumes: { "/data": served.data },
  });
  check(
    "none of doctor's ways leads out of the sandbox",
    (await escapes.ended) === 0,
    escapes.output(),
  );
}

async function tryUnconfined(
  image: BuiltImage,
  what: string,
  given: Omit<Run, "command">,
): Promise<void> {
  const served = await tryServing(image, given);
  const { card, read } = await tryCommand(served, "echo ran without");
  check(
    `${what}: an approval says that there is no sandbox`,
    card.includes("Not in a sandbox ("),
    card,
  );
  check(`${what}: an allowed command runs`, read.includes("ran without"), read);
  await served.container.stop(graceMs);
  const doctor = run(image, { ...given, command: ["doctor"], volumes: { "/data": served.data } });
  await doctor.ended;
  check(
    `${what}: doctor says so, and what to do`,
    /no sandbox works here[^]*seccomp/.test(doctor.output()),
    doctor.output(),
  );
  const required = await tryServing(image, {
    ...given,
    settings: { HOLDFAST_SANDBOX: "required" },
  });
  const refused = await tryCommand(required, "echo ran without");
  check(
    `${what}: with a sandbox required, the command is refused`,
    refused.card.includes("Will not run: a sandbox is required") &&
      refused.read.includes("sandbox_required"),
    refused.card + refused.read,
  );
  await required.container.stop(graceMs);
}

async function tryVolumes(image: BuiltImage): Promise<void> {
  const cases: readonly [string, Record<string, string>, RegExp][] = [
    [
      "of another user",
      { "/data": newVolume(0) },
      /belongs to 0:0 \(mode 700\), and the host runs as 10001:10001.*chown/,
    ],
    ["that is read-only", { "/data": "ro,size=100m,uid=10001" }, /\/data, .*is mounted read-only/],
    [
      "without space",
      { "/data": "size=8m,uid=10001,gid=10001" },
      /\/data, .*has \d+ MB left, and 64 MB are needed/,
    ],
    [
      "for workspaces of another user",
      { "/workspaces": newVolume(0) },
      /\/workspaces, .*belongs to 0:0/,
    ],
  ];
  for (const [what, volumes, message] of cases) {
    const container = run(image, { command: ["serve"], volumes });
    const code = await container.ended;
    check(
      `a volume ${what} is named`,
      code === 78 && message.test(container.output()),
      `${code}\n${container.output()}`,
    );
  }
}

if (process.platform !== "linux" || process.getuid?.() !== 0 || !existsSync("/usr/bin/python3")) {
  say("This needs Linux, root (for mounts), and python3 with libseccomp.");
  process.exitCode = 1;
} else {
  try {
    chmodSync(folder, 0o755);
    const image = await buildImage(repository, folder, say);
    addNode(repository, image.layer);
    for (const line of image.notDone) say(`not done here: ${line}`);
    if (!existsSync("/usr/bin/tini")) {
      say("not done here: tini is not installed on this machine, and is left out");
      addStandIn(image.layer, "tini");
    }
    // Engines create this file.
    writeFileSync(join(image.layer, ".dockerenv"), "");
    const probe = run(image, { command: [], probes: true });
    await probe.ended;
    const refused =
      "bpf kexec_load keyctl init_module open_by_handle_at perf_event_open reboot swapon";
    check(
      "the profile refuses calls that change the machine",
      probe.output().trim() === refused,
      probe.output(),
    );
    await tryVolumes(image);
    await trySandboxed(image);
    await tryUnconfined(image, "a usual seccomp profile", { profile: usualProfile() });
    await tryUnconfined(image, "a /proc that is partly hidden", { hidesProc: true });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  say(failures === 0 ? "Everything held." : `${failures} failed.`);
  if (failures > 0) process.exitCode = 1;
}
