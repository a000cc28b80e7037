import type { Register } from "@holdfast/engine";
import type { OwnerId } from "@holdfast/protocol";

import { type NoticeState, noticeState } from "./notice-queue.ts";

const registerKey = "notify";
const maxTries = 20;

export type NoticeChange =
  | { readonly status: "changed"; readonly state: NoticeState }
  /** There was nothing to change. */
  | { readonly status: "kept" }
  /** The store took nothing: what was to change is still to be done. */
  | { readonly status: "failed" };

/** The row that all hosts of a store share. */
export class NoticeStore {
  readonly #register: Register;
  readonly #owner: OwnerId;

  constructor(register: Register, owner: OwnerId) {
    this.#register = register;
    this.#owner = owner;
  }

  async read(): Promise<NoticeState | null> {
    return decodeNoticeState((await this.#register.read(this.#owner, registerKey))?.value);
  }

  /** Applied to what stands there at the moment of writing; `null` leaves it. */
  async change(apply: (state: NoticeState | null) => NoticeState | null): Promise<NoticeChange> {
    for (let tries = 0; tries < maxTries; tries += 1) {
      const row = await this.#register.read(this.#owner, registerKey);
      const state = apply(decodeNoticeState(row?.value));
      if (state === null) return { status: "kept" };
      const change = { owner: this.#owner, key: registerKey, expect: row?.revision ?? 0 };
      const result = await this.#register.put({ ...change, value: JSON.stringify(state) });
      if (result.status === "put") return { status: "changed", state };
      if (result.status === "failed") return { status: "failed" };
    }
    return { status: "failed" };
  }
}

/** What cannot be read is begun anew, from now on: nobody is told all of history. */
function decodeNoticeState(value: string | undefined): NoticeState | null {
  if (value === undefined) return null;
  try {
    return noticeState.parse(JSON.parse(value));
  } catch {
    return null;
  }
}
