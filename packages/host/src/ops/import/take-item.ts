import { StoreFailure } from "@holdfast/engine";
import { newEvent, type SessionId } from "@holdfast/protocol";

import { openKeptBlobs } from "../../agent/instructions/kept-blobs.ts";
import { chatAddressing } from "../../gateway/lanes.ts";
import { type DeriveId, deriveIdsFor } from "./derive-id.ts";
import { shownEntries } from "./entry-tree.ts";
import { isVisible } from "./proof.ts";
import type { ProvenText, ReportItem } from "./report.ts";
import type { ImportedSession, Proof, Remark, TakenItem } from "./source.ts";
import { SettingsTaker } from "./take-settings.ts";
import { takeSkill } from "./take-skill.ts";
import type { KeptBytes, TakerContext, TakerDeps } from "./taker.ts";
import { type TakenOrigin, writeSession, type WrittenSession } from "./write-session.ts";

const blobHolder = "import";

/**
 * Writes what a source yields, each under an id derived from its name there. Taking something again changes nothing, and
 * what a person has deleted here isn't brought back.
 */
export class ItemTaker {
  readonly #deps: TakerDeps;
  readonly #derive: DeriveId;
  readonly #context: TakerContext;
  readonly #settings: SettingsTaker;
  readonly #origins = new Map<string, TakenOrigin & { readonly proofs: readonly Shown[] }>();
  readonly #sessions = new Map<string, SessionId>();
  readonly #seen = new Set<string>();

  constructor(deps: TakerDeps) {
    this.#deps = deps;
    this.#derive = deriveIdsFor(deps.source, deps.owner);
    this.#context = {
      deps,
      derive: this.#derive,
      keep: (bytes) => this.#keep(bytes),
      sessionOf: (key) => this.#sessions.get(key),
    };
    this.#settings = new SettingsTaker(this.#context);
  }

  async take(item: TakenItem): Promise<ReportItem> {
    switch (item.kind) {
      case "session":
        return this.#session(item);
      case "project":
        return { item: "project", name: item.name, ...(await this.#settings.project(item)) };
      case "persona":
        return {
          item: "persona",
          name: item.name,
          path: item.path,
          ...(await this.#settings.persona(item)),
        };
      case "fact":
        return {
          item: "fact",
          name: item.text.slice(0, 200),
          path: item.path,
          ...(await this.#settings.fact(item)),
        };
      case "skill":
        return {
          item: "skill",
          name: item.key,
          path: item.path,
          ...(await takeSkill(this.#context, item)),
        };
      case "schedule":
        return {
          item: "schedule",
          name: item.title,
          path: item.path,
          ...(await this.#settings.schedule(item)),
        };
      case "mcp_server":
        return {
          item: "mcp_server",
          name: item.name,
          path: item.path,
          ...(await this.#settings.mcpServer(item)),
        };
      case "secret":
        return {
          item: "secret",
          name: item.variable,
          path: item.path,
          ...(await this.#settings.secret(item)),
        };
      case "finding": {
        const { code, outcome, path, session, text } = item;
        return {
          item: "finding",
          name: text,
          outcome,
          code,
          path,
          ...(session !== undefined && { session }),
          ...(await this.#keep(item.bytes)),
        };
      }
    }
  }

  get #isDry(): boolean {
    return this.#deps.mode === "dry";
  }

  /** Keeps bytes that nobody could read, or that have no place here. */
  async #keep(bytes: Uint8Array | undefined): Promise<KeptBytes> {
    if (bytes === undefined || bytes.length === 0 || this.#isDry) return {};
    const { log, owner } = this.#deps;
    const put = await log.store.putBlob(owner, bytes, "application/octet-stream");
    if (put.status === "failed") throw new StoreFailure(put.code, put.message);
    await openKeptBlobs(log.store.register).keep(owner, put.id, blobHolder);
    return { blob: put.id };
  }

  async #remark({ bytes, ...remark }: Remark) {
    return { ...remark, ...(await this.#keep(bytes)) };
  }

  async #session(item: ImportedSession): Promise<ReportItem> {
    const { log, owner, source, mode } = this.#deps;
    const remarks = await Promise.all(item.remarks.map((each) => this.#remark(each)));
    const about: Pick<ReportItem, "item" | "name" | "ids" | "via"> = {
      item: "session",
      name: item.title ?? item.key,
      ids: [...item.ids],
      ...(item.via !== undefined && { via: item.via }),
    };
    if (this.#seen.has(item.key))
      return { ...about, outcome: "skipped", reason: "duplicate_id", remarks };
    this.#seen.add(item.key);
    const written = await writeSession(
      {
        log,
        owner,
        derive: this.#derive,
        source,
        mode,
        projectName: (name) => this.#settings.projectName(name),
        originOf: (key) => this.#originOf(key),
      },
      item,
    );
    this.#sessions.set(item.key, written.session);
    if (written.status === "skipped") {
      const { message: text } = written;
      if (text !== undefined)
        remarks.push({ code: "not_supported", outcome: "skipped", path: "", text });
      return {
        ...about,
        outcome: "skipped",
        reason: written.reason,
        session: written.session,
        remarks,
      };
    }
    if (!this.#isDry) remarks.push(...(await this.#bindChat(item, written.session)));
    const proven = this.#prove(item, written);
    return {
      ...about,
      session: written.session,
      outcome: outcomeOf(item, written),
      ...proven,
      remarks,
    };
  }

  #originOf(key: string): TakenOrigin | undefined {
    const origin = this.#origins.get(key);
    const session = this.#sessions.get(key);
    return origin ?? (session && { session, seqs: [] });
  }

  /** Compares each text with what the store has. */
  #prove(
    item: ImportedSession,
    written: Extract<WrittenSession, { status: "written" }>,
  ): Pick<ReportItem, "before" | "after" | "hidden" | "texts" | "differs"> {
    const own = shownOf(item, written);
    const origin = item.branchOf && this.#origins.get(item.branchOf.key);
    const upTo = origin?.seqs[item.branchOf?.upTo ?? -1] ?? -1;
    const shared = origin?.proofs.filter(({ seq, isHidden }) => !isHidden && seq <= upTo) ?? [];
    const all = [...shared, ...own.filter(({ isHidden }) => !isHidden)];
    const hidden = own.filter(({ isHidden }) => isHidden);
    if (item.hasBranches)
      this.#origins.set(item.key, { session: written.session, seqs: written.seqs, proofs: all });
    const before: Record<string, number> = {};
    const after: Record<string, number> = {};
    const texts: ProvenText[] = [];
    let differs = 0;
    for (const { proof, stored, isHidden } of [...all, ...hidden]) {
      if (!isHidden) before[proof.role] = (before[proof.role] ?? 0) + 1;
      if (!isHidden && stored !== null) after[proof.role] = (after[proof.role] ?? 0) + 1;
      if (!this.#isDry && stored !== proof.sha256) differs += 1;
      texts.push([proof.role, proof.sha256, stored, proof.where.join(" ")]);
    }
    return { before, after, hidden: hidden.length, texts, differs };
  }

  /** A chat goes on where its conversation is now, unless it goes on somewhere else here already. */
  async #bindChat({ chat, key }: ImportedSession, session: SessionId): Promise<Remark[]> {
    if (chat === undefined) return [];
    const about = { code: "chat", path: "sessions/sessions.json", session: key } as const;
    const place = `The chat ${chat.chat}${chat.thread === null ? "" : `, topic ${chat.thread}`}`;
    if (chat.bot === null)
      return [{ ...about, outcome: "note", text: `${place} belongs to an unknown bot.` }];
    const { log, owner } = this.#deps;
    let lane;
    try {
      const { chat: id, thread, chatKind: kind } = chat;
      lane = chatAddressing(chat.platform, chat.bot).laneOf({ chat: id, thread, kind });
    } catch {
      return [{ ...about, outcome: "damaged", text: `${place} has no usable name.` }];
    }
    const bound = await log.store.reads.lane(owner, lane);
    if (bound !== null && bound !== session)
      return [
        { ...about, outcome: "skipped", text: `${place} continues in another session here.` },
      ];
    const text = `${place} continues in this session once its bot is connected.`;
    if (bound === session) return [{ ...about, outcome: "note", text }];
    const id = this.#derive("event", key, "lane", lane);
    const events = [newEvent(id, "lane.bound", { lane })];
    const result = await log.commit({ owner, session, events, touch: "quiet" });
    if (result.status === "failed") throw new StoreFailure(result.code, result.message);
    if (result.status === "refused")
      return [{ ...about, outcome: "skipped", text: `${place} stays as it is: ${result.message}` }];
    return [{ ...about, outcome: "note", text }];
  }
}

interface Shown {
  readonly seq: number;
  readonly proof: Proof;
  readonly stored: string | null;
  readonly isHidden: boolean;
}

function shownOf(
  item: ImportedSession,
  { seqs, stored, ranges }: Extract<WrittenSession, { status: "written" }>,
): Shown[] {
  const { entries } = item;
  const shown: Shown[] = [];
  const undone = new Set<number>();
  const inView = shownEntries(item);
  for (const [index, entry] of entries.entries()) {
    if (entry.type === "undo") for (let at = entry.from; at < index; at += 1) undone.add(at);
    if (inView?.has(index) === false) undone.add(index);
  }
  for (const [index, entry] of entries.entries()) {
    if (entry.type !== "message" && entry.type !== "notice") continue;
    if (entry.proof.role === "added") continue;
    const seq = seqs[index];
    const text = seq === undefined ? undefined : stored?.texts.get(seq);
    const isHidden = undone.has(index);
    // Somebody who went on here may have undone it, or chosen another version.
    const isElsewhere = stored?.isChangedHere === true;
    const isThere =
      text !== undefined &&
      (isHidden || isElsewhere || (seq !== undefined && isVisible(ranges, seq)));
    const isSameRole = text?.role === entry.proof.role;
    shown.push({
      seq: seq ?? -1,
      proof: entry.proof,
      stored: isThere && isSameRole ? text.sha256 : null,
      isHidden,
    });
  }
  return shown;
}

function outcomeOf(
  item: ImportedSession,
  { isNew, written }: Extract<WrittenSession, { status: "written" }>,
): string {
  if (isNew) return item.outcome;
  return written === 0 ? "known" : "extended";
}
