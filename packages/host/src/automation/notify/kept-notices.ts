import type { Register } from "@holdfast/engine";
import type { OwnerId } from "@holdfast/protocol";

import { type Notices, notices } from "./notice-queue.ts";

const key = "notify";
const mostTries = 20;

export type Change =
  | { readonly status: "changed"; readonly state: Notices }
  /** There was nothing to change. */
  | { readonly status: "kept" }
  /** The store took nothing: what was to change is still to be done. */
  | { readonly status: "failed" };

/** The row that all hosts of a store share. */
export class KeptNotices {
  readonly #register: Register;
  readonly #owner: OwnerId;

  constructor(register: Register, owner: OwnerId) {
    this.#register = register;
    this.#owner = owner;
  }

  async read(): Promise<Notices | null> {
    return decode((await this.#register.read(this.#owner, key))?.value);
  }

  /** Applied to what stands there at the moment of writing; `null` leaves it. */
  async change(apply: (state: Notices | null) => Notices | null): Promise<Change> {
    for (let tries = 0; tries < mostTries; tries += 1) {
      const row = await this.#register.read(this.#owner, key);
      const state = apply(decode(row?.value));
      if (state === null) return { status: "kept" };
      const change = { owner: this.#owner, key, expect: row?.revision ?? 0 };
      const result = await this.#register.put({ ...change, value: JSON.stringify(state) });
      if (result.status === "put") return { status: "changed", state };
      if (result.status === "failed") return { status: "failed" };
    }
    return { status: "failed" };
  }
}

/** What cannot be read is begun anew, from now on: nobody is told all of history. */
function decode(value: string | undefined): Notices | null {
  if (value === undefined) return null;
  try {
    return notices.parse(JSON.parse(value));
  } catch {
    return null;
  }
}
