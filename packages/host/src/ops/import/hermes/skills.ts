import type { ImportItem } from "../source.ts";
import type { ProfilePlace } from "./settings.ts";

const maxSkillFiles = 200;
const maxSkillBytes = 4 * 1024 * 1024;

export async function* readSkills(place: ProfilePlace): AsyncGenerator<ImportItem> {
  const manifest = (await place.folder.readText(place.path("skills/.bundled_manifest"))) ?? "";
  const bundled = new Set(manifest.split("\n").map((line) => line.split(":")[0]?.trim() ?? ""));
  for await (const path of findSkills(place, place.path("skills"), 0)) {
    const name = path.split("/").at(-1) ?? "";
    if (bundled.has(name)) {
      place.report({
        code: "built_in",
        outcome: "skipped",
        path,
        text: "This skill comes with hermes.",
      });
      continue;
    }
    const files: { path: string; bytes: Uint8Array }[] = [];
    if (await collectFiles(place, path, "", files)) yield { kind: "skill", key: path, path, files };
    else
      place.report({
        code: "too_large",
        outcome: "skipped",
        path,
        text: `A skill has at most ${maxSkillFiles} files and ${maxSkillBytes} bytes.`,
      });
  }
}

const maxSkillDepth = 4;

async function* findSkills(
  place: ProfilePlace,
  path: string,
  depth: number,
): AsyncGenerator<string> {
  for (const name of await place.folder.names(path)) {
    if (name.startsWith(".") || name === "_watcher") continue;
    const folder = `${path}/${name}`;
    if ((await place.folder.kind(folder)) !== "folder") continue;
    if ((await place.folder.kind(`${folder}/SKILL.md`)) === "file") yield folder;
    else if (depth < maxSkillDepth) yield* findSkills(place, folder, depth + 1);
  }
}

/** Returns whether there was room for all of them. */
async function collectFiles(
  place: ProfilePlace,
  root: string,
  below: string,
  files: { path: string; bytes: Uint8Array }[],
): Promise<boolean> {
  for (const name of await place.folder.names(below === "" ? root : `${root}/${below}`)) {
    if (name.startsWith(".")) continue;
    const path = below === "" ? name : `${below}/${name}`;
    const kind = await place.folder.kind(`${root}/${path}`);
    if (kind === "folder") {
      if (path.split("/").length > maxSkillDepth) return false;
      if (!(await collectFiles(place, root, path, files))) return false;
    } else if (kind === "file") {
      const bytes = await place.folder.read(`${root}/${path}`, maxSkillBytes);
      if (bytes === null) continue;
      files.push({ path, bytes });
      const size = files.reduce((sum, file) => sum + file.bytes.length, 0);
      if (files.length > maxSkillFiles || size > maxSkillBytes) return false;
    }
  }
  return true;
}
