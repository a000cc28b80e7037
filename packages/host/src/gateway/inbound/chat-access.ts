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
  /** Where they asked, and where the welcome goes. */
  chat: z.string().optional(),
});
/** All open requests in one row, pruned on every write. */
const pairingRequestRows = z.array(pairingRequest);
type StoredRequest = z.infer<typeof pairingRequest>;

type PairingRequest = GatewayView["requests"][number];
type PairedPerson = GatewayView["people"][number];

export type PairingOutcome = "allowed" | "silent" | { readonly code: string };

const codeTtlMs = 60 * 60_000;
/**
 * When full, a new request replaces the oldest one, but only after that had time to be shown to the owner. So a
 * flood of requests writes a bounded number of rows, and keeps nobody out for longer than `minWaitMs`.
 */
const maxRequests = 40;
const minWaitMs = 5 * 60_000;
const maxNameLength = 60;
const maxDecisions = 10_000;
const maxAttempts = 5;
// No letters or digits that look alike.
const codeAlphabet = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789";

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

/** What an allowed person may do. */
export interface AccessRights {
  /** Any other command is treated as plain text. */
  readonly commands: "all" | readonly string[];
  /** Which sessions they reach: those that their lane created, or all of the owner's. */
  readonly sessions: "own" | "all";
}

/**
 * Decides who may talk to a bot. An unknown person gets one message with a code for the owner to confirm, and
 * nothing else. Everything stored about unknown people is one row of bounded size; only the owner's decision
 * creates a row for a person.
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

  /** Paired people act on the owner's behalf. */
  rightsOf(): AccessRights {
    return { commands: "all", sessions: "all" };
  }

  /** Issues a code once; a new one only after the old one has expired. */
  async requestPairing(person: Person, chat?: string): Promise<PairingOutcome> {
    if (this.#listed.has(person.id)) return "allowed";
    const known = await this.#read(person.id);
    if (known !== null) return known.state === "allowed" ? "allowed" : "silent";
    const code = Array.from({ length: 8 }, () => codeAlphabet[randomInt(codeAlphabet.length)]).join(
      "",
    );
    const at = await this.#now();
    const name = person.name.slice(0, maxNameLength).toWellFormed();
    const request: StoredRequest = {
      person: person.id.slice(0, maxNameLength),
      name,
      code,
      at,
      ...(chat !== undefined && chat.length <= maxNameLength && { chat }),
    };
    const isStored = await this.#changeRequests((requests) => {
      if (requests.some((other) => other.person === request.person)) return null;
      const [oldest] = requests;
      if (oldest === undefined || requests.length < maxRequests) return [...requests, request];
      return at - oldest.at < minWaitMs ? null : [...requests.slice(1), request];
    });
    return isStored ? { code } : "silent";
  }

  /** Requests whose code is still valid, oldest first. */
  async requests(): Promise<readonly PairingRequest[]> {
    const { requests } = await this.#readRequests();
    return requests.map(({ person, name, code, at }) => ({ person, name, code, askedAt: at }));
  }

  async pairedPeople(): Promise<readonly PairedPerson[]> {
    const rows = await this.#register.list(this.#owner, this.#prefix, maxDecisions);
    return rows.flatMap(({ key, value }) => {
      const decision = decodeRow(decisionRow, value);
      const person = key.slice(this.#prefix.length);
      return decision === null ? [] : [{ person, ...decision }];
    });
  }

  /** The chat in which the code was issued. */
  async requestChatOf(code: string): Promise<string | null> {
    const { requests } = await this.#readRequests();
    return requests.find((request) => request.code === code.toUpperCase())?.chat ?? null;
  }

  /** Called only for the owner, with the code that the person showed them. */
  async decidePairing(code: string, state: "allowed" | "denied"): Promise<PairedPerson | null> {
    const { requests } = await this.#readRequests();
    const request = requests.find((open) => open.code === code.toUpperCase());
    if (request === undefined) return null;
    const { person, name } = request;
    const settled = await this.#settle(person, name, state);
    // Keep the code if the decision could not be stored.
    if (settled === null) return null;
    await this.#changeRequests((latest) => latest.filter((open) => open.person !== person));
    return settled;
  }

  /** Revokes or restores a person's access. */
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

  /** Applied to the requests that are valid at the moment of writing; `null` leaves them unchanged. */
  async #changeRequests(
    apply: (requests: readonly StoredRequest[]) => readonly StoredRequest[] | null,
  ): Promise<boolean> {
    for (let attempt = 0; attempt < maxAttempts; attempt += 1) {
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
 * Parses text under these rights. A command they may not use is plain text: a program may pass on anybody's words,
 * and those reach the model unchanged.
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
