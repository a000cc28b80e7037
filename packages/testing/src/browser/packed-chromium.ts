import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const unpack = fileURLToPath(new URL("./unpack-chromium.ts", import.meta.url));
// Inside its own package, so that it goes when npm replaces the package by another version.
const unpacked = fileURLToPath(
  new URL("../../../../node_modules/@sparticuz/chromium/unpacked", import.meta.url),
);

/**
 * The Chromium that npm brought. It unpacks itself into the temporary folder, in place, and takes a
 * half-written file of another process for a whole one; so it unpacks aside, and appears by a rename.
 */
export function unpackChromium(): string {
  const executable = join(unpacked, "chromium");
  if (existsSync(executable)) return executable;
  const aside = mkdtempSync(`${unpacked}-`);
  execFileSync(process.execPath, [unpack], { env: { ...process.env, TMPDIR: aside } });
  try {
    renameSync(aside, unpacked);
  } catch (error) {
    // Another process was first; its copy is as good.
    rmSync(aside, { recursive: true });
    if (!existsSync(executable)) throw error;
  }
  return executable;
}
