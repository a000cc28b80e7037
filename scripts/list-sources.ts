import { execFileSync } from "node:child_process";
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";

const sourceFolders = ["packages", "examples", "test", "bench", "scripts"];
const isSource = (path: string): boolean => /\.[cm]?[jt]sx?$/.test(path);
const ignored = new Set(["node_modules", "dist", "coverage", ".cache"]);

/** Every source file under the source folders, as the file system shows them; paths with `/`. */
export function walkSources(root: string): string[] {
  const walk = (folder: string): string[] =>
    readdirSync(join(root, folder), { withFileTypes: true }).flatMap((entry) => {
      const path = `${folder}/${entry.name}`;
      if (entry.isDirectory()) return ignored.has(entry.name) ? [] : walk(path);
      return isSource(path) ? [path] : [];
    });
  return sourceFolders.filter((folder) => existsSync(join(root, folder))).flatMap(walk);
}

/** The same according to git, independently of our walk; undefined without git. */
export function listSourcesByGit(root: string): string[] | undefined {
  const question = ["ls-files", "-z", "--cached", "--others", "--exclude-standard", "--"];
  try {
    const answer = execFileSync("git", [...question, ...sourceFolders], {
      cwd: root,
      encoding: "utf8",
      stdio: ["ignore", "pipe", "ignore"],
    });
    const files = new Set(answer.split("\0").filter(isSource));
    return [...files].filter((path) => existsSync(join(root, path)));
  } catch {
    return undefined;
  }
}
