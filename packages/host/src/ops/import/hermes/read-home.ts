import { join } from "node:path";
import type { ImportKind } from "@holdfast/protocol";

import type {
  ImportedChat,
  ImportedSession,
  ImportFinding,
  ImportItem,
  Remark,
} from "../source.ts";
import { assemble, type Assembled } from "./assemble.ts";
import { buildEntries, factsOf, type OriginMessage } from "./build-session.ts";
import { readChats } from "./chats.ts";
import { type Conversation, findConversations, isArchived, lastActivity } from "./conversations.ts";
import type { HermesDatabase } from "./database.ts";
import { type Report, SourceFolder } from "../reading/folder.ts";
import { reportDeleted, reportGhost, reportIndex, reportTables } from "./home-findings.ts";
import { openDatabase } from "./open-database.ts";
import { isMadeByPage, PageFolder, readTranscript } from "./page-files.ts";
import type { Sidecar } from "./sidecar.ts";
import { readSessions } from "./read-segment.ts";
import { readSkills } from "./skills.ts";
import {
  personaKey,
  type ProfilePlace,
  readEnvironment,
  readHermesConfig,
  readMcpServers,
  readMemory,
  readPersona,
  readSchedules,
  readSecrets,
  reportTheRest,
} from "./settings.ts";

export interface HermesOptions {
  readonly path: string;
  /** A folder of the host's for the copy of the database. */
  readonly scratch: string;
  readonly only: readonly ImportKind[];
  /** `default` is the home itself. */
  readonly profile?: string | undefined;
  readonly secrets: "taken" | "left";
  readonly now: number;
}

/** Everything in a hermes home that has a place here, and a finding for what has not. */
export async function* readHermesHome(options: HermesOptions): AsyncGenerator<ImportItem> {
  const findings: ImportFinding[] = [];
  const report: Report = (finding) => findings.push({ kind: "finding", ...finding });
  const folder = await SourceFolder.open(options.path, report);
  if (folder === null) throw new Error(`${options.path} can't be read.`);
  const profiles: (string | null)[] = [null, ...(await folder.names("profiles"))];
  const wanted = profiles.filter(
    (name) => options.profile === undefined || options.profile === (name ?? "default"),
  );
  for (const profile of wanted) {
    const reader = new ProfileReader(folder, profile, options, report);
    for await (const item of reader.items()) {
      yield item;
      yield* findings.splice(0);
    }
    yield* findings.splice(0);
  }
}

/** One profile: the home itself, or a folder in `profiles`, which is a whole home again. */
class ProfileReader {
  readonly #folder: SourceFolder;
  readonly #profile: string | null;
  readonly #options: HermesOptions;
  readonly #report: Report;
  readonly #origins = new Map<Conversation, readonly OriginMessage[]>();
  /** Findings about the conversation that is being read. */
  #remarks: Remark[] | null = null;

  constructor(
    folder: SourceFolder,
    profile: string | null,
    options: HermesOptions,
    report: Report,
  ) {
    this.#folder = folder;
    this.#profile = profile;
    this.#options = options;
    this.#report = (finding) => {
      const found = { ...finding, path: this.#path(finding.path) };
      if (this.#remarks === null) report(found);
      else this.#remarks.push(found);
    };
  }

  /** Findings name paths below the profile or below the home. */
  #path(path: string): string {
    if (this.#profile === null) return path;
    const root = `profiles/${this.#profile}/`;
    return path.startsWith(root) ? path : root + path;
  }

  #takes(kind: ImportKind): boolean {
    const { only } = this.#options;
    return only.length === 0 || only.includes(kind);
  }

  #place(): ProfilePlace {
    return {
      folder: this.#folder,
      profile: this.#profile,
      path: (name) => this.#path(name),
      report: this.#report,
      now: this.#options.now,
    };
  }

  async *items(): AsyncGenerator<ImportItem> {
    const place = this.#place();
    const page = await this.#openPage();
    const config = await readHermesConfig(place);
    let persona: string | null = null;
    if (this.#takes("personas"))
      for await (const item of readPersona(place)) {
        persona = personaKey(place);
        yield item;
      }
    if (this.#takes("projects")) yield* this.#projects(page, persona);
    const environment = await readEnvironment(place);
    const sessionOfJob = new Map<string, string>();
    if (this.#takes("sessions")) {
      const bot = /^(\d+):/.exec(environment.values.get("TELEGRAM_BOT_TOKEN") ?? "")?.[1] ?? null;
      for await (const item of this.#sessions(page, bot)) {
        if (item.kind === "session")
          for (const id of item.ids) {
            const job = /^cron_(.+)_\d{8}_\d{6}$/.exec(id)?.[1];
            if (job !== undefined) sessionOfJob.set(job, item.key);
          }
        yield item;
      }
    }
    if (this.#takes("memory")) yield* readMemory(place);
    if (this.#takes("skills")) yield* readSkills(place);
    if (this.#takes("schedules"))
      yield* readSchedules(place, config.timezone ?? "UTC", (job) => sessionOfJob.get(job) ?? null);
    if (this.#takes("mcp")) yield* readMcpServers(place, config, this.#options.secrets);
    if (this.#takes("secrets"))
      yield* readSecrets(place, environment, config, this.#options.secrets);
    if (this.#options.only.length === 0) await reportTheRest(place, config);
  }

  async #openPage(): Promise<PageFolder | null> {
    const page = new PageFolder(this.#folder, this.#path("webui"), this.#report);
    await page.scan();
    return page;
  }

  *#projects(page: PageFolder | null, persona: string | null): Generator<ImportItem> {
    if (this.#profile !== null)
      yield {
        kind: "project",
        key: `profile ${this.#profile}`,
        name: this.#profile,
        text: "",
        persona,
      };
    for (const { id, name } of page?.projects ?? []) {
      if (isMadeByPage(name)) {
        this.#report({
          code: "built_in",
          outcome: "skipped",
          path: this.#path("webui/projects.json"),
          text: `The project ${JSON.stringify(name)} was created by the page itself.`,
        });
        continue;
      }
      yield { kind: "project", key: `project ${id}`, name, text: "", persona: null };
    }
  }

  async *#sessions(page: PageFolder | null, bot: string | null): AsyncGenerator<ImportItem> {
    const { scratch } = this.#options;
    const copy = join(scratch, `${Buffer.from(this.#profile ?? "default").toString("hex")}.db`);
    const path = this.#path("state.db");
    const database = await openDatabase(this.#folder, path, copy, this.#report);
    try {
      yield* this.#conversations(database, page, bot);
    } finally {
      database?.close();
    }
  }

  async *#conversations(
    database: HermesDatabase | null,
    page: PageFolder | null,
    bot: string | null,
  ): AsyncGenerator<ImportItem> {
    const sessions = readSessions(database, this.#report);
    const counts = database?.counts() ?? new Map<string, number>();
    const transcripts = await this.#transcripts();
    const ids = new Set([
      ...sessions.map(({ id }) => id),
      ...(page?.files.keys() ?? []),
      ...transcripts.keys(),
    ]);
    const known = new Set(ids);
    for (const id of counts.keys())
      if (!ids.has(id)) {
        ids.add(id);
        this.#report({
          code: "lost_parent",
          outcome: "damaged",
          path: "state.db",
          session: id,
          text: "Its messages exist but its session does not. It was rebuilt from the messages.",
        });
      }
    const sidecars = await this.#readHeads(page);
    const conversations = findConversations({
      sessions,
      ids,
      sidecars,
      lastActivity: (id) => lastActivity(sessions, id),
      report: this.#report,
    });
    const chats = readChats(
      database,
      await this.#folder.readText(this.#path("sessions/sessions.json")),
      bot,
    );
    const conversationOf = new Map<string, Conversation>();
    for (const each of conversations) for (const id of each.segments) conversationOf.set(id, each);
    const branched = new Set(
      conversations.flatMap(({ edge }) =>
        edge?.kind === "branch" ? (conversationOf.get(edge.of) ?? []) : [],
      ),
    );
    yield { kind: "plan", sessions: conversations.length };
    reportIndex(page, known, sidecars, this.#report);
    for (const each of conversations) {
      const gone = each.segments.find((id) => page?.deleted.has(id));
      if (gone !== undefined) {
        const rows = each.segments.reduce((sum, id) => sum + (counts.get(id) ?? 0), 0);
        reportDeleted(gone, rows, this.#report);
        continue;
      }
      this.#remarks = [];
      const assembled = await assemble(each.segments, {
        database,
        page,
        transcript: (id) => this.#readTranscript(transcripts.get(id)),
        report: this.#report,
      });
      const session = await this.#build(each, assembled, {
        page,
        conversationOf,
        branched: branched.has(each),
        chats,
      });
      const remarks: readonly Remark[] = this.#remarks ?? [];
      this.#remarks = null;
      if (session === null) for (const remark of remarks) this.#report(remark);
      else yield { ...session, remarks };
    }
    for (const id of page?.deleted ?? [])
      if (!conversationOf.has(id)) reportDeleted(id, 0, this.#report);
    reportTables(database, this.#report);
  }

  async #build(
    conversation: Conversation,
    assembled: Assembled,
    around: {
      readonly page: PageFolder | null;
      readonly conversationOf: ReadonlyMap<string, Conversation>;
      readonly branched: boolean;
      readonly chats: ReadonlyMap<string, ImportedChat>;
    },
  ): Promise<Omit<ImportedSession, "remarks"> | null> {
    const { segments, rows, edge } = conversation;
    const { sidecar, lines, isMerged, isRecovered, isCleared, isDamaged } = assembled;
    const tip = segments.at(-1) ?? "";
    if (lines.length === 0 && !isCleared) {
      if (!isDamaged && (rows.length > 0 || sidecar !== null))
        reportGhost(conversation, sidecar, this.#report);
      return null;
    }
    const parent = edge === null ? undefined : around.conversationOf.get(edge.of);
    const origin =
      edge?.kind === "branch" && parent !== undefined ? (this.#origins.get(parent) ?? null) : null;
    const { page } = around;
    const built = await buildEntries(conversation, assembled, {
      page,
      report: this.#report,
      origin,
    });
    if (around.branched) this.#origins.set(conversation, built.visible);
    if (edge?.kind === "branch" && built.upTo === null)
      this.#remark(
        "merged_by_text",
        tip,
        "It begins otherwise than what it branched off: it has a copy of its own.",
      );
    const facts = factsOf(conversation, assembled);
    const project = this.#projectOf(sidecar, page);
    const folder = rows.findLast(({ cwd }) => cwd != null && cwd !== "")?.cwd ?? sidecar?.workspace;
    if (folder != null)
      this.#remark("folder", tip, `It worked in ${folder}. An import does not allow folders.`);
    const draft = sidecar?.draft ?? "";
    if (draft !== "") this.#remark("draft", tip, `A draft that was not sent: ${draft}`);
    const started = rows[0]?.started_at ?? null;
    const from = started === null ? (sidecar?.createdAt ?? built.from) : Math.round(started * 1000);
    const chat = segments.map((id) => around.chats.get(id)).find((each) => each !== undefined);
    return {
      kind: "session",
      key: this.#key(segments[0] ?? ""),
      ids: segments,
      via: rows.at(-1)?.source ?? (sidecar === null && rows.length > 0 ? undefined : "webui"),
      ...facts,
      // What was left behind when its conversation went on elsewhere is put away with it.
      archived:
        facts.archived ||
        rows.at(-1)?.hidden === true ||
        (edge?.kind === "stale" && isArchived(parent)),
      project,
      from: built.from === 0 ? from : Math.min(from, built.from),
      to: Math.max(built.to, from),
      ...(built.upTo !== null &&
        parent !== undefined && {
          branchOf: { key: this.#key(parent.segments[0] ?? ""), upTo: built.upTo },
        }),
      ...(edge?.kind === "child" &&
        parent !== undefined && { childOf: { key: this.#key(parent.segments[0] ?? "") } }),
      hasBranches: around.branched,
      ...(chat !== undefined && { chat }),
      entries: built.entries,
      outcome: isRecovered ? "recovered" : isMerged ? "merged" : "taken",
    };
  }

  #key(id: string): string {
    return this.#profile === null ? id : `${this.#profile}/${id}`;
  }

  #remark(code: Remark["code"], session: string, sentence: string): void {
    const outcome = code === "merged_by_text" ? "guess" : "note";
    this.#report({ code, outcome, path: "state.db", session, text: sentence });
  }

  #projectOf(sidecar: Sidecar | null, page: PageFolder | null): string | null {
    const named = page?.projects.find(({ id }) => id === sidecar?.projectId)?.name ?? null;
    if (named !== null && !isMadeByPage(named)) return named;
    return this.#profile;
  }

  /** What each sidecar says of itself: its beginning is enough. */
  async #readHeads(page: PageFolder | null): Promise<ReadonlyMap<string, Sidecar>> {
    const heads = new Map<string, Sidecar>();
    for (const [id, { sidecar }] of page?.files ?? []) {
      const head = sidecar ? await page?.readHead(id) : null;
      if (head != null) heads.set(id, { ...head, messages: [] });
    }
    return heads;
  }

  async #transcripts(): Promise<ReadonlyMap<string, string>> {
    const found = new Map<string, string>();
    for (const name of await this.#folder.names(this.#path("sessions"))) {
      const id = /^session_(.+)\.json$/.exec(name)?.[1];
      if (id !== undefined) found.set(id, this.#path(`sessions/${name}`));
    }
    return found;
  }

  async #readTranscript(path: string | undefined) {
    const source = path === undefined ? null : await this.#folder.readText(path);
    if (path === undefined || source === null) return null;
    const messages = readTranscript(source);
    if (messages !== null) return { path, messages };
    this.#report({
      code: "torn_file",
      outcome: "damaged",
      path,
      text: "The transcript can't be read.",
      bytes: Buffer.from(source),
    });
    return null;
  }
}
