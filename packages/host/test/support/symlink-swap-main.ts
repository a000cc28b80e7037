/** Swaps a folder and a file for links that lead out, as fast as it can, until its parent stops it. */
import { linkSync, renameSync, rmSync, symlinkSync } from "node:fs";
import { join } from "node:path";

const [, , root = "", outside = ""] = process.argv;
const at = (name: string): string => join(root, name);
process.on("disconnect", () => process.exit(0));

/** Another process writes the same names meanwhile. */
function attempt(act: () => void): void {
  try {
    act();
  } catch {
    // The next round repairs it.
  }
}

function swap(): void {
  for (let round = 0; round < 200; round += 1) {
    renameSync(at("folder"), at("kept"));
    symlinkSync(outside, at("folder"));
    attempt(() => rmSync(at("file")));
    attempt(() => symlinkSync(join(outside, "secret"), at("file")));
    rmSync(at("folder"));
    renameSync(at("kept"), at("folder"));
    attempt(() => rmSync(at("file")));
    attempt(() => linkSync(at("folder/secret"), at("file")));
  }
  setImmediate(swap);
}
process.send?.("ready");
swap();
