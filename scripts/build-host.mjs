// Bundles the host and the store's threads into a few files of plain JavaScript. The sources run as they are, but a
// thread that loads hundreds of files takes half a second and tens of megabytes more than one that loads these.
import {
  existsSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { dirname, join, relative, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { rolldown } from "rolldown";

import { bundledLicences, licenceFile } from "./bundled-licences.ts";
import { hostEntries } from "./host-entries.ts";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const [home = join(root, "packages", "host", "dist"), ...more] = process.argv.slice(2);
/** Further entries to bundle, as `name=path`: a benchmark measures what people run. */
const extraEntries = Object.fromEntries(more.map((argument) => argument.split("=", 2)));
const name = `${Date.now().toString(36)}-${process.pid}`;
const dist = join(home, name);
const entries = { ...hostEntries, ...extraEntries };

/** Needed by everything. All other packages are loaded from where they are, on demand. */
const bundled = /^(@holdfast\/|zod$|zod\/|hono$|hono\/|@hono\/|uuidv7$|croner$|node:http2?$)/;

const besideTheModule = /new URL\(\s*"([^"]+)",\s*import\.meta\.url,?\s*\)/g;
/** Where it doesn't matter which module it is. */
const anywhere = /createRequire\(import\.meta\.url\)/g;

/** A URL relative to a module is a thread that is bundled too, or a file that stays among the sources. */
const sourceUrls = {
  name: "places-of-sources",
  transform(code, id) {
    if (!id.startsWith(join(root, "packages")) || !code.includes("import.meta.url")) return null;
    if (code.replace(besideTheModule, "").replace(anywhere, "").includes("import.meta.url"))
      throw new Error(`${id} uses import.meta.url in a way that would not work in the built host.`);
    return code.replace(besideTheModule, (_, path) => {
      const file = join(dirname(id), path);
      const entry = Object.entries(entries).find(([, source]) => join(root, source) === file);
      const place = entry ? `./${entry[0]}.js` : relative(dist, file).split(sep).join("/");
      return `new URL(${JSON.stringify(path.endsWith("/") ? `${place}/` : place)}, import.meta.url)`;
    });
  },
};

/** Importing `node:http` as a module evaluates all its exports and loads a WebSocket client that nobody uses. */
const lazyHttp = {
  name: "http-by-itself",
  resolveId: (id) => (id === "node:http" ? "\0http" : null),
  load(id) {
    if (id !== "\0http") return null;
    const unused = new Set(["WebSocket", "CloseEvent", "MessageEvent"]);
    const names = Object.keys(process.getBuiltinModule("node:http"));
    const used = names.filter((exported) => !unused.has(exported)).join(", ");
    return `export const { ${used} } = process.getBuiltinModule("node:http");`;
  },
};

/** The framework only asks whether a request is an HTTP/2 one; the host serves none. */
const noHttp2 = {
  name: "no-http2",
  resolveId: (id) => (id === "node:http2" ? "\0http2" : null),
  load: (id) =>
    id === "\0http2" ? "export class Http2ServerRequest {}\nexport const constants = {};" : null,
};

/** V8 keeps a source in memory, with two bytes for each character if a single one does not fit into one. */
const oneByteSources = {
  name: "one-byte-sources",
  generateBundle(_, files) {
    for (const file of Object.values(files)) {
      if (file.type !== "chunk") continue;
      if (/\\[^\0-\xff]|String\.raw`[^`]*[^\0-\xff]/.test(file.code))
        throw new Error(`${file.fileName} has a character above U+00FF that cannot be escaped.`);
      file.code = file.code.replace(
        /[^\0-\xff]/g,
        (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`,
      );
    }
  },
};

const startedAt = new Date();
const bundle = await rolldown({
  cwd: root,
  input: entries,
  platform: "node",
  plugins: [sourceUrls, lazyHttp, noHttp2, oneByteSources, bundledLicences(licenceFile)],
  // A thread then evaluates the schemas it uses, and not those of every route of the API.
  treeshake: { moduleSideEffects: [{ test: /packages\/protocol\/src\//, sideEffects: false }] },
  external: (id, importer) =>
    importer !== undefined && /^[^./\0]/.test(id) && !existsSync(id) && !bundled.test(id),
});
await bundle.write({
  dir: dist,
  format: "esm",
  entryFileNames: "[name].js",
  comments: false,
  // The names of functions stay, for stack traces.
  minify: { compress: false, mangle: { keepNames: true }, codegen: true },
});
await bundle.close();
announce();

/** From here on this build is started. A running host keeps using the files of the previous one. */
function announce() {
  const entryFile = join(home, "main.js");
  const before = existsSync(entryFile) ? readFileSync(entryFile, "utf8") : "";
  for (const entry of ["main", ...Object.keys(extraEntries)]) writeEntry(entry);
  for (const folder of readdirSync(home, { withFileTypes: true }))
    if (folder.isDirectory() && folder.name !== name && !before.includes(folder.name))
      rmSync(join(home, folder.name), { recursive: true, force: true });
}

function writeEntry(entry) {
  const entryFile = join(home, `${entry}.js`);
  writeFileSync(`${entryFile}.new`, `await import("./${name}/${entry}.js");\n`);
  // Dated when the sources were read: later changes are newer.
  utimesSync(`${entryFile}.new`, startedAt, startedAt);
  renameSync(`${entryFile}.new`, entryFile);
}
