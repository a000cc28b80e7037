import { join } from "node:path";
import { z } from "zod";

import { list, parseJson, parseTornJson, text } from "../reading/json.ts";
import type { Report, SourceFolder } from "../reading/folder.ts";
import { readRunJournal, readTurnJournal, type RunJournal, type SubmittedTurn } from "./journal.ts";
import { type Message, readPageMessage } from "./message.ts";
import { readSidecar, type Sidecar } from "./sidecar.ts";

const startBytes = 64 * 1024;

export interface PageProject {
  readonly id: string;
  readonly name: string;
}

/** What of the page's files belongs to one session id. */
export interface PageFiles {
  readonly sidecar: boolean;
  readonly bak: boolean;
  readonly tmp: readonly string[];
  readonly journal: boolean;
}

const sidecarName = /^([\w.-]+?)\.(json|json\.bak|tmp\.[\w.]+)$/;

/** The page's folder of a home. */
export class PageFolder {
  readonly #folder: SourceFolder;
  readonly #root: string;
  readonly #report: Report;
  readonly files = new Map<string, PageFiles>();
  readonly #turnFiles = new Map<string, string[]>();
  /** Ids that a person deleted. */
  readonly deleted = new Set<string>();
  readonly indexed = new Set<string>();
  projects: readonly PageProject[] = [];

  /** `root`: where the page keeps its state, below the folder. */
  constructor(folder: SourceFolder, root: string, report: Report) {
    this.#folder = folder;
    this.#root = root;
    this.#report = report;
  }

  path(...parts: readonly string[]): string {
    return join(this.#root, ...parts);
  }

  async scan(): Promise<void> {
    for (const name of await this.#folder.names(this.path("sessions"))) {
      if (name.startsWith("_")) continue;
      const [, id = "", ending = ""] = sidecarName.exec(name) ?? [];
      if (id === "") continue;
      const known = this.#known(id);
      if (ending === "json") this.files.set(id, { ...known, sidecar: true });
      else if (ending === "json.bak") this.files.set(id, { ...known, bak: true });
      else this.files.set(id, { ...known, tmp: [...known.tmp, name] });
    }
    for (const id of await this.#folder.names(this.path("sessions", "_run_journal")))
      this.files.set(id, { ...this.#known(id), journal: true });
    for (const name of await this.#folder.names(this.path("sessions", "_turn_journal"))) {
      const id = /^(.+?)(?:~[^~]*)?\.jsonl$/.exec(name)?.[1];
      if (id === undefined) continue;
      this.files.set(id, this.#known(id));
      this.#turnFiles.set(id, [...(this.#turnFiles.get(id) ?? []), name]);
    }
    await this.#readLists();
  }

  #known(id: string): PageFiles {
    return this.files.get(id) ?? { sidecar: false, bak: false, tmp: [], journal: false };
  }

  async #readLists(): Promise<void> {
    const deleted = z.object({ ids: z.array(z.string()) });
    const tombs = await this.#readList("sessions", "_deleted_webui_sessions.json");
    const ids = deleted.safeParse(tombs).data?.ids ?? z.array(z.string()).safeParse(tombs).data;
    for (const id of ids ?? []) this.deleted.add(id);
    const row = z.object({ session_id: z.string() });
    for (const each of list.parse(await this.#readList("sessions", "_index.json"))) {
      const read = row.safeParse(each).data;
      if (read !== undefined) this.indexed.add(read.session_id);
    }
    const project = z.object({ project_id: z.string(), name: z.string() });
    this.projects = list.parse(await this.#readList("projects.json")).flatMap((each) => {
      const read = project.safeParse(each).data;
      return read === undefined ? [] : [{ id: read.project_id, name: read.name }];
    });
  }

  async #readList(...parts: readonly string[]): Promise<unknown> {
    const path = this.path(...parts);
    const bytes = await this.#folder.read(path);
    if (bytes === null) return undefined;
    const { value, whole } = parseTornJson(bytes);
    if (!whole)
      this.#report({
        code: "torn_file",
        outcome: "damaged",
        path,
        text: "The JSON is incomplete; its intact part was read.",
        bytes,
      });
    return value;
  }

  /** What a sidecar says of itself, without its messages. */
  async readHead(id: string): Promise<Sidecar | null> {
    const path = this.path("sessions", `${id}.json`);
    const bytes = await this.#folder.readStart(path, startBytes);
    if (bytes === null) return null;
    const { value } = parseTornJson(bytes);
    return readSidecar(value, { id, path, whole: false, where: "sidecar" });
  }

  /**
   * The newest whole sidecar of a session: a save that never got its name counts if it is newer. Of one that is cut off,
   * what is whole.
   */
  async readSidecar(id: string): Promise<Sidecar | null> {
    const path = this.path("sessions", `${id}.json`);
    const found = await this.#readOne(id, path, "sidecar");
    let newest = found;
    for (const name of this.#known(id).tmp) {
      const other = this.path("sessions", name);
      const tmp = await this.#readOne(id, other, "sidecar");
      this.#report({
        code: "leftover",
        outcome: "note",
        path: other,
        session: id,
        text: "The page never finished this save. It is used if it is intact and newer.",
      });
      if (tmp?.whole && (tmp.updatedAt ?? 0) >= (newest?.updatedAt ?? 0)) newest = tmp;
    }
    // The turn that the older one had in flight was never settled there.
    return newest === found || newest === null || found === null
      ? newest
      : { ...newest, path: found.path, pending: newest.pending ?? found.pending };
  }

  /** Before its last save with fewer messages: only for a sidecar that is damaged. */
  async readBackup(id: string): Promise<Sidecar | null> {
    if (!this.#known(id).bak) return null;
    return this.#readOne(id, this.path("sessions", `${id}.json.bak`), "bak");
  }

  async #readOne(id: string, path: string, where: string): Promise<Sidecar | null> {
    const bytes = await this.#folder.read(path);
    if (bytes === null) return null;
    const { value, whole } = parseTornJson(bytes);
    const sidecar = readSidecar(value, { id, path, whole, where });
    if (!whole || sidecar === null)
      this.#report({
        code: "torn_sidecar",
        outcome: "damaged",
        path,
        session: id,
        text: bytes.length === 0 ? "The file is empty." : "The JSON is incomplete.",
        bytes,
      });
    else if (sidecar.unreadable > 0)
      this.#report({
        code: "unknown_row",
        outcome: "damaged",
        path,
        session: id,
        text: `${sidecar.unreadable} of its messages can't be read; the others were read.`,
        bytes,
      });
    return sidecar;
  }

  async readRuns(id: string): Promise<readonly RunJournal[]> {
    if (!this.#known(id).journal) return [];
    const runs: RunJournal[] = [];
    const folder = this.path("sessions", "_run_journal", id);
    for (const name of await this.#folder.names(folder)) {
      if (!name.endsWith(".jsonl")) continue;
      const path = join(folder, name);
      const bytes = await this.#folder.read(path);
      if (bytes === null) continue;
      const stream = name.slice(0, -".jsonl".length);
      runs.push(
        readRunJournal(bytes, { stream, session: id, path }, ({ line, bytes: torn }) =>
          this.#report({
            code: "torn_journal_line",
            outcome: "damaged",
            path,
            session: id,
            text: `Line ${line} can't be read; the others were read.`,
            bytes: torn,
          }),
        ),
      );
    }
    return runs.toSorted((a, b) => (a.from ?? 0) - (b.from ?? 0));
  }

  async readTurns(id: string): Promise<readonly SubmittedTurn[]> {
    const turns: SubmittedTurn[] = [];
    for (const name of this.#turnFiles.get(id) ?? []) {
      const path = this.path("sessions", "_turn_journal", name);
      const bytes = await this.#folder.read(path);
      if (bytes === null) continue;
      turns.push(
        ...readTurnJournal(bytes, ({ line, bytes: torn }) =>
          this.#report({
            code: "torn_turn_journal_line",
            outcome: "damaged",
            path,
            session: id,
            text: `Line ${line} can't be read; the others were read.`,
            bytes: torn,
          }),
        ),
      );
    }
    return turns.toSorted((a, b) => (a.at ?? 0) - (b.at ?? 0));
  }

  /** An upload by its name. Nothing in a name leads to another folder. */
  async readAttachment(
    ids: readonly string[],
    name: string,
  ): Promise<{ readonly name: string; readonly bytes: Uint8Array } | null> {
    const base = name.split(/[/\\]/).at(-1) ?? "";
    if (base === "" || base === "." || base === "..") return null;
    for (const id of ids) {
      const bytes = await this.#folder.read(this.path("attachments", id, base), maxAttachmentBytes);
      if (bytes !== null) return { name: base, bytes };
    }
    return null;
  }
}

const maxAttachmentBytes = 64 * 1024 * 1024;

const transcript = z.object({ messages: list, session_id: text });

/** An old or opt-in transcript of the agent's. */
export function readTranscript(source: string): readonly Message[] | null {
  const read = transcript.safeParse(parseJson(source)).data;
  if (read === undefined) return null;
  return read.messages.flatMap((message) => readPageMessage(message, "core") ?? []);
}

/** Projects that the page makes by itself. */
export function isMadeByPage(name: string): boolean {
  return name === "Cron Jobs" || name === "Webhooks";
}
