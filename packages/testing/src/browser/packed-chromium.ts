import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const unpack = fileURLToPath(new URL("./unpack-chromium.ts", import.meta.url));
// Inside its own package, so that it goes away when npm replaces the package with another version.
const unpacked = fileURLToPath(
  new URL("../../../../node_modules/@sparticuz/chromium/unpacked", import.meta.url),
);

/**
 * The Chromium from npm. By default it unpacks itself in place into the temporary folder, and takes another process's
 * half-written file for a complete one; so it is unpacked aside and renamed.
 */
export function unpackChromium(): string {
  const executable = join(unpacked, "chromium");
  if (existsSync(executable)) return executable;
  const temporary = mkdtempSync(`${unpacked}-`);
  execFileSync(process.execPath, [unpack], { env: { ...process.env, TMPDIR: temporary } });
  try {
    renameSync(temporary, unpacked);
  } catch (error) {
    // Another process was first; its copy is as good.
    rmSync(temporary, { recursive: true });
    if (!existsSync(executable)) throw error;
  }
  return executable;
}
