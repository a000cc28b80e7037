import { StoreFailure } from "@holdfast/engine";
import { maxProjectCharacters, newEvent, type SessionId } from "@holdfast/protocol";

import { openProjectFiles } from "../../agent/instructions/project-files.ts";
import { openProjectStore } from "../../agent/instructions/project-store.ts";
import { isTimeZone } from "../../automation/schedules/occurrences.ts";
import { cronProblem } from "../../automation/schedules/recurrences.ts";
import { ScheduleStore } from "../../automation/schedules/schedule-store.ts";
import { mcpServer, mcpServerName } from "../config/mcp-servers.ts";
import type { Answer, KeptBytes, TakerContext } from "./taker.ts";
import { importedKey } from "./secret-names.ts";
import type {
  ImportedFact,
  ImportedMcpServer,
  ImportedPersona,
  ImportedProject,
  ImportedSchedule,
  ImportedSecret,
} from "./source.ts";

const maxTextLength = 4_000;
const maxTitleLength = 100;
const maxFactLength = 2_000;
const maxNames = 100;

/** Takes what is not a conversation. What runs by itself arrives switched off. */
export class SettingsTaker {
  readonly #context: TakerContext;
  readonly #projects: ReturnType<typeof openProjectStore>;
  readonly #projectNames = new Map<string, string>();
  readonly #personas = new Map<string, string>();

  constructor(context: TakerContext) {
    this.#context = context;
    this.#projects = openProjectStore(context.deps.log.store.register);
  }

  /** The name that a project has here. */
  projectName(name: string): string {
    return this.#projectNames.get(name) ?? name;
  }

  async project(item: ImportedProject): Promise<Answer> {
    const { owner } = this.#context.deps;
    const id = this.#registerId("project", item.key);
    const known = await this.#projects.find(owner, id);
    const wasTaken = await this.#wasTaken("project", item.key);
    if (known !== null) {
      this.#projectNames.set(item.name, known.name);
      // Without the mark, an import was stopped before it had all its files.
      if (wasTaken || this.#context.deps.mode === "dry") return { outcome: "known" };
      return this.#giveFiles(item, id);
    }
    if (wasTaken) return { outcome: "skipped", reason: "deleted_here" };
    const named = (await this.#projects.list(owner)).find(
      ({ name }) => name.toLowerCase() === item.name.trim().toLowerCase(),
    );
    if (named !== undefined) {
      this.#projectNames.set(item.name, named.name);
      return { outcome: "merged", reason: "name_taken" };
    }
    if (this.#context.deps.mode === "dry") return { outcome: "taken" };
    const persona = item.persona === null ? null : (this.#personas.get(item.persona) ?? null);
    const { name, text } = item;
    const added = await this.#projects.add(owner, {
      id,
      name: name.slice(0, maxTitleLength),
      text: text.slice(0, maxProjectCharacters).toWellFormed(),
      persona,
    });
    if (added === "name_taken" || added === "too_many")
      return { outcome: "skipped", reason: added };
    this.#projectNames.set(item.name, added.name);
    return this.#giveFiles(item, id);
  }

  async #giveFiles(item: ImportedProject, id: string): Promise<Answer> {
    const left = await this.#leftOut(item, id);
    await this.#markTaken("project", item.key);
    return { outcome: "taken", ...left };
  }

  /** Gives the project its texts. What it can't have is kept, and named. */
  async #leftOut({ name, text, files = [] }: ImportedProject, project: string) {
    const { log, owner } = this.#context.deps;
    const store = openProjectFiles(log.store);
    const remarks: NonNullable<Answer["remarks"]> = [];
    const leave = async (what: string, content: string): Promise<void> => {
      const about = { code: "not_supported", outcome: "skipped", path: name } as const;
      remarks.push({ ...about, text: what, ...(await this.#keepText(content)) });
    };
    if (text.length > maxProjectCharacters)
      await leave(`Only the beginning of its instructions was imported.`, text);
    for (const [index, { name: file, text: content }] of files.entries()) {
      const put = await log.store.putBlob(owner, Buffer.from(content), "text/plain");
      if (put.status === "failed") throw new StoreFailure(put.code, put.message);
      const now = (await log.store.now()) + index;
      const about = { name: file, blobId: put.id, replace: "nothing", now } as const;
      const added = await store.add(owner, project, about);
      if (typeof added === "string") await leave(`${file} was not imported (${added}).`, content);
    }
    return remarks.length === 0 ? {} : { remarks };
  }

  async persona(item: ImportedPersona): Promise<Answer> {
    const { personas } = this.#context.deps;
    const id = this.#registerId("persona", item.key);
    const all = await personas.list();
    const known = all.find((persona) => persona.id === id);
    const same = known ?? all.find(({ text }) => text === item.text);
    if (same !== undefined) {
      this.#personas.set(item.key, same.id);
      return { outcome: "known" };
    }
    if (await this.#wasTaken("persona", item.key))
      return { outcome: "skipped", reason: "deleted_here" };
    if (this.#context.deps.mode === "dry") return { outcome: "taken" };
    for (let number = 1; number <= maxNames; number += 1) {
      const name = number === 1 ? item.name : `${item.name} ${number}`;
      const added = await personas.add({ id, name: name.slice(0, 60), text: item.text });
      if (added === "too_many") return { outcome: "skipped", reason: added };
      if (added === "name_taken") continue;
      this.#personas.set(item.key, added.id);
      await this.#markTaken("persona", item.key);
      return { outcome: "taken" };
    }
    return { outcome: "skipped", reason: "name_taken", ...(await this.#keepText(item.text)) };
  }

  #keepText(text: string): Promise<KeptBytes> {
    return this.#context.keep(Buffer.from(text));
  }

  async fact(item: ImportedFact): Promise<Answer> {
    const { facts, owner } = this.#context.deps;
    const text = item.text.toWellFormed();
    if (text.length > maxFactLength)
      return { outcome: "skipped", reason: "too_long", ...(await this.#keepText(item.text)) };
    const before = await facts.list(owner);
    if (before.some((fact) => fact.text === text)) return { outcome: "known" };
    if (await this.#wasTaken("fact", text)) return { outcome: "skipped", reason: "deleted_here" };
    if (this.#context.deps.mode === "dry") return { outcome: "taken" };
    const source = { kind: "file", file: `${this.#context.deps.source} ${item.path}` } as const;
    const { use, about, at } = item;
    await facts.add(owner, [{ text, source, use, about, at }]);
    await this.#markTaken("fact", text);
    return { outcome: "taken" };
  }

  async schedule(item: ImportedSchedule): Promise<Answer> {
    const { log, owner } = this.#context.deps;
    const { store } = log;
    const keep = () => this.#keepText(item.original);
    if (!isTimeZone(item.timeZone))
      return { outcome: "skipped", reason: "time_zone", ...(await keep()) };
    const wrong =
      "cron" in item.times ? cronProblem(item.times.cron, item.timeZone, await store.now()) : null;
    const isOutside =
      "everyMinutes" in item.times &&
      (item.times.everyMinutes < 5 || item.times.everyMinutes > 31 * 24 * 60);
    const isNoDate =
      "date" in item.times &&
      !(/^\d{4}-\d\d-\d\d$/.test(item.times.date) && /^\d\d:\d\d$/.test(item.times.at));
    if (wrong !== null || isOutside || isNoDate)
      return { outcome: "skipped", reason: wrong ?? "times", ...(await keep()) };
    if (item.prompt.length > maxTextLength)
      return { outcome: "skipped", reason: "too_long", ...(await keep()) };
    const id = this.#context.derive("schedule", item.key);
    const schedules = new ScheduleStore(store.register, () => store.now());
    if ((await schedules.find(owner, id)) !== null) return { outcome: "known" };
    if (await this.#wasTaken("schedule", item.key))
      return { outcome: "skipped", reason: "deleted_here" };
    if (this.#context.deps.mode === "dry") return { outcome: "taken", reason: "off" };
    const session = await this.#sessionForSchedule(item);
    const created = await schedules.create(owner, id, {
      title: item.title.trim().slice(0, maxTitleLength) || "A job",
      prompt: item.prompt,
      times: item.times,
      timeZone: item.timeZone,
      target: { sessionId: session },
      missed: "skip",
      state: "off",
    });
    if (created.status === "failed") throw new StoreFailure(created.code, created.message);
    if (created.status !== "kept")
      return { outcome: "skipped", reason: created.status, ...(await keep()) };
    await this.#markTaken("schedule", item.key);
    return { outcome: "taken", reason: "off", session };
  }

  /** What was taken and isn't there any more was removed here. */
  async #wasTaken(kind: string, key: string): Promise<boolean> {
    const { log, owner } = this.#context.deps;
    return (await log.store.register.read(owner, this.#markOf(kind, key))) !== null;
  }

  async #markTaken(kind: string, key: string): Promise<void> {
    const { log, owner } = this.#context.deps;
    const change = { owner, key: this.#markOf(kind, key), value: "true", expect: 0 };
    const put = await log.store.register.put(change);
    if (put.status === "failed") throw new StoreFailure(put.code, put.message);
  }

  #markOf(kind: string, key: string): string {
    return `imported/${this.#context.deps.source}/${kind}/${this.#registerId(kind, key)}`;
  }

  /** Where its runs went on there, or a session of its own. */
  async #sessionForSchedule(item: ImportedSchedule): Promise<SessionId> {
    const known = item.session === null ? undefined : this.#context.sessionOf(item.session);
    if (known !== undefined) return known;
    const { log, owner } = this.#context.deps;
    const session = this.#context.derive("session", item.key, "schedule");
    const id = this.#context.derive("event", item.key, "schedule");
    const settings = { title: item.title.trim().slice(0, maxTitleLength) || "A job" };
    const events = [newEvent(id, "session.created", settings)];
    const result = await log.commit({ owner, session, events, touch: "quiet" });
    if (result.status === "failed") throw new StoreFailure(result.code, result.message);
    return session;
  }

  async mcpServer(item: ImportedMcpServer): Promise<Answer> {
    const { addedServers } = this.#context.deps;
    const keep = () => this.#keepText(JSON.stringify(item.server));
    const name = item.name
      .replaceAll(/[^A-Za-z0-9]+/g, "-")
      .slice(0, 24)
      .replaceAll(/^-+|-+$/g, "");
    const server = mcpServer.safeParse(item.server).data;
    if (
      addedServers === undefined ||
      server === undefined ||
      !mcpServerName.safeParse(name).success
    )
      return { outcome: "skipped", reason: "not_supported", ...(await keep()) };
    if (addedServers.list().has(name)) return { outcome: "known" };
    if (await this.#wasTaken("mcp", item.key))
      return { outcome: "skipped", reason: "deleted_here" };
    if (this.#context.deps.mode === "dry") return { outcome: "taken", reason: "off" };
    const put = await addedServers.put(name, server, "off");
    if (put !== "kept") return { outcome: "skipped", reason: put, ...(await keep()) };
    await this.#markTaken("mcp", item.key);
    return { outcome: "taken", reason: "off" };
  }

  async secret(item: ImportedSecret): Promise<Answer> {
    const { secrets } = this.#context.deps;
    const { name, baseUrl } = importedKey(item.variable);
    const known = secrets.read(name);
    if (known !== null)
      return known.key === item.value
        ? { outcome: "known" }
        : { outcome: "skipped", reason: "name_taken" };
    if (this.#context.deps.mode === "write") await secrets.put(name, { key: item.value, baseUrl });
    return { outcome: "taken", reason: name };
  }

  #registerId(kind: string, key: string): string {
    const id = this.#context.derive("segment", kind, key);
    return id.slice(id.indexOf("_") + 1);
  }
}
