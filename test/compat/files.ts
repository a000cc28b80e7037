import { readdirSync, readFileSync } from "node:fs";
import { join, relative } from "node:path";

import { fieldFacts, withoutIds } from "./facts.ts";

/** Files that SQLite creates and removes by itself. */
const sqliteOwn = /-(?:wal|shm|journal)$/;

/** The names of all files below a folder, with placeholders, and the fields of JSON files. */
export function fileFacts(folder: string): string[] {
  return filesBelow(folder)
    .filter((file) => !sqliteOwn.test(file))
    .flatMap((file) => {
      const name = withoutNumbers(withoutIds(relative(folder, file)));
      // A backup has the folders of the home; what is in them depends on timing.
      if (name.startsWith("backups/")) return [name.split("/").slice(0, 3).join("/")];
      if (!name.endsWith(".json")) return [name];
      const content: unknown = JSON.parse(readFileSync(file, "utf8"));
      const fields = fieldFacts("", content).map((field) =>
        field
          .replace(/^\./, "")
          // Depends on the environment of the test run.
          .replace(/^environment\..*/, "environment")
          .replace(/^signIns\.[^.]+/, "signIns.<id>"),
      );
      return [name, ...fields.map((field) => `${name}: ${field}`)];
    });
}

/** Replaces times, random names, process ids and device numbers by placeholders. */
function withoutNumbers(name: string): string {
  return name
    .replaceAll(/\d{4}-\d\d-\d\dT[\d-]+Z/g, "<time>")
    .replaceAll(/[0-9a-f]{16,}/g, "<hex>")
    .replaceAll(/\/[0-9a-f]{2}\/<hex>/g, "/<hex>/<hex>")
    .replaceAll(/\b\d+\b/g, "<n>");
}

export function filesBelow(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
}
