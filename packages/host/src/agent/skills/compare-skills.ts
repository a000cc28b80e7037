import { readFileOfSkill, type ScannedSkill } from "./scan-skills.ts";

/** What happens to one file when a skill takes the place of another. */
export interface SkillChange {
  readonly path: string;
  readonly kind: "added" | "removed" | "changed";
  /** For texts. */
  readonly diff?: string;
}

const maxChanges = 100;
const maxDiffLength = 8_000;
/** For all files together; what is beyond it is named without its content. */
const maxAllLength = 100_000;

/** The files in which two versions differ, in the order of their paths. The instructions come first. */
export async function compareSkills(
  old: ScannedSkill,
  fresh: ScannedSkill,
): Promise<readonly SkillChange[]> {
  // Loaded on the first comparison, not when the host starts.
  const { unifiedDiff } = await import("../../util/text/diff.ts");
  const before = new Map(old.files.map((file) => [file.path, file]));
  const after = new Map(fresh.files.map((file) => [file.path, file]));
  const paths = [...new Set([...before.keys(), ...after.keys()])]
    .filter((path) => before.get(path)?.hash !== after.get(path)?.hash)
    .toSorted((a, b) => rank(a) - rank(b) || (a < b ? -1 : 1));
  let room = maxAllLength;
  const changes: SkillChange[] = [];
  for (const path of paths.slice(0, maxChanges)) {
    const [was, is] = [before.has(path), after.has(path)];
    const kind = was && is ? "changed" : is ? "added" : "removed";
    const texts = [was ? await textOf(old, path) : "", is ? await textOf(fresh, path) : ""];
    const [oldText, newText] = texts;
    const diff =
      oldText == null || newText == null || room <= 0
        ? null
        : unifiedDiff(oldText, newText, Math.min(room, maxDiffLength));
    room -= diff?.length ?? 0;
    changes.push({ path, kind, ...(diff !== null && { diff }) });
  }
  return changes;
}

const rank = (path: string): number => (path === "SKILL.md" ? 0 : 1);

function textOf(skill: ScannedSkill, path: string): Promise<string | null> {
  return readFileOfSkill(skill, path);
}
