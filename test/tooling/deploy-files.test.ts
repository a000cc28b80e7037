import { spawnSync } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import { parse } from "yaml";
import { settingsFor } from "../e2e/served-host.ts";
import { isIgnored, lastOf, parseDockerfile, variablesOf } from "../../scripts/image/dockerfile.ts";

const repository = fileURLToPath(new URL("../..", import.meta.url));
const read = (path: string): string => readFileSync(join(repository, path), "utf8");
const image = parseDockerfile(read("deploy/Dockerfile")).at(-1)!;
const jsonOf = (name: string): string[] => JSON.parse(lastOf(image, name) ?? "[]") as string[];

interface Service {
  readonly image: string;
  readonly environment?: Record<string, string>;
  readonly volumes?: readonly string[];
  readonly tmpfs?: readonly string[];
  readonly security_opt?: readonly string[];
  readonly stop_grace_period?: string;
  readonly user?: string;
  readonly read_only?: boolean;
}
interface Compose {
  readonly services: Record<string, Service>;
  readonly volumes: Record<string, null>;
}
const compose = parse(read("deploy/compose.yaml"), { merge: true }) as Compose;
const hosts = Object.entries(compose.services).filter(([name]) => /^host\d$/.test(name));

/** What an operator puts into `.env`, and an operator's defaults. */
const expand = (text: string): string =>
  text.replaceAll(
    /\$\{(\w+)(?::-([^}]*)|:\?)?\}/g,
    (_, name: string, otherwise?: string) =>
      otherwise ?? (name === "POSTGRES_PASSWORD" ? "password" : "k".repeat(44)),
  );

/** What the host itself says of these settings. */
function problemsOf(environment: Readonly<Record<string, string>>): string[] {
  const given = Object.entries(environment).filter(([name]) => name.startsWith("HOLDFAST_"));
  const folder = mkdtempSync(join(tmpdir(), "holdfast-deploy-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const ask = (args: readonly string[], settings: Record<string, string>) =>
    spawnSync(process.execPath, ["packages/host/bin/holdfast.mjs", "config", ...args], {
      cwd: repository,
      encoding: "utf8",
      env: { ...process.env, ...settingsFor({ HOLDFAST_HOME: folder }), ...settings },
    });
  const known = new Set(ask(["table"], {}).stdout.match(/HOLDFAST_\w+/g));
  const answer = ask([], Object.fromEntries(given.map(([name, value]) => [name, expand(value)])));
  return [
    ...given.filter(([name]) => !known.has(name)).map(([name]) => `${name} is unknown`),
    ...(answer.status === 0 ? [] : [answer.stderr]),
  ];
}

test("every setting in the image, the compose file and the unit exists and has a value that is allowed", () => {
  expect(hosts).toHaveLength(3);
  for (const [, { environment }] of hosts)
    expect(problemsOf({ ...variablesOf(image), ...environment })).toEqual([]);
  const unit = [...read("deploy/holdfast.service").matchAll(/^Environment=(\w+)=(.*)$/gm)];
  expect(problemsOf(Object.fromEntries(unit.map(([, name, value]) => [name, value])))).toEqual([]);
});

test("the compose file gives the image what it needs, and the proxy the hosts' port", () => {
  const places = jsonOf("VOLUME");
  const [port] = [variablesOf(image)["HOLDFAST_PORT"]];
  expect(lastOf(image, "EXPOSE")).toBe(port);
  for (const [, host] of hosts) {
    const mounted = (host.volumes ?? []).map((volume) => volume.split(":"));
    expect(mounted.map(([, place]) => place)).toEqual(places);
    for (const [volume = ""] of mounted) expect(compose.volumes).toHaveProperty(volume);
    expect(host.read_only).toBe(true);
    expect(host.tmpfs?.map((mount) => mount.split(":")[0])).toEqual(["/tmp"]);
    const profile = host.security_opt?.find((option) => option.startsWith("seccomp="));
    expect(existsSync(join(repository, "deploy", profile?.slice("seccomp=".length) ?? ""))).toBe(
      true,
    );
  }
  // Only the workspaces are shared: a home belongs to one host.
  const homes = hosts.map(([, host]) => host.volumes?.[0]);
  expect(new Set(homes).size).toBe(hosts.length);
  for (const [name, { environment }] of hosts)
    expect(environment).toMatchObject({
      HOLDFAST_INTERNAL_ADDRESS: `http://${name}:8787`,
      HOLDFAST_SHARED_ROOTS: "/workspaces",
    });
  const upstreams = compose.services["proxy"]?.environment?.["HOLDFAST_HOSTS"]?.split(" ");
  expect(upstreams).toEqual(hosts.map(([name]) => `${name}:${port}`));
  for (const { image: name } of Object.values(compose.services))
    expect(name).toMatch(/^(holdfast:local|docker\.io\/library\/[a-z]+:\d+\.\d+\S*)$/);
});

test("the image runs as a user that is not root, and is built from files that exist and are sent to the build", () => {
  expect(lastOf(image, "USER")).toMatch(/^[1-9]\d{3,}:[1-9]\d{3,}$/);
  expect(lastOf(image, "STOPSIGNAL")).toBe("SIGTERM");
  const ignoreFile = read(".dockerignore");
  const sources = parseDockerfile(read("deploy/Dockerfile"))
    .flatMap(({ instructions }) => instructions)
    .filter(({ name, flags }) => name === "COPY" && flags["from"] === undefined)
    .flatMap(({ rest }) => rest.split(" ").slice(0, -1));
  expect(sources).toContain("deploy/entrypoint.sh");
  for (const path of sources.filter((each) => each !== ".")) {
    expect(existsSync(join(repository, path))).toBe(true);
    expect(isIgnored(ignoreFile, path)).toBe(false);
  }
  for (const path of ["packages/host/src/main.ts", "scripts/setup.mjs", "package-lock.json"])
    expect(isIgnored(ignoreFile, path)).toBe(false);
  for (const path of [
    ".git/config",
    "deploy/.env",
    "packages/host/.env",
    "node_modules/a/b.js",
    "packages/web/dist/index.html",
    "packages/host/config.secret.json",
  ])
    expect(isIgnored(ignoreFile, path)).toBe(true);
});

test("the seccomp profile has the sandbox's calls, each call once, and none that changes the machine", () => {
  const { defaultAction, syscalls } = JSON.parse(read("deploy/seccomp.json")) as {
    defaultAction: string;
    syscalls: { names: string[]; action: string; comment: string; args?: unknown[] }[];
  };
  expect(defaultAction).toBe("SCMP_ACT_ERRNO");
  const allowed = syscalls.flatMap(({ names }) => names);
  const unconditional = syscalls
    .filter(({ args }) => args === undefined)
    .flatMap(({ names }) => names);
  expect(unconditional.length).toBe(new Set(unconditional).size);
  expect(allowed).toEqual(
    expect.arrayContaining(["unshare", "clone", "clone3", "mount", "umount2", "pivot_root"]),
  );
  const dangerous = [
    "bpf",
    "kexec_load",
    "init_module",
    "finit_module",
    "delete_module",
    "reboot",
    "swapon",
    "keyctl",
    "add_key",
    "open_by_handle_at",
    "perf_event_open",
    "settimeofday",
    "iopl",
    "ioperm",
    "userfaultfd",
    "setns",
    "acct",
  ];
  expect(allowed.filter((name) => dangerous.includes(name))).toEqual([]);
  for (const { comment } of syscalls) expect(comment).toMatch(/\.$/);
});

test("the entry point becomes the host where its volumes are in order, and names one that is missing", () => {
  const folder = mkdtempSync(join(tmpdir(), "holdfast-entry-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const run = (home: string) =>
    spawnSync(join(repository, "deploy/entrypoint.sh"), ["--version"], {
      encoding: "utf8",
      env: {
        PATH: `${join(repository, "node_modules/.bin")}:${process.env["PATH"]}`,
        HOLDFAST_HOME: home,
        HOLDFAST_WORKSPACE_ROOTS: folder,
      },
    });
  const good = run(join(folder, "home"));
  expect([good.status, good.stdout.trim()]).toEqual([0, expect.stringMatching(/\d+\.\d+\.\d+/)]);
  const bad = run(join(folder, "missing", "home"));
  expect([bad.status, bad.stderr]).toEqual([
    78,
    expect.stringContaining(
      `${folder}/missing, for everything that the host keeps, does not exist`,
    ),
  ]);
});

test("[safety] a link that a command left in a workspace leads the entry point to no other file", () => {
  const folder = mkdtempSync(join(tmpdir(), "holdfast-entry-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const key = join(folder, "secrets.key");
  writeFileSync(key, "the key\n");
  const workspaces = join(folder, "workspaces");
  mkdirSync(workspaces);
  // The shell becomes the entry point, and keeps its number: in a container it is always the same one.
  const plant = `ln -s "$KEY" "$HOLDFAST_WORKSPACE_ROOTS/.holdfast-probe-$$"; exec "$0" --version`;
  const started = spawnSync("/bin/sh", ["-c", plant, join(repository, "deploy/entrypoint.sh")], {
    encoding: "utf8",
    env: {
      PATH: `${join(repository, "node_modules/.bin")}:${process.env["PATH"]}`,
      KEY: key,
      HOLDFAST_HOME: join(folder, "home"),
      HOLDFAST_WORKSPACE_ROOTS: workspaces,
    },
  });
  expect([started.status, started.stderr]).toEqual([0, ""]);
  expect(readFileSync(key, "utf8")).toBe("the key\n");
  expect(readdirSync(workspaces)).toHaveLength(1);
});

test("the unit spares background commands, leaves namespaces to the sandbox, and starts what the documentation installs", () => {
  const unit = Object.fromEntries(
    [...read("deploy/holdfast.service").matchAll(/^(\w+)=(.*)$/gm)].map(([, key, value]) => [
      key,
      value,
    ]),
  ) as Record<string, string>;
  expect(unit).toMatchObject({
    KillMode: "process",
    Delegate: "memory",
    Restart: "always",
    NoNewPrivileges: "yes",
  });
  for (const key of [
    "RestrictNamespaces",
    "ProtectKernelTunables",
    "ProcSubset",
    "MemoryDenyWriteExecute",
  ])
    expect(unit).not.toHaveProperty(key);
  const [, program = ""] = /^\/usr\/bin\/node (\S+) serve$/.exec(unit["ExecStart"] ?? "") ?? [];
  const [, place] = /^\/opt\/holdfast\/node_modules\/@holdfast\/host\/(.*)$/.exec(program) ?? [];
  expect(existsSync(join(repository, "packages/host", place ?? ""))).toBe(true);
});
