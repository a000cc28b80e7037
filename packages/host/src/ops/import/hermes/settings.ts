import { z } from "zod";

import type { ImportItem, ImportedMcpServer } from "../source.ts";
import type { Report, SourceFolder } from "../reading/folder.ts";
import { list, parseJson, record, text } from "../reading/json.ts";

/** A profile's own part of a home: all but its conversations. */
export interface ProfilePlace {
  readonly folder: SourceFolder;
  /** `null`: the home itself. */
  readonly profile: string | null;
  /** Below the home. */
  readonly path: (name: string) => string;
  readonly report: Report;
  readonly now: number;
}

function keyIn({ profile }: ProfilePlace, name: string): string {
  return profile === null ? name : `${profile}/${name}`;
}

export function personaKey(place: ProfilePlace): string {
  return keyIn(place, "persona");
}

const maxPersonaText = 7_000;

export async function* readPersona(place: ProfilePlace): AsyncGenerator<ImportItem> {
  const path = place.path("SOUL.md");
  const found = await place.folder.readText(path);
  if (found === null) return;
  const said = found.replaceAll(/<!--[\s\S]*?-->/g, "").trim();
  // A template of comments alone is nobody's persona.
  if (said === "") return;
  if (found.trim().length > maxPersonaText) {
    place.report({
      code: "too_large",
      outcome: "skipped",
      path,
      text: `A persona can have at most ${maxPersonaText} characters; this one has ${found.length}. It was kept as a file.`,
      bytes: Buffer.from(found),
    });
    return;
  }
  const name = place.profile ?? "hermes";
  yield { kind: "persona", key: personaKey(place), name, text: found.trim(), path };
}

const separator = "\n§\n";

export async function* readMemory(place: ProfilePlace): AsyncGenerator<ImportItem> {
  // A millisecond apart: facts are listed by time, and entries have an order.
  let at = place.now;
  for (const [name, about] of [
    ["MEMORY.md", "rest"],
    ["USER.md", "person"],
  ] as const) {
    const path = place.path(`memories/${name}`);
    const found = await place.folder.readText(path);
    if (found === null) continue;
    for (const entry of found.replaceAll("\r\n", "\n").split(separator)) {
      const fact = entry.trim();
      if (fact === "") continue;
      const use = place.profile === null ? "always" : "when_it_fits";
      at += 1;
      yield {
        kind: "fact",
        key: keyIn(place, `${name} ${fact}`),
        text: fact,
        about,
        use,
        at,
        path,
      };
    }
  }
}

const job = z.object({
  id: z.string(),
  name: text,
  prompt: text,
  script: text,
  no_agent: z.boolean().nullish().catch(null),
  schedule: z.union([
    z.object({ kind: z.literal("cron"), expr: z.string() }),
    z.object({ kind: z.literal("interval"), minutes: z.number() }),
    z.object({ kind: z.literal("once"), run_at: z.string() }),
  ]),
});

/** `sessionOf` finds the newest session of a job's runs. */
export async function* readSchedules(
  place: ProfilePlace,
  timeZone: string,
  sessionOf: (job: string) => string | null,
): AsyncGenerator<ImportItem> {
  const path = place.path("cron/jobs.json");
  const source = await place.folder.readText(path);
  if (source === null) return;
  const read = z.object({ jobs: list }).safeParse(parseJson(source)).data;
  if (read === undefined) {
    place.report({
      code: "torn_file",
      outcome: "damaged",
      path,
      text: "The list of jobs can't be read.",
      bytes: Buffer.from(source),
    });
    return;
  }
  for (const each of read.jobs) {
    const original = JSON.stringify(each, null, 2);
    const parsed = job.safeParse(each).data;
    const title = parsed?.name ?? parsed?.id ?? "A job";
    const prompt = parsed?.prompt?.trim() ?? "";
    if (parsed === undefined || parsed.no_agent === true || prompt === "") {
      const reason =
        parsed === undefined
          ? "Its times or its prompt can't be read."
          : "It runs a script without an agent, which has no place here.";
      place.report({
        code: "not_supported",
        outcome: "skipped",
        path,
        text: `The job ${JSON.stringify(title)} isn't taken. ${reason}`,
        bytes: Buffer.from(original),
      });
      continue;
    }
    yield {
      kind: "schedule",
      key: keyIn(place, parsed.id),
      title,
      prompt,
      times: timesOf(parsed.schedule),
      timeZone,
      session: sessionOf(parsed.id),
      original,
      path,
    };
  }
}

function timesOf(schedule: z.infer<typeof job>["schedule"]) {
  switch (schedule.kind) {
    case "cron":
      return { cron: schedule.expr };
    case "interval":
      return { everyMinutes: Math.round(schedule.minutes) };
    case "once":
      // As clocks show it where the job was made: the offset is that of its zone.
      return { date: schedule.run_at.slice(0, 10), at: schedule.run_at.slice(11, 16) };
  }
}

const configSchema = z.object({
  timezone: text,
  mcp_servers: record,
  custom_providers: z.unknown().optional(),
  model: z.unknown().optional(),
  command_allowlist: z.unknown().optional(),
  approvals: z.unknown().optional(),
});
export type HermesConfig = z.infer<typeof configSchema>;

const maxConfigLength = 256 * 1024;

export async function readHermesConfig(place: ProfilePlace): Promise<HermesConfig> {
  const empty = configSchema.parse({});
  const path = place.path("config.yaml");
  const source = await place.folder.readText(path);
  if (source === null) return empty;
  const { parse } = await import("yaml");
  try {
    if (source.length > maxConfigLength) throw new Error("it is too long");
    return configSchema.parse(parse(source, { maxAliasCount: 50 }) ?? {});
  } catch (error) {
    const [reason = ""] = error instanceof Error ? error.message.split("\n") : [];
    // It may have keys, so no copy of it is kept.
    place.report({
      code: "torn_file",
      outcome: "damaged",
      path,
      text: `The settings can't be read: ${reason}`,
    });
    return empty;
  }
}

const mcpServer = z.union([
  z.object({
    command: z.string(),
    args: z.array(z.coerce.string()).catch([]),
    env: z.record(z.string(), z.coerce.string()).catch({}),
  }),
  z.object({ url: z.string(), headers: z.record(z.string(), z.coerce.string()).catch({}) }),
]);

/** Values of variables and headers may be secrets: without a yes, only their names are taken. */
export function* readMcpServers(
  place: ProfilePlace,
  config: HermesConfig,
  secrets: "taken" | "left",
): Generator<ImportItem> {
  const path = place.path("config.yaml");
  for (const [name, value] of Object.entries(config.mcp_servers)) {
    const server = mcpServer.safeParse(value).data;
    if (server === undefined) {
      place.report({
        code: "not_supported",
        outcome: "skipped",
        path,
        text: `The MCP server ${JSON.stringify(name)} names neither a program nor an address.`,
      });
      continue;
    }
    const left = secrets === "left" ? withoutValues(server) : { server, names: [] };
    if (left.names.length > 0)
      place.report({
        code: "secret",
        outcome: "skipped",
        path,
        text: `The MCP server ${JSON.stringify(name)} was imported without the values of ${left.names.join(", ")}, which may be secret.`,
      });
    yield { kind: "mcp_server", key: keyIn(place, name), name, server: left.server, path };
  }
}

function withoutValues(server: ImportedMcpServer["server"]): {
  readonly server: ImportedMcpServer["server"];
  readonly names: readonly string[];
} {
  if ("url" in server)
    return { server: { ...server, headers: {} }, names: Object.keys(server.headers) };
  return { server: { ...server, env: {} }, names: Object.keys(server.env) };
}

/** Names of variables whose values aren't secret. */
const plainVariables = /^(?:TELEGRAM_ALLOWED_USERS|TELEGRAM_HOME_CHANNEL.*)$/;

export interface EnvironmentFile {
  readonly values: ReadonlyMap<string, string>;
  readonly path: string;
}

export async function readEnvironment(place: ProfilePlace): Promise<EnvironmentFile> {
  const path = place.path(".env");
  const values = new Map<string, string>();
  for (const line of ((await place.folder.readText(path)) ?? "").split(/\r?\n/)) {
    const found = /^\s*(?:export\s+)?([A-Za-z_]\w*)\s*=\s*(.*?)\s*$/.exec(line);
    if (found === null) continue;
    const [, name = "", raw = ""] = found;
    const quoted = /^(["'])(.*)\1$/.exec(raw);
    values.set(name, quoted?.[2] ?? raw);
  }
  return { values, path };
}

/** Nothing of a value is in a report. */
export function* readSecrets(
  place: ProfilePlace,
  { values, path }: EnvironmentFile,
  config: HermesConfig,
  secrets: "taken" | "left",
): Generator<ImportItem> {
  for (const [variable, value] of values) {
    if (value === "") continue;
    if (plainVariables.test(variable)) {
      place.report({
        code: variable === "TELEGRAM_ALLOWED_USERS" ? "allow_list" : "setting",
        outcome: "skipped",
        path,
        text: `${variable} was left out: here, pairing decides who can talk to a bot.`,
      });
      continue;
    }
    if (secrets === "left")
      place.report({
        code: "secret",
        outcome: "skipped",
        path,
        text: `${variable} is a secret. To import it: --secrets`,
      });
    else yield { kind: "secret", key: keyIn(place, variable), variable, value, path };
  }
  const provider = z.object({ name: z.string(), api_key: z.string().min(1) });
  for (const each of list.parse(config.custom_providers)) {
    const read = provider.safeParse(each).data;
    if (read === undefined) continue;
    const variable = `${read.name} api_key`;
    const from = place.path("config.yaml");
    if (secrets === "left")
      place.report({
        code: "secret",
        outcome: "skipped",
        path: from,
        text: `The key of the provider ${JSON.stringify(read.name)} is a secret. To import it: --secrets`,
      });
    else
      yield {
        kind: "secret",
        key: keyIn(place, variable),
        variable,
        value: read.api_key,
        path: from,
      };
  }
}

/** What else is there, and why it isn't taken. */
export async function reportTheRest(place: ProfilePlace, config: HermesConfig): Promise<void> {
  const skip = (code: Parameters<Report>[0]["code"], path: string, sentence: string): void =>
    place.report({ code, outcome: "skipped", path, text: sentence });
  if ((await place.folder.kind(place.path("auth.json"))) === "file")
    skip(
      "secret",
      place.path("auth.json"),
      "Sign-ins of hermes are not imported. Sign in here again.",
    );
  for (const name of ["platforms/pairing", "pairing"])
    for (const file of await place.folder.names(place.path(name)))
      skip(
        "allow_list",
        place.path(`${name}/${file}`),
        "Access to the bot is not imported. People pair again.",
      );
  for (const name of ["command_allowlist", "approvals"] as const)
    if (config[name] !== undefined)
      skip(
        "allow_list",
        place.path("config.yaml"),
        `${name} was left out: allow-lists do not become rules.`,
      );
  if (config.model !== undefined)
    skip(
      "setting",
      place.path("config.yaml"),
      `The model setting was left out: ${brief(config.model)}`,
    );
  for (const each of list.parse(config.custom_providers))
    skip("setting", place.path("config.yaml"), `A custom provider was left out: ${brief(each)}`);
  const reports = await place.folder.names(place.path("cron/output"));
  if (reports.length > 0)
    skip(
      "report_file",
      place.path("cron/output"),
      `The reports of ${reports.length} jobs were left out; their sessions have the answers.`,
    );
  for (const name of await place.folder.names(place.path("scripts")))
    skip("not_supported", place.path(`scripts/${name}`), "Scripts of jobs are not supported.");
}

const mayBeSecret = /key|token|secret|password|auth|header|credential|cookie|env/i;

/** At any depth: settings may have headers of their own. */
function withoutKeys(value: unknown, depth = maxBriefDepth): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (depth === 0) return "…";
  if (Array.isArray(value)) return value.map((item) => withoutKeys(item, depth - 1));
  return Object.fromEntries(
    Object.entries(value)
      .filter(([name]) => !mayBeSecret.test(name))
      .map(([name, item]) => [name, withoutKeys(item, depth - 1)]),
  );
}

const maxBriefDepth = 5;

function brief(value: unknown): string {
  return JSON.stringify(withoutKeys(value)).slice(0, 500);
}
