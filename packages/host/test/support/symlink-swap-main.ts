/** Swaps a folder for a link that leads out, and a file for one, as fast as it can, until its parent lets go of it. */
import { linkSync, renameSync, rmSync, symlinkSync } from "node:fs";
import { join } from "node:path";

const [, , root = "", outside = ""] = process.argv;
const at = (name: string): string => join(root, name);
process.on("disconnect", () => process.exit(0));

/** Somebody writes the same names meanwhile. */
function attempt(act: () => void): void {
  try {
    act();
  } catch {
    // The next round puts it right.
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
