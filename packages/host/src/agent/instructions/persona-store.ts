import { type Register, StoreFailure } from "@holdfast/engine";
import { builtInPersona, ownerId } from "@holdfast/protocol";
import { z } from "zod";

import { serialQueue } from "../../util/serial-queue.ts";
import { builtInPersonaText } from "../guidance.ts";
import { openPersonaFile, type PersonaFileState } from "./persona-file.ts";
import { type EarlierText, openTextRows, tidyName, tidyText } from "./text-rows.ts";

const storedPersona = z.looseObject({
  name: z.string(),
  text: z.string(),
  model: z.string().nullable(),
});
type StoredPersona = z.infer<typeof storedPersona>;

export interface Persona extends StoredPersona {
  readonly id: string;
  readonly isDefault: boolean;
  /** `persona.md` is too long for a row. */
  readonly isFileOnly: boolean;
  readonly changedAt: number | null;
  readonly version: number;
  readonly versions: readonly EarlierText[];
}

export interface NewPersona {
  readonly id: string;
  readonly name: string;
  readonly text: string;
  readonly model?: string | undefined;
}

export interface PersonaChange {
  readonly name?: string | undefined;
  readonly text?: string | undefined;
  readonly model?: string | null | undefined;
}

interface PersonaRef {
  readonly id: string;
  readonly version?: number | undefined;
}

/**
 * Who the agent is. Personas belong to the host, whoever's session has one. The text of the built-in one is also in
 * `persona.md`: what was edited there since the host last read or wrote it wins, and otherwise the row does.
 */
export interface PersonaStore {
  /** The built-in one first, the others by name. */
  list(): Promise<readonly Persona[]>;
  /** The one with this id, or the default one if there is none. */
  resolve(id: string | null): Promise<Persona>;
  add(persona: NewPersona): Promise<Persona | "name_taken" | "too_many">;
  change(
    ref: PersonaRef,
    change: PersonaChange,
  ): Promise<Persona | "not_found" | "changed" | "name_taken" | "in_file">;
  remove(ref: PersonaRef): Promise<"removed" | "not_found" | "changed" | "built_in">;
  setDefault(id: string): Promise<"set" | "not_found">;
}

export interface PersonaStoreDeps {
  readonly register: Register;
  /** Without it there is no file. */
  readonly home?: string | undefined;
}

const owner = ownerId.parse("owner");
const builtIn: StoredPersona = {
  name: "Default",
  text: builtInPersonaText,
  model: null,
};
const maxPersonas = 100;
const defaultKey = "default-persona";
const defaultChoice = z.looseObject({ id: z.string() });

export function openPersonaStore({ register, home }: PersonaStoreDeps): PersonaStore {
  const rows = openTextRows(register, "persona/", storedPersona);
  const file = home === undefined ? null : openPersonaFile(home);
  /** One after the other, so that file and row are compared while neither changes here. */
  const inOrder = serialQueue();

  /** Takes over what was edited by hand, then brings the file up to date. */
  async function syncFile(): Promise<PersonaFileState> {
    if (file === null) return { kind: "missing" };
    for (;;) {
      const state = await file.read();
      if (state.kind === "long") return state;
      const row = await rows.read(owner, builtInPersona);
      if (state.kind === "edited" && row?.value.text !== state.text) {
        const value = { ...(row?.value ?? builtIn), text: state.text };
        const ref = { id: builtInPersona, expect: row?.version ?? 0 };
        // Another process was faster.
        if ((await rows.put(owner, ref, value)) === "changed") continue;
      } else if (row !== null && (state.kind === "missing" || row.value.text !== state.text)) {
        await file.write(row.value.text);
      }
      const text = state.kind === "edited" ? state.text : row?.value.text;
      if (text !== undefined) await file.settle(text);
      return state;
    }
  }

  async function readAll(): Promise<readonly Persona[]> {
    const state = await syncFile();
    const found = await rows.list(owner);
    const own = found.find(({ id }) => id === builtInPersona);
    const choice = await readChoice();
    const chosen = found.some(({ id }) => id === choice) ? choice : builtInPersona;
    const first: Persona = {
      ...(own?.value ?? builtIn),
      ...(state.kind === "long" && { text: state.text }),
      id: builtInPersona,
      isDefault: chosen === builtInPersona,
      isFileOnly: state.kind === "long",
      changedAt: own?.changedAt ?? null,
      version: own?.version ?? 0,
      versions: own?.versions ?? [],
    };
    const others = found
      .filter(({ id }) => id !== builtInPersona)
      .map(({ value, ...row }): Persona => ({
        ...value,
        ...row,
        isDefault: row.id === chosen,
        isFileOnly: false,
      }));
    return [first, ...others.toSorted((a, b) => a.name.localeCompare(b.name))];
  }

  async function readChoice(): Promise<string> {
    const row = await register.read(owner, defaultKey);
    return row === null ? builtInPersona : defaultChoice.parse(JSON.parse(row.value)).id;
  }

  async function find(id: string): Promise<Persona | undefined> {
    return (await readAll()).find((persona) => persona.id === id);
  }

  async function isTaken(name: string, id: string): Promise<boolean> {
    const same = ({ name: other }: Persona): boolean => other.toLowerCase() === name.toLowerCase();
    return (await readAll()).some((persona) => persona.id !== id && same(persona));
  }

  return {
    list: () => inOrder(readAll),
    resolve: (id) =>
      inOrder(async () => {
        const all = await readAll();
        const chosen = all.find((persona) => persona.id === id);
        const persona = chosen ?? all.find(({ isDefault }) => isDefault) ?? all[0];
        if (persona === undefined) throw new Error("There is always a built-in persona.");
        return persona;
      }),
    add: ({ id, name: given, text, model = null }) =>
      inOrder(async () => {
        const name = tidyName(given);
        const known = await find(id);
        // The same request again.
        if (known !== undefined) return known;
        if (await isTaken(name, id)) return "name_taken";
        if ((await readAll()).length >= maxPersonas) return "too_many";
        await rows.put(owner, { id, expect: 0 }, { name, text: tidyText(text), model });
        return (await find(id)) ?? "too_many";
      }),
    change: ({ id, version }, { name, text, model }) =>
      inOrder(async () => {
        const known = await find(id);
        if (known === undefined) return "not_found";
        const next: StoredPersona = {
          name: name === undefined ? known.name : tidyName(name),
          text: text === undefined ? known.text : tidyText(text),
          model: model === undefined ? known.model : model,
        };
        // Nothing to change, or a repeated request.
        if (next.name === known.name && next.text === known.text && next.model === known.model)
          return known;
        if (known.isFileOnly) return "in_file";
        if (known.version !== version) return "changed";
        if (await isTaken(next.name, id)) return "name_taken";
        const put = await rows.put(owner, { id, expect: version }, next);
        return put === "changed" ? put : ((await find(id)) ?? "not_found");
      }),
    remove: ({ id, version }) =>
      inOrder(async () => {
        if (id === builtInPersona) return "built_in";
        const known = await find(id);
        if (known === undefined) return "not_found";
        if (version !== undefined && known.version !== version) return "changed";
        return rows.remove(owner, { id, expect: known.version });
      }),
    setDefault: (id) =>
      inOrder(async () => {
        for (;;) {
          if ((await find(id)) === undefined) return "not_found";
          const row = await register.read(owner, defaultKey);
          const value = JSON.stringify({ id });
          const change = { owner, key: defaultKey, value, expect: row?.revision ?? 0 };
          const put = await register.put(change);
          if (put.status === "failed") throw new StoreFailure(put.code, put.message);
          if (put.status === "put") return "set";
        }
      }),
  };
}
