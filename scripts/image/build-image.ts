import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";
import { type Instruction, isIgnored, parseDockerfile, type Stage } from "./dockerfile.ts";
import { filesBelow } from "./files.ts";

/** What stands in for an image: the files that its instructions made, above those of this machine. */
export interface BuiltImage {
  readonly stage: Stage;
  /** The upper folder of an overlay over this machine's root. */
  readonly layer: string;
  /** What was not done here, and why. */
  readonly notDone: readonly string[];
}

/**
 * Carries out the instructions of a Dockerfile without a container engine. This machine's own system is the base image,
 * so nothing is installed into it; everything else is done as it is written.
 */
export async function buildImage(
  repository: string,
  folder: string,
  say: (line: string) => void,
): Promise<BuiltImage> {
  const stages = parseDockerfile(readFileSync(join(repository, "deploy/Dockerfile"), "utf8"));
  const layers = new Map<string, string>();
  const notDone: string[] = [];
  for (const stage of stages) {
    const layer = join(folder, stage.name);
    layers.set(stage.name, layer);
    mkdirSync(layer);
    let workFolder = "/";
    for (const instruction of stage.instructions) {
      const { name, rest } = instruction;
      if (name === "WORKDIR") mkdirSync(join(layer, (workFolder = rest)), { recursive: true });
      if (name === "COPY") copy({ repository, layers, layer, workFolder }, instruction);
      if (name !== "RUN") continue;
      if (rest.startsWith("apt-get")) notDone.push(rest);
      else {
        say(`${stage.name}: ${rest}`);
        await runInLayer(layer, workFolder, rest);
      }
    }
  }
  const stage = stages.at(-1)!;
  return { stage, layer: layers.get(stage.name)!, notDone };
}

interface CopyContext {
  readonly repository: string;
  readonly layers: ReadonlyMap<string, string>;
  readonly layer: string;
  readonly workFolder: string;
}

function copy(context: CopyContext, { flags, rest }: Instruction): void {
  const { repository, layers, layer, workFolder } = context;
  const paths = rest.split(/\s+/);
  const given = paths.at(-1)!;
  const target = join(layer, given.startsWith("/") ? given : join(workFolder, given));
  const from = flags["from"] === undefined ? repository : layers.get(flags["from"])!;
  const ignoreFile = readFileSync(join(repository, ".dockerignore"), "utf8");
  for (const path of paths.slice(0, -1)) {
    const source = join(from, path);
    const into = given.endsWith("/") ? join(target, basename(path)) : target;
    if (from !== repository) {
      mkdirSync(dirname(into), { recursive: true });
      cpSync(source, into, { recursive: true, verbatimSymlinks: true, preserveTimestamps: true });
      continue;
    }
    const files = filesBelow(repository, path).filter((file) => !isIgnored(ignoreFile, file));
    if (files.length === 0) throw new Error(`There is nothing to copy at ${path}.`);
    for (const file of files) {
      const place = path === "." ? join(target, file) : join(into, file.slice(path.length));
      mkdirSync(dirname(place), { recursive: true });
      cpSync(join(repository, file), place, { preserveTimestamps: true });
    }
  }
}

/** As root of a mount namespace in which the layer is the root. */
async function runInLayer(layer: string, workFolder: string, command: string): Promise<void> {
  const npmCache = execFileSync("npm", ["config", "get", "cache"], { encoding: "utf8" }).trim();
  mkdirSync(npmCache, { recursive: true });
  const script = `set -e
${mountRoot(layer, `${layer}.root`)}
mkdir -p "${layer}/tmp/npm-cache"
mount --bind "$3" "${layer}.root/tmp/npm-cache"
exec chroot "${layer}.root" /bin/sh -c 'cd "$1" && eval "$2"' sh "$1" "$2"`;
  const child = spawn(
    "unshare",
    ["--mount", "sh", "-c", script, "sh", workFolder, command, npmCache],
    {
      stdio: ["ignore", "pipe", "pipe"],
      env: {
        ...process.env,
        PATH: imagePath,
        HOME: "/tmp",
        npm_config_cache: "/tmp/npm-cache",
        npm_config_prefer_offline: "true",
      },
    },
  );
  let output = "";
  for (const stream of [child.stdout, child.stderr])
    stream.on("data", (chunk: Buffer) => (output += chunk.toString()));
  await once(child, "close");
  if (child.exitCode !== 0) throw new Error(`${command}\n${output}`);
}

export const imagePath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/** Shell lines that mount a layer at a root, with this machine's system below it. */
export function mountRoot(layer: string, root: string): string {
  const overlays = ["usr", "etc"].map((name) => {
    const work = `${layer}.work/${name}`;
    mkdirSync(work, { recursive: true });
    return `mount -t overlay overlay -o "lowerdir=/${name},upperdir=${layer}/${name},workdir=${work}" "${root}/${name}"`;
  });
  mkdirSync(root, { recursive: true });
  for (const name of ["usr", "etc", "dev", "proc", "sys", "tmp", "run"])
    mkdirSync(join(layer, name), { recursive: true });
  for (const name of ["bin", "sbin", "lib", "lib64"])
    if (existsSync(join("/usr", name)) && !readdirSync(layer).includes(name))
      symlinkSync(`usr/${name}`, join(layer, name));
  return [
    `mount --bind "${layer}" "${root}"`,
    ...overlays,
    ...["dev", "proc", "sys"].map((name) => `mount --rbind "/${name}" "${root}/${name}"`),
  ].join("\n");
}

/** The base image has this Node; here it is the one of the repository. */
export function addNode(repository: string, layer: string): void {
  const target = join(layer, "usr/local/bin/node");
  mkdirSync(dirname(target), { recursive: true });
  cpSync(join(repository, "node_modules/node/bin/node"), target, { dereference: true });
}

/** A program that the base image would get and this machine lacks: it is left out of the command. */
export function addStandIn(layer: string, program: string): void {
  const target = join(layer, "usr/local/bin", program);
  mkdirSync(dirname(target), { recursive: true });
  writeFileSync(target, '#!/bin/sh\n[ "$1" = -- ] && shift\nexec "$@"\n', { mode: 0o755 });
}
