import { chmodSync, linkSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { done, failed, type Outcome, systemCode } from "../../util/outcome.ts";
import { generateSecret } from "./secret-digest.ts";
import type { Config } from "../../ops/config/settings.ts";
import { isLoopback } from "../../util/ip-networks.ts";

/** Reads the home's token, creating it at the first start. */
export function loadOrCreateToken(home: string): Outcome<string> {
  const path = join(home, "token");
  try {
    const token = readToken(path) ?? createToken(path);
    if (token !== "") return done(token);
    return failed(
      "home.unusable",
      `The token file ${path} is empty: delete it, and the next start makes a new one.`,
    );
  } catch (error) {
    return failed("home.unusable", `The token file ${path} cannot be used (${systemCode(error)}).`);
  }
}

function readToken(path: string): string | undefined {
  try {
    const token = readFileSync(path, "utf8").trim();
    if ((statSync(path).mode & 0o077) !== 0) chmodSync(path, 0o600);
    return token;
  } catch (error) {
    if (systemCode(error) === "ENOENT") return undefined;
    throw error;
  }
}

/** A hard link is atomic, so two concurrent first starts end up with the same token. */
function createToken(path: string): string {
  const token = generateSecret();
  const draft = `${path}.${process.pid}`;
  writeFileSync(draft, `${token}\n`, { mode: 0o600, flag: "wx", flush: true });
  try {
    linkSync(draft, path);
    return token;
  } catch (error) {
    const kept = systemCode(error) === "EEXIST" ? readToken(path) : undefined;
    if (kept === undefined) throw error;
    return kept;
  } finally {
    rmSync(draft, { force: true });
  }
}

const minPublicTokenLength = 16;

/** The configured token, or the one generated for this home. */
export function chooseToken(config: Config): Outcome<string> {
  const { token, home, host } = config;
  if (token.value === undefined) return loadOrCreateToken(home.value);
  if (token.value.length < minPublicTokenLength && !isLoopback(host.value)) {
    return failed(
      "config.invalid",
      `The token is too short to serve other machines on ${host.value}: give it at least ${minPublicTokenLength} characters, or leave HOLDFAST_TOKEN out and have one made.`,
    );
  }
  return done(token.value);
}
