import { readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { digestSecret } from "./authenticator.ts";

const storedSignIn = z.object({
  id: z.string(),
  createdAt: z.number(),
  expiresAt: z.number(),
  about: z.string(),
});
export type StoredSignIn = z.infer<typeof storedSignIn>;

/** Where sign-ins outlive the host: digests, and what is known of each. */
export interface SignInFile {
  read(): ReadonlyMap<string, StoredSignIn>;
  /** What another host on this home has written since; nothing when it has not. `now and then` looks only so often. */
  readIfChanged(look: "now" | "now and then"): ReadonlyMap<string, StoredSignIn> | undefined;
  /** Where some of them `ended` and that cannot be written, none is kept: one that was ended must not come back with the next start. */
  write(signIns: ReadonlyMap<string, StoredSignIn>, why: "began" | "ended"): void;
}

const storedFile = z.object({ token: z.string(), signIns: z.record(z.string(), storedSignIn) });

/** A look at the file costs little, and still nothing should cost it for each request. */
const pollMs = 500;

/** In the home, for nobody else to read. They hold for the token that they were given under, and for no other. */
export function openSignInFile(home: string, token: string, now = Date.now): SignInFile {
  const path = join(home, "sign-ins.json");
  const underToken = digestSecret(token);
  let seen = fileVersion(path);
  let lookedAt = now();

  function read(): ReadonlyMap<string, StoredSignIn> {
    seen = fileVersion(path);
    try {
      const found = storedFile.safeParse(JSON.parse(readFileSync(path, "utf8")));
      if (!found.success || found.data.token !== underToken) return new Map();
      return new Map(Object.entries(found.data.signIns));
    } catch {
      return new Map();
    }
  }

  return {
    read,
    readIfChanged(look) {
      if (look === "now and then" && now() - lookedAt < pollMs) return undefined;
      lookedAt = now();
      // One that is gone was taken away by a host that could not write what it had ended: nobody is signed in by it here either.
      return fileVersion(path) === seen ? undefined : read();
    },
    write(signIns, why) {
      const draft = `${path}.${process.pid}`;
      try {
        const text = JSON.stringify({ token: underToken, signIns: Object.fromEntries(signIns) });
        writeFileSync(draft, text, { mode: 0o600, flush: true });
        renameSync(draft, path);
        seen = fileVersion(path);
      } catch {
        // Who signed in stays so until the host stops; there is nothing better to be had from a full disk.
        if (why === "ended") rmSync(path, { force: true });
        seen = fileVersion(path);
      }
    },
  };
}

/** Another file, or the same one written again, has another. */
function fileVersion(path: string): string {
  try {
    const { ino, mtimeNs, size } = statSync(path, { bigint: true });
    return `${ino} ${mtimeNs} ${size}`;
  } catch {
    return "absent";
  }
}
