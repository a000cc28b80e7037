import { readdirSync, readFileSync } from "node:fs";

export interface Migration {
  readonly number: number;
  readonly name: string;
  readonly sql: string;
}

/** Files named `NNNN-plain-words.sql`, numbered 1, 2, 3, … without gaps. */
export function readMigrations(folder: URL): readonly Migration[] {
  const files = readdirSync(folder)
    .filter((file) => file.endsWith(".sql"))
    .toSorted();
  return files.map((file, index) => {
    const [, digits, name] = /^(\d{4})-([a-z0-9-]+)\.sql$/.exec(file) ?? [];
    if (digits === undefined || name === undefined || Number(digits) !== index + 1) {
      throw new Error(`The migration ${file} is not the one numbered ${index + 1}.`);
    }
    return { number: index + 1, name, sql: readFileSync(new URL(file, folder), "utf8") };
  });
}
