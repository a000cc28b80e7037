import { size, type SizesOf } from "../harness/sizes.ts";
import type { Backend } from "../store/bench-database.ts";

export type Sizes = SizesOf<typeof sizeTable>;

export const sizeTable = {
  /** How long a host is left alone before its statements are counted, and for how long they are. */
  settleMs: size(15_000, 500),
  restMs: size(30_000, 1_000),
  watchedSessions: size(60, 3),
  watchRounds: size(40, 3),
  watchTurns: size(4, 1),
  ledgerRows: size(1_000_000, 1_000),
  contextReads: size(200, 3),
  idleStreams: size(10_000, 20),
  admissionClients: size(64, 4),
  admissionMs: size(10_000, 300),
  admissionTurns: size(3, 1),
};

export interface Bench {
  readonly sizes: Sizes;
  /** PostgreSQL, which is what several hosts share. */
  readonly backend: Backend;
}

export function postgresUrl({ address }: { readonly address: { readonly kind: string } }): string {
  if (!("url" in address) || typeof address.url !== "string")
    throw new Error("Several hosts are measured on PostgreSQL.");
  return address.url;
}
