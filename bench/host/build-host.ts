import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";

/** Like `npm start`. */
export function buildHost(): void {
  const setup = fileURLToPath(new URL("../../scripts/setup.mjs", import.meta.url));
  const built = spawnSync(process.execPath, [setup, "start"], { stdio: "inherit" });
  if (built.status !== 0) throw new Error("The host could not be built.");
}
