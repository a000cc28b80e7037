// Puts the host and the store's threads into a few files of plain JavaScript. The sources run as they are; but each
// thread that loads hundreds of them takes half a second and tens of megabytes more than one that loads these.
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

import { hostEntries } from "./host-entries.ts";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const [home = join(root, "packages", "host", "dist"), ...more] = process.argv.slice(2);
/** What else is to be put together with the host's own parts, as `name=path`: a benchmark measures what people run. */
const given = Object.fromEntries(more.map((each) => each.split("=", 2)));
const name = `${Date.now().toString(36)}-${process.pid}`;
const dist = join(home, name);
const entries = { ...hostEntries, ...given };

/** Loaded by everything. All other packages are loaded from where they are, when they are needed. */
const bundled = /^(@holdfast\/|zod$|zod\/|hono$|hono\/|@hono\/|uuidv7$|node:http$)/;

const besideTheModule = /new URL\(\s*"([^"]+)",\s*import\.meta\.url,?\s*\)/g;
/** Where it does not matter which module it is. */
const anywhere = /createRequire\(import\.meta\.url\)/g;

/** What a module names beside itself is a thread that is in here too, or a file that stays among the sources. */
const placesOfSources = {
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

/** Imported as a module, `node:http` hands out everything that it has at once, and loads a WebSocket client that nobody uses. */
const httpByItself = {
  name: "http-by-itself",
  resolveId: (id) => (id === "node:http" ? "\0http" : null),
  load(id) {
    if (id !== "\0http") return null;
    const unused = new Set(["WebSocket", "CloseEvent", "MessageEvent"]);
    const names = Object.keys(process.getBuiltinModule("node:http"));
    const used = names.filter((each) => !unused.has(each)).join(", ");
    return `export const { ${used} } = process.getBuiltinModule("node:http");`;
  },
};

const startedAt = new Date();
const bundle = await rolldown({
  cwd: root,
  input: entries,
  platform: "node",
  plugins: [placesOfSources, httpByItself],
  external: (id, importer) =>
    importer !== undefined && /^[^./\0]/.test(id) && !existsSync(id) && !bundled.test(id),
});
await bundle.write({ dir: dist, format: "esm", entryFileNames: "[name].js", comments: false });
await bundle.close();
announce();

/** From here on it is this one that is started. A host that runs goes on with the files of the one before. */
function announce() {
  const door = join(home, "main.js");
  const before = existsSync(door) ? readFileSync(door, "utf8") : "";
  for (const each of ["main", ...Object.keys(given)]) openDoor(each);
  for (const each of readdirSync(home, { withFileTypes: true }))
    if (each.isDirectory() && each.name !== name && !before.includes(each.name))
      rmSync(join(home, each.name), { recursive: true, force: true });
}

function openDoor(entry) {
  const door = join(home, `${entry}.js`);
  writeFileSync(`${door}.new`, `await import("./${name}/${entry}.js");\n`);
  // Dated when the sources were read: what was changed since then is newer.
  utimesSync(`${door}.new`, startedAt, startedAt);
  renameSync(`${door}.new`, door);
}
