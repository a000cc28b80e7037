import { readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { digestOf } from "./secret.ts";

/** Where sign-ins outlive the host: digests and when each ends. */
export interface KeptSignIns {
  read(): ReadonlyMap<string, number>;
  write(signIns: ReadonlyMap<string, number>): void;
}

const kept = z.object({ token: z.string(), signIns: z.record(z.string(), z.number()) });

/** In the home, for nobody else to read. They hold for the token that they were given under, and for no other. */
export function keepSignIns(home: string, token: string): KeptSignIns {
  const path = join(home, "sign-ins.json");
  const underToken = digestOf(token);
  return {
    read() {
      try {
        const found = kept.safeParse(JSON.parse(readFileSync(path, "utf8")));
        if (!found.success || found.data.token !== underToken) return new Map();
        return new Map(Object.entries(found.data.signIns));
      } catch {
        return new Map();
      }
    },
    write(signIns) {
      const draft = `${path}.${process.pid}`;
      try {
        const text = JSON.stringify({ token: underToken, signIns: Object.fromEntries(signIns) });
        writeFileSync(draft, text, { mode: 0o600, flush: true });
        renameSync(draft, path);
      } catch {
        // Who signed in stays so until the host stops; there is nothing better to be had from a full disk.
      }
    },
  };
}
