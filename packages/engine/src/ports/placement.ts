import type { OwnerId, SessionId } from "@holdfast/protocol";

/** Why a run cannot work here, as its notice says it. */
export interface PlacementRefusal {
  readonly code: string;
  readonly message: string;
}

/** Where runs work: files of a session may be on one host only. Without it, every runner takes every run. */
export interface RunPlacement {
  /** `elsewhere`: another host, which is up, has the files of this session and takes its runs. */
  check(owner: OwnerId, session: SessionId): Promise<"here" | "elsewhere">;
  /** Makes the files available, under the session's run lease. Otherwise its runs end and say why. */
  prepare(owner: OwnerId, session: SessionId): Promise<PlacementRefusal | null>;
}
