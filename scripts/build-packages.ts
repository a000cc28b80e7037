import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { stagePackage } from "./packages/stage.ts";

/**
 * Builds every package as it is published: JavaScript and types in `dist/packages/<name>`, and a tarball of each in
 * `dist/tarballs`. Build the page first.
 */
const root = fileURLToPath(new URL("..", import.meta.url));
const output = join(root, "dist");
rmSync(output, { recursive: true, force: true });

// `npm run check` checks the types; this only writes them.
execFileSync("node_modules/.bin/tsc", ["--project", "tsconfig.build.json", "--noCheck"], {
  cwd: root,
  stdio: "inherit",
});

const manifest = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as {
  readonly workspaces: readonly string[];
};
const staged = manifest.workspaces.map((source) => stagePackage(root, source, output));
rmSync(join(output, "compiled"), { recursive: true });

const tarballs = join(output, "tarballs");
mkdirSync(tarballs);
const folders = staged.map((folder) => `./${relative(root, folder)}`);
const packArgs = ["pack", "--json", "--loglevel=error", "--pack-destination", tarballs];
const packed = execFileSync("npm", [...packArgs, ...folders], {
  cwd: root,
  stdio: ["ignore", "pipe", "inherit"],
});
// A bill of materials of what the packages need, as CycloneDX.
const materials = execFileSync(
  "npm",
  ["sbom", "--sbom-format=cyclonedx", "--omit=dev", "--package-lock-only", "--loglevel=error"],
  { cwd: root, stdio: ["ignore", "pipe", "inherit"], maxBuffer: 64 * 1024 * 1024 },
);
writeFileSync(join(output, "sbom.cdx.json"), materials);
// Written last: if the list exists, all tarballs do.
writeFileSync(join(output, "tarballs.json"), packed);
