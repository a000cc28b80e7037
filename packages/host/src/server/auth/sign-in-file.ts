import { readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { digestOf } from "./authenticator.ts";

const keptSignIn = z.object({
  id: z.string(),
  createdAt: z.number(),
  expiresAt: z.number(),
  about: z.string(),
});
export type KeptSignIn = z.infer<typeof keptSignIn>;

/** Where sign-ins outlive the host: digests, and what is known of each. */
export interface KeptSignIns {
  read(): ReadonlyMap<string, KeptSignIn>;
  /** What another host on this home has written since; nothing when it has not. `now and then` looks only so often. */
  readIfChanged(look: "now" | "now and then"): ReadonlyMap<string, KeptSignIn> | undefined;
  /** Where some of them `ended` and that cannot be written, none is kept: one that was ended must not come back with the next start. */
  write(signIns: ReadonlyMap<string, KeptSignIn>, why: "began" | "ended"): void;
}

const kept = z.object({ token: z.string(), signIns: z.record(z.string(), keptSignIn) });

/** A look at the file costs little, and still nothing should cost it for each request. */
const lookMs = 500;

/** In the home, for nobody else to read. They hold for the token that they were given under, and for no other. */
export function keepSignIns(home: string, token: string, now = Date.now): KeptSignIns {
  const path = join(home, "sign-ins.json");
  const underToken = digestOf(token);
  let seen = markOf(path);
  let lookedAt = now();

  function read(): ReadonlyMap<string, KeptSignIn> {
    seen = markOf(path);
    try {
      const found = kept.safeParse(JSON.parse(readFileSync(path, "utf8")));
      if (!found.success || found.data.token !== underToken) return new Map();
      return new Map(Object.entries(found.data.signIns));
    } catch {
      return new Map();
    }
  }

  return {
    read,
    readIfChanged(look) {
      if (look === "now and then" && now() - lookedAt < lookMs) return undefined;
      lookedAt = now();
      // One that is gone was taken away by a host that could not write what it had ended: nobody is signed in by it here either.
      return markOf(path) === seen ? undefined : read();
    },
    write(signIns, why) {
      const draft = `${path}.${process.pid}`;
      try {
        const text = JSON.stringify({ token: underToken, signIns: Object.fromEntries(signIns) });
        writeFileSync(draft, text, { mode: 0o600, flush: true });
        renameSync(draft, path);
        seen = markOf(path);
      } catch {
        // Who signed in stays so until the host stops; there is nothing better to be had from a full disk.
        if (why === "ended") rmSync(path, { force: true });
        seen = markOf(path);
      }
    },
  };
}

/** Another file, or the same one written again, has another. */
function markOf(path: string): string {
  try {
    const { ino, mtimeNs, size } = statSync(path, { bigint: true });
    return `${ino} ${mtimeNs} ${size}`;
  } catch {
    return "absent";
  }
}
