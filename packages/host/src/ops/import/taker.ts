import type { Log } from "@holdfast/engine";
import type { OwnerId, SessionId } from "@holdfast/protocol";

import type { PersonaStore } from "../../agent/instructions/persona-store.ts";
import type { AddedServers } from "../../agent/mcp/added-servers.ts";
import type { FactStore } from "../../agent/memory/fact-store.ts";
import type { Secrets } from "../secrets/secrets.ts";
import type { DeriveId } from "./derive-id.ts";
import type { ReportItem } from "./report.ts";

/** Where an import puts what it takes. */
export interface TakerDeps {
  readonly log: Log;
  readonly owner: OwnerId;
  readonly home: string;
  readonly facts: FactStore;
  readonly personas: PersonaStore;
  readonly secrets: Pick<Secrets, "read" | "put">;
  readonly addedServers: Pick<AddedServers, "list" | "put"> | undefined;
  /** The name of the source. */
  readonly source: string;
  readonly mode: "write" | "dry";
}

export interface TakerContext {
  readonly deps: TakerDeps;
  readonly derive: DeriveId;
  /** Keeps bytes that nobody could read, or that have no place here. */
  readonly keep: (bytes: Uint8Array | undefined) => Promise<KeptBytes>;
  /** The session that an imported conversation is here. */
  readonly sessionOf: (key: string) => SessionId | undefined;
}

export interface KeptBytes {
  readonly blob?: string;
}

/** What became of an item. */
export type Answer = Pick<ReportItem, "outcome"> & Partial<ReportItem>;
