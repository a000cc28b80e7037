/** One instruction, with its continuation lines joined. */
export interface Instruction {
  readonly name: string;
  /** `--from=build` as `from`. */
  readonly flags: Readonly<Record<string, string>>;
  readonly rest: string;
}

export interface Stage {
  readonly name: string;
  readonly instructions: readonly Instruction[];
}

/** The stages of a Dockerfile, as far as ours uses the format. */
export function parseDockerfile(text: string): readonly Stage[] {
  const lines = text
    .split("\n")
    .filter((line) => !/^\s*(#|$)/.test(line))
    .join("\n")
    .replaceAll(/\s*\\\n\s*/g, " ")
    .split("\n");
  const stages: { name: string; instructions: Instruction[] }[] = [];
  for (const line of lines) {
    const [, name = "", after = ""] = /^([A-Z]+)\s+(.*)$/.exec(line) ?? [];
    if (name === "") throw new Error(`This is no instruction of a Dockerfile: ${line}`);
    const [, options = "", rest = ""] = /^((?:--\S+\s+)*)(.*)$/.exec(after) ?? [];
    const flags = Object.fromEntries(
      [...options.matchAll(/--([a-z-]+)=(\S+)/g)].map(([, flag = "", value = ""]) => [flag, value]),
    );
    if (name === "FROM")
      stages.push({ name: / AS (\S+)$/.exec(rest)?.[1] ?? "image", instructions: [] });
    else stages.at(-1)?.instructions.push({ name, flags, rest });
  }
  return stages;
}

/** What the last instruction of that name says. */
export function lastOf(stage: Stage, name: string): string | undefined {
  return stage.instructions.findLast((instruction) => instruction.name === name)?.rest;
}

/** The variables that a stage sets. */
export function variablesOf(stage: Stage): Readonly<Record<string, string>> {
  const given = stage.instructions.filter(({ name }) => name === "ENV").map(({ rest }) => rest);
  return Object.fromEntries(
    given
      .flatMap((rest) => rest.split(/\s+/))
      .map((pair) => [pair.slice(0, pair.indexOf("=")), pair.slice(pair.indexOf("=") + 1)]),
  );
}

/** Whether a `.dockerignore` keeps a file out of the build: its last pattern that matches decides. */
export function isIgnored(ignoreFile: string, path: string): boolean {
  const patterns = ignoreFile.split("\n").filter((line) => line !== "" && !line.startsWith("#"));
  const last = patterns.findLast((pattern) => patternOf(pattern.replace(/^!/, "")).test(path));
  return last !== undefined && !last.startsWith("!");
}

/** Matches a path and everything below it. Unlike a shell's, a star also matches names that begin with a dot. */
function patternOf(glob: string): RegExp {
  const source = glob
    .replaceAll(/[.+^${}()|[\]\\]/g, "\\$&")
    .replaceAll(/\*\*\/|\*/g, (star) => (star === "*" ? "[^/]*" : "(?:.*/)?"));
  return new RegExp(`^${source}(?:/|$)`);
}
