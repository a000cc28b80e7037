import { randomInt } from "node:crypto";
import { z } from "zod";
import type { Register } from "@holdfast/engine";
import type { GatewayView, OwnerId } from "@holdfast/protocol";
import type { Person } from "../adapter.ts";
import { parseInput, type ParsedInput } from "@holdfast/client";

const decisionRow = z.object({
  state: z.enum(["allowed", "denied"]),
  name: z.string(),
  /** By the store's clock. */
  at: z.int(),
});
type AccessDecision = z.infer<typeof decisionRow>;

const pairingRequest = z.object({
  person: z.string(),
  name: z.string(),
  code: z.string(),
  at: z.int(),
  /** Where they asked, and hear of it. */
  chat: z.string().optional(),
});
/** All who have asked, in one row: it cleans itself whenever somebody asks. */
const pairingRequestRows = z.array(pairingRequest);
type StoredRequest = z.infer<typeof pairingRequest>;

type PairingRequest = GatewayView["requests"][number];
type PairedPerson = GatewayView["people"][number];

export type PairingOutcome = "allowed" | "silent" | { readonly code: string };

const codeTtlMs = 60 * 60_000;
/**
 * Beyond these whoever has waited longest makes room, but not before they had the time to show their code: however many
 * strangers come, nobody is kept out for longer than that, nor are more rows written.
 */
const maxRequests = 40;
const minWaitMs = 5 * 60_000;
const maxNameLength = 60;
const maxDecisions = 10_000;
const maxTries = 5;
// Without letters and digits that are taken for one another.
const codeAlphabet = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789";

/** Who may speak, as those see it who have to know. */
export type ChatAccess = Pick<
  PairingAccess,
  | "isAllowed"
  | "requestPairing"
  | "requests"
  | "pairedPeople"
  | "requestChatOf"
  | "decidePairing"
  | "changePerson"
> & {
  readonly rightsOf: (person: Pick<Person, "id">) => AccessRights;
};

/** What somebody who may speak can do by it. */
export interface AccessRights {
  /** What is none of these is a message, just as it stands. */
  readonly commands: "all" | readonly string[];
  /** What they reach: the sessions that the very lane has begun, or all of the owner's. */
  readonly sessions: "own" | "all";
}

/**
 * Who may speak to a bot. A stranger gets one line with a code, for its owner to confirm, and nothing else; what is kept of
 * strangers is one row of a fixed size. A row for a person of their own is the owner's doing alone.
 */
export class PairingAccess {
  readonly #register: Register;
  readonly #owner: OwnerId;
  readonly #prefix: string;
  readonly #requestKey: string;
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
    this.#requestKey = `pairing/${options.bot}`;
    this.#listed = new Set(options.listed);
    this.#now = options.now;
  }

  async isAllowed({ id }: Pick<Person, "id">): Promise<boolean> {
    if (this.#listed.has(id)) return true;
    return (await this.#read(id))?.state === "allowed";
  }

  /** Paired people speak for their owner. */
  rightsOf(): AccessRights {
    return { commands: "all", sessions: "all" };
  }

  /** What a stranger is told, if anything: a code once, and again only when that one is over. */
  async requestPairing(person: Person, chat?: string): Promise<PairingOutcome> {
    if (this.#listed.has(person.id)) return "allowed";
    const known = await this.#read(person.id);
    if (known !== null) return known.state === "allowed" ? "allowed" : "silent";
    const code = Array.from({ length: 8 }, () => codeAlphabet[randomInt(codeAlphabet.length)]).join(
      "",
    );
    const at = await this.#now();
    const name = person.name.slice(0, maxNameLength).toWellFormed();
    const asked: StoredRequest = {
      person: person.id.slice(0, maxNameLength),
      name,
      code,
      at,
      ...(chat !== undefined && chat.length <= maxNameLength && { chat }),
    };
    const isKept = await this.#changeRequests((requests) => {
      if (requests.some((each) => each.person === asked.person)) return null;
      const [oldest] = requests;
      if (oldest === undefined || requests.length < maxRequests) return [...requests, asked];
      return at - oldest.at < minWaitMs ? null : [...requests.slice(1), asked];
    });
    return isKept ? { code } : "silent";
  }

  /** Those whose code is still good, oldest first. */
  async requests(): Promise<readonly PairingRequest[]> {
    const { requests } = await this.#readRequests();
    return requests.map(({ person, name, code, at }) => ({ person, name, code, askedAt: at }));
  }

  async pairedPeople(): Promise<readonly PairedPerson[]> {
    const rows = await this.#register.list(this.#owner, this.#prefix, maxDecisions);
    return rows.flatMap(({ key, value }) => {
      const found = decodeRow(decisionRow, value);
      const person = key.slice(this.#prefix.length);
      return found === null ? [] : [{ person, ...found }];
    });
  }

  /** Where the person asked who has this code. */
  async requestChatOf(code: string): Promise<string | null> {
    const { requests } = await this.#readRequests();
    return requests.find((each) => each.code === code.toUpperCase())?.chat ?? null;
  }

  /** Only the owner says this, by the code that the person showed. */
  async decidePairing(code: string, state: "allowed" | "denied"): Promise<PairedPerson | null> {
    const { requests } = await this.#readRequests();
    const found = requests.find((each) => each.code === code.toUpperCase());
    if (found === undefined) return null;
    const { person, name } = found;
    const settled = await this.#settle(person, name, state);
    // Otherwise the code would be gone, and nothing decided.
    if (settled === null) return null;
    await this.#changeRequests((latest) => latest.filter((each) => each.person !== person));
    return settled;
  }

  /** A person who was allowed may be sent away, and one who was sent away may come back. */
  async changePerson(person: string, state: "allowed" | "denied"): Promise<PairedPerson | null> {
    const known = await this.#read(person);
    return known === null ? null : this.#settle(person, known.name, state);
  }

  async #settle(
    person: string,
    name: string,
    state: AccessDecision["state"],
  ): Promise<PairedPerson | null> {
    const row = await this.#register.read(this.#owner, this.#prefix + person);
    const expect = row?.revision ?? 0;
    const decided = { state, name, at: await this.#now() } satisfies AccessDecision;
    const value = JSON.stringify(decided);
    const change = { owner: this.#owner, key: this.#prefix + person, expect, value };
    return (await this.#register.put(change)).status === "put" ? { person, ...decided } : null;
  }

  async #read(person: string): Promise<AccessDecision | null> {
    const row = await this.#register.read(this.#owner, this.#prefix + person);
    return row && decodeRow(decisionRow, row.value);
  }

  async #readRequests(): Promise<{ requests: readonly StoredRequest[]; revision: number }> {
    const row = await this.#register.read(this.#owner, this.#requestKey);
    const now = await this.#now();
    const all = (row && decodeRow(pairingRequestRows, row.value)) ?? [];
    const requests = all.filter(({ at }) => now - at < codeTtlMs);
    return { requests, revision: row?.revision ?? 0 };
  }

  /** Applied to those whose code is good at the moment of writing; `null` leaves them. */
  async #changeRequests(
    apply: (requests: readonly StoredRequest[]) => readonly StoredRequest[] | null,
  ): Promise<boolean> {
    for (let tries = 0; tries < maxTries; tries += 1) {
      const { requests, revision: expect } = await this.#readRequests();
      const changed = apply(requests);
      if (changed === null) return false;
      const change = { owner: this.#owner, key: this.#requestKey, expect };
      const result = await this.#register.put({ ...change, value: JSON.stringify(changed) });
      if (result.status !== "moved") return result.status === "put";
    }
    return false;
  }
}

function decodeRow<T>(schema: z.ZodType<T>, value: string): T | null {
  try {
    return schema.parse(JSON.parse(value));
  } catch {
    return null;
  }
}

export function mayUseCommand({ commands }: AccessRights, name: string): boolean {
  return commands === "all" || commands.includes(name);
}

/**
 * What a text is from somebody with these rights. A command that they may not use is no command: what a program passes on may be
 * anybody's words, and they reach the model just as they are.
 */
export function parseAllowedInput(rights: AccessRights, text: string): ParsedInput {
  if (text.trim() !== "" && rights.commands.length === 0) return { kind: "message", text };
  const typed = parseInput(text);
  const name = commandNameOf(typed);
  return name === null || mayUseCommand(rights, name) ? typed : { kind: "message", text };
}

function commandNameOf(typed: ParsedInput): string | null {
  switch (typed.kind) {
    case "nothing":
    case "message":
      return null;
    case "command":
      return typed.invocation.name;
    case "unknown":
    case "misused":
      return typed.name.toLowerCase();
  }
}
