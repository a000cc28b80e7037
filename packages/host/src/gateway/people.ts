import { randomInt } from "node:crypto";

import type { Register } from "@holdfast/engine";
import type { GatewayView, OwnerId } from "@holdfast/protocol";
import { z } from "zod";

import type { Person } from "./adapter.ts";

const record = z.object({
  state: z.enum(["asked", "allowed", "denied"]),
  name: z.string(),
  code: z.string(),
  /** By the store's clock. */
  at: z.int(),
});
type Known = z.infer<typeof record>;

type PairingRequest = GatewayView["requests"][number];
type PairedPerson = GatewayView["people"][number];

export type Standing = "allowed" | "silent" | { readonly code: string };

const codeLifeMs = 60 * 60_000;
/** Beyond these nobody is answered any more: strangers must not cost anything. */
const mostRequests = 20;
const mostPeople = 1_000;
// Without letters and digits that are taken for one another.
const letters = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789";

/** Who may speak to a bot. A stranger gets one line with a code, for its owner to confirm, and nothing else. */
export class People {
  readonly #register: Register;
  readonly #owner: OwnerId;
  readonly #prefix: string;
  readonly #listed: ReadonlySet<string>;
  readonly #now: () => Promise<number>;

  constructor(options: {
    readonly register: Register;
    readonly owner: OwnerId;
    readonly bot: string;
    readonly listed: readonly string[];
    readonly now: () => Promise<number>;
  }) {
    this.#register = options.register;
    this.#owner = options.owner;
    this.#prefix = `person/${options.bot}:`;
    this.#listed = new Set(options.listed);
    this.#now = options.now;
  }

  async isAllowed({ id }: Pick<Person, "id">): Promise<boolean> {
    if (this.#listed.has(id)) return true;
    return (await this.#read(id))?.record.state === "allowed";
  }

  /** What a stranger is told, if anything: a code once, and again only when that one is over. */
  async meet(person: Person): Promise<Standing> {
    if (await this.isAllowed(person)) return "allowed";
    const known = await this.#read(person.id);
    const now = await this.#now();
    if (known !== null && (known.record.state === "denied" || now - known.record.at < codeLifeMs))
      return "silent";
    if ((await this.requests()).length >= mostRequests) return "silent";
    const code = Array.from({ length: 8 }, () => letters[randomInt(letters.length)]).join("");
    const asked: Known = { state: "asked", name: person.name.slice(0, 100), code, at: now };
    return (await this.#put(person.id, asked, known?.revision ?? 0)) ? { code } : "silent";
  }

  /** Those whose code is still good, oldest first. */
  async requests(): Promise<readonly PairingRequest[]> {
    const now = await this.#now();
    return (await this.#all())
      .filter(({ record: { state, at } }) => state === "asked" && now - at < codeLifeMs)
      .map(({ person, record: { name, code, at } }) => ({ person, name, code, askedAt: at }))
      .toSorted((a, b) => a.askedAt - b.askedAt);
  }

  async paired(): Promise<readonly PairedPerson[]> {
    return (await this.#all()).flatMap(({ person, record: { name, state } }) =>
      state === "asked" ? [] : [{ person, name, state }],
    );
  }

  /** Only the owner says this, by the code that the person showed. */
  async decide(code: string, state: "allowed" | "denied"): Promise<PairedPerson | null> {
    const request = (await this.requests()).find((each) => each.code === code.toUpperCase());
    return request === undefined ? null : this.#settle(request.person, state);
  }

  /** A person who was allowed may be sent away, and one who was sent away may come back. */
  async change(person: string, state: "allowed" | "denied"): Promise<PairedPerson | null> {
    return this.#settle(person, state);
  }

  async #settle(person: string, state: "allowed" | "denied"): Promise<PairedPerson | null> {
    const known = await this.#read(person);
    if (known === null) return null;
    const { name } = known.record;
    const settled = { ...known.record, state, code: "" };
    return (await this.#put(person, settled, known.revision)) ? { person, name, state } : null;
  }

  async #all() {
    const rows = await this.#register.list(this.#owner, this.#prefix, mostPeople);
    return rows.flatMap(({ key, value }) => {
      const parsed = decode(value);
      return parsed === null ? [] : [{ person: key.slice(this.#prefix.length), record: parsed }];
    });
  }

  async #read(person: string): Promise<{ record: Known; revision: number } | null> {
    const row = await this.#register.read(this.#owner, this.#prefix + person);
    const parsed = row && decode(row.value);
    return row === null || parsed === null ? null : { record: parsed, revision: row.revision };
  }

  async #put(person: string, value: Known, expect: number): Promise<boolean> {
    const change = { owner: this.#owner, key: this.#prefix + person, expect };
    const result = await this.#register.put({ ...change, value: JSON.stringify(value) });
    return result.status === "put";
  }
}

function decode(value: string): Known | null {
  try {
    return record.parse(JSON.parse(value));
  } catch {
    return null;
  }
}
