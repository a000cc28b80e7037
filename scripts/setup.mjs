// Runs before `npm start` and `npm test`, on whatever Node the machine has, before anything is installed: plain
// JavaScript, only Node's own modules and `install-record.mjs`, and no syntax that an old Node can't parse, so that
// it can say what is wrong instead.
import { spawn, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { constants } from "node:os";
import { basename, delimiter, dirname, join, relative, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { hasTestTools, installIsCurrent } from "./install-record.mjs";

const OLDEST_NODE_THAT_INSTALLS = 20;
const OLDEST_NODE_THAT_RUNS = 24;
const root = dirname(dirname(fileURLToPath(import.meta.url)));
const binFolder = join(root, "node_modules", ".bin");
const stampFolder = join(root, "node_modules", ".cache", "holdfast");

/** What went wrong, as one sentence for a person; `detail` is a tool's output, where nothing better is known. */
class SetupProblem extends Error {
  constructor(sentence, detail) {
    super(sentence);
    this.detail = detail || "";
  }
}

const NO_NETWORK =
  "Cannot install: the npm registry is not reachable from here; check the network (and `npm config get registry`), then run the same command again.";
const NOT_WRITABLE = `Cannot write to ${root}: give this user the right to write there, or clone into a folder of your own.`;

const knownInstallFailures = [
  [
    /\b(ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ENETUNREACH|EHOSTUNREACH|ETIMEDOUT|ENOTCACHED|ERR_SOCKET_TIMEOUT)\b/,
    NO_NETWORK,
  ],
  [/\bENOSPC\b/, "Cannot install: the disk is full."],
  [
    /\b(EACCES|EPERM|EROFS)\b/,
    "Cannot install: npm was refused the right to write, to this folder or to its cache (`npm config get cache`).",
  ],
];

function refuseOldNode() {
  if (parseInt(process.version.slice(1), 10) >= OLDEST_NODE_THAT_INSTALLS) return;
  throw new SetupProblem(
    `Holdfast needs Node ${OLDEST_NODE_THAT_INSTALLS} or newer to install and this is ${process.version}: get a current one from https://nodejs.org.`,
  );
}

function refuseUnwritableFolder() {
  const probe = join(root, `.write-probe-${process.pid}`);
  try {
    writeFileSync(probe, "");
    rmSync(probe);
  } catch {
    throw new SetupProblem(NOT_WRITABLE);
  }
}

async function install(mode) {
  // A start needs no test tools, but doesn't remove them: tests may be running.
  const scope = mode === "start" && !hasTestTools(root) ? "--omit=dev" : "--include=dev";
  const flags = [scope, "--prefer-offline", "--no-audit", "--no-fund", "--loglevel=error"];
  // npm's default pauses between retries add up to more than a minute before it admits to being offline.
  const retryFlags = ["--fetch-retry-mintimeout=1000", "--fetch-retry-maxtimeout=5000"];
  const [command, ...before] = npmCommand();
  // Not `npm ci`, which empties node_modules under a running host. `--no-save` keeps the lock as it is.
  const result = await run(command, [...before, "install", "--no-save", ...flags, ...retryFlags], {
    doing: "Installing packages",
    done: "Installed",
    // npm may replace the Node in node_modules, so it must not run on it.
    path: pathWithoutOurNode(),
    folder: root,
  });
  if (result.code === 0) return;
  const known = knownInstallFailures.find(([pattern]) => pattern.test(result.output));
  if (known) throw new SetupProblem(known[1]);
  throw new SetupProblem("Cannot install: npm failed with the message above.", result.output);
}

/** The npm that runs this script, or else the one on the PATH. */
function npmCommand() {
  const script = process.env.npm_execpath;
  if (script && /^npm-cli\.[cm]?js$/.test(basename(script))) {
    return [process.env.npm_node_execpath || process.execPath, script];
  }
  return ["npm"];
}

function pathWithoutOurNode() {
  const folders = (process.env.PATH || "").split(delimiter);
  return folders.filter((folder) => folder !== binFolder).join(delimiter);
}

const pathWithOurNode = () => [binFolder, pathWithoutOurNode()].join(delimiter);

function refuseOldNodeForRunning() {
  const env = { ...process.env, PATH: pathWithOurNode() };
  const found = spawnSync("node", ["--version"], { env, encoding: "utf8" });
  const version = found.status === 0 ? found.stdout.trim() : "none";
  if (parseInt(version.slice(1), 10) >= OLDEST_NODE_THAT_RUNS) return;
  throw new SetupProblem(
    `Node ${OLDEST_NODE_THAT_RUNS} came with the packages but its install script did not run (found: ${version}): run \`npm rebuild node --ignore-scripts=false\`, or put Node ${OLDEST_NODE_THAT_RUNS} or newer on the PATH.`,
  );
}

/** What is built before the start: by which tool, in which folder, and from what. */
const products = [
  {
    name: "page",
    doing: "Building the page",
    done: "Built the page",
    folder: join(root, "packages", "web"),
    command: [join(root, "node_modules", "vite", "bin", "vite.js"), "build", "--logLevel", "warn"],
    proof: join(root, "packages", "web", "dist", "index.html"),
    sources: ["packages/web", "packages/protocol/src", "packages/client/src", "package-lock.json"],
  },
  {
    name: "host",
    doing: "Building the host",
    done: "Built the host",
    folder: root,
    command: [join(root, "scripts", "build-host.mjs")],
    proof: join(root, "packages", "host", "dist", "main.js"),
    sources: ["protocol", "client", "engine", "store", "host"]
      .map((name) => `packages/${name}/src`)
      .concat("packages/web/src/page-folder.ts", "scripts/build-host.mjs")
      .concat("scripts/host-entries.ts", "package-lock.json"),
  },
];

/** Builds every package as published, for `npm run pack`, `npm run check` and a test. */
const packages = {
  name: "packages",
  doing: "Packing the packages",
  done: "Packed the packages",
  folder: root,
  command: [join(root, "scripts", "build-packages.ts")],
  proof: join(root, "dist", "tarballs.json"),
  sources: ["protocol", "client", "engine", "store", "host", "web", "testing"]
    .flatMap((name) =>
      ["src", "package.json", "README.md"].map((file) => `packages/${name}/${file}`),
    )
    .concat(products[0].sources, "packages/host/bin", "LICENSE", "package.json")
    .concat("tsconfig.json", "tsconfig.build.json", "scripts/read-references.ts")
    .concat("scripts/build-packages.ts", "scripts/packages"),
};

/** Tests use their own host, because another one may be running. */
const forTests = {
  ...products[1],
  name: "test-host",
  command: [join(root, "scripts", "build-test-host.mjs"), join(root, "test", "dist", "host")],
  proof: join(root, "test", "dist", "host", "main.js"),
  sources: [
    ...products[1].sources,
    "scripts/build-test-host.mjs",
    "test/chaos",
    "packages/testing/src",
  ],
};

async function build({ name, doing, done, folder, command, proof, sources }) {
  const stamp = join(stampFolder, name);
  const fingerprint = fingerprintOf(sources);
  if (existsSync(proof) && readStamp(stamp) === fingerprint) return;
  // Tests build what is shipped, too.
  const env = { NODE_ENV: "production" };
  const result = await run("node", command, { doing, done, path: pathWithOurNode(), folder, env });
  if (result.code !== 0) {
    throw new SetupProblem(`Cannot build the ${name}: see the message above.`, result.output);
  }
  mkdirSync(stampFolder, { recursive: true });
  // Written under another name first, so that a stamp is complete or missing.
  writeFileSync(`${stamp}.new`, fingerprint);
  renameSync(`${stamp}.new`, stamp);
}

function fingerprintOf(sources) {
  // Copies of a clone may share node_modules, and with it the stamps.
  const hash = createHash("sha256").update(root);
  for (const file of sources.flatMap((source) => listFiles(join(root, source)))) {
    const content = readFileSync(file);
    hash
      .update(`${relative(root, file).split(sep).join("/")}\0${content.length}\0`)
      .update(content);
  }
  return hash.digest("hex");
}

/** The file itself, or everything in the folder except build output and tests. */
function listFiles(folder) {
  if (!statSync(folder).isDirectory()) return [folder];
  const entries = readdirSync(folder, { withFileTypes: true });
  entries.sort((a, b) => (a.name < b.name ? -1 : 1));
  return entries.flatMap((entry) => {
    if (entry.name === "node_modules" || entry.name === "dist") return [];
    if (entry.isDirectory()) return listFiles(join(folder, entry.name));
    return /\.test\.tsx?$/.test(entry.name) ? [] : [join(folder, entry.name)];
  });
}

function readStamp(path) {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return undefined;
  }
}

let running;
let interruptedBy;

/** Runs a tool to its end, announces it, and keeps its output in case it fails. */
function run(command, args, { doing, done, path, folder, env = {} }) {
  const startedAt = Date.now();
  const seconds = () => `${((Date.now() - startedAt) / 1000).toFixed(1)} s`;
  console.log(`${doing} …`);
  const heartbeat = setInterval(() => console.log(`  still at it after ${seconds()}`), 10_000);
  return new Promise((resolve) => {
    const child = spawn(command, args, {
      cwd: folder,
      env: { ...process.env, ...env, PATH: path },
      stdio: ["ignore", "pipe", "pipe"],
    });
    running = child;
    let output = "";
    const finish = (code) => {
      clearInterval(heartbeat);
      running = undefined;
      if (interruptedBy) exitAfterSignal(interruptedBy);
      if (code === 0) console.log(`${done} in ${seconds()}.`);
      resolve({ code, output });
    };
    child.stdout.on("data", (chunk) => (output += chunk));
    child.stderr.on("data", (chunk) => (output += chunk));
    child.on("error", (error) => {
      output += error.message;
      finish(1);
    });
    child.on("close", finish);
  });
}

/** Ctrl-C: passes the signal to the tool and waits for it, so that nothing keeps running behind the prompt. */
function endOnSignal(signal) {
  if (!running) exitAfterSignal(signal);
  running.kill(interruptedBy ? "SIGKILL" : signal);
  interruptedBy = signal;
}

function exitAfterSignal(signal) {
  process.exit(128 + constants.signals[signal]);
}

/** Tests build the page and their host when they need them. */
function productsFor(mode) {
  if (mode === "start") return products;
  if (mode === "packages") return [products[0], packages];
  return [...products, forTests].filter(({ name }) => name === mode);
}

async function main(mode) {
  refuseOldNode();
  const isBuildOnly = mode !== "start" && productsFor(mode).length > 0;
  if (!isBuildOnly) {
    if (!installIsCurrent(root, mode)) {
      refuseUnwritableFolder();
      await install(mode);
    }
    refuseOldNodeForRunning();
  }
  for (const product of productsFor(mode)) await build(product);
}

process.on("SIGINT", endOnSignal);
process.on("SIGTERM", endOnSignal);
main(process.argv[2]).catch((error) => {
  const refused = ["EACCES", "EPERM", "EROFS"].includes(error.code);
  const problem = refused ? new SetupProblem(NOT_WRITABLE) : error;
  if (!(problem instanceof SetupProblem)) throw problem;
  if (problem.detail) console.error(problem.detail.trim().split("\n").slice(0, 20).join("\n"));
  console.error(problem.message);
  process.exitCode = 1;
});
