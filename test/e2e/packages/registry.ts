import { spawn } from "node:child_process";
import { createReadStream, readFileSync } from "node:fs";
import { createServer } from "node:http";
import { once } from "node:events";
import { join } from "node:path";

interface Manifest {
  readonly name: string;
  readonly version: string;
}

interface Available {
  readonly manifest: Manifest;
  readonly read: () => NodeJS.ReadableStream;
}

/**
 * A package registry on loopback, so that npm installs as it does elsewhere and no network is needed. It serves
 * the packed tarballs and the packages installed in this repository, and nothing else.
 */
export async function startRegistry(root: string) {
  const available = [...packedPackages(root), ...installedPackages(root)];
  const server = createServer(({ url = "/" }, response) => {
    const path = decodeURIComponent(url).slice(1);
    const file = /^tarballs\/(\d+)$/.exec(path);
    const wanted = file && available[Number(file[1])];
    if (wanted) return void wanted.read().pipe(response);
    const versions = available.flatMap(({ manifest }, index) => {
      if (manifest.name !== path) return [];
      return [{ ...manifest, dist: { tarball: `${origin}/tarballs/${index}` } }];
    });
    const [first] = versions;
    response.statusCode = first ? 200 : 404;
    const byVersion = Object.fromEntries(versions.map((one) => [one.version, one]));
    const tags = { latest: first?.version };
    response.end(JSON.stringify({ name: path, "dist-tags": tags, versions: byVersion }));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  const origin = `http://127.0.0.1:${typeof address === "object" ? address?.port : ""}`;
  return {
    origin,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function packedPackages(root: string): Available[] {
  const packed = readJson(join(root, "dist/tarballs.json")) as (Manifest & { filename: string })[];
  return packed.map(({ name, filename }) => ({
    manifest: readManifest(join(root, "dist/packages", name.replace("@holdfast/", ""))),
    read: () => createReadStream(join(root, "dist/tarballs", filename)),
  }));
}

function installedPackages(root: string): Available[] {
  const record = readJson(join(root, "node_modules/.package-lock.json")) as {
    packages: Record<string, { readonly link?: boolean }>;
  };
  return Object.entries(record.packages)
    .filter(([path, { link }]) => path.includes("node_modules/") && !link)
    .map(([path]) => join(root, path))
    .map((folder) => ({ manifest: readManifest(folder), read: () => archive(folder) }));
}

/** npm unpacks any archive with one folder around the files. */
function archive(folder: string): NodeJS.ReadableStream {
  const args = ["-C", folder, "--exclude", "./node_modules", "-cf", "-", "."];
  // Otherwise macOS adds its own files.
  const env = { ...process.env, COPYFILE_DISABLE: "1" };
  return spawn("tar", args, { env, stdio: ["ignore", "pipe", "inherit"] }).stdout;
}

const readManifest = (folder: string) => readJson(join(folder, "package.json")) as Manifest;
const readJson = (path: string): unknown => JSON.parse(readFileSync(path, "utf8"));
