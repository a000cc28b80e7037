import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { readReferences, type Reference } from "../read-references.ts";

interface FileReference extends Reference {
  readonly file: string;
  readonly specifier: string;
}

/** The references of the built files, in code and in types. */
export function readFileReferences(folder: string, files: readonly string[]): FileReference[] {
  const modules = files.filter((file) => /\.(?:js|d\.ts)$/.test(file));
  return modules.flatMap((file) => {
    const read = readReferences(file, readFileSync(join(folder, file), "utf8"));
    if (!read.ok) throw new Error(`${file}: ${read.problem}`);
    return read.references.flatMap(({ specifier, ...rest }) =>
      specifier === undefined ? [] : [{ file, specifier, ...rest }],
    );
  });
}

const isRelative = ({ specifier }: FileReference): boolean => /^\.{1,2}\//.test(specifier);

export function usedPackages(references: readonly FileReference[]): ReadonlySet<string> {
  const bare = references.filter(
    (reference) =>
      reference.via === "import" &&
      !isRelative(reference) &&
      !reference.specifier.startsWith("node:"),
  );
  return new Set(
    bare.map(({ specifier }) => specifier.split("/", specifier.startsWith("@") ? 2 : 1).join("/")),
  );
}

/** What the built files need but would not find once installed. */
export function findMissing(
  folder: string,
  references: readonly FileReference[],
  available: ReadonlySet<string>,
): string[] {
  const files = references.filter(isRelative).filter(({ file, specifier }) => {
    const wanted = file.endsWith(".d.ts") ? specifier.replace(/\.js$/, ".d.ts") : specifier;
    return !existsSync(join(folder, dirname(file), wanted));
  });
  const packages = [...usedPackages(references)].filter((name) => !available.has(name));
  return [
    ...files.map(({ file, specifier }) => `${file} needs ${specifier}, which is not published`),
    ...packages.map((name) => `${folder} needs ${name}, which it does not depend on`),
  ];
}
